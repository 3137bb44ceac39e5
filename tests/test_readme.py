"""Does the Python code of the README run, and do its links exist?"""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
NAMES = ["certificate", "researcher", "application", "loop"]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=NAMES)
def test_a_snippet_runs(snippet: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(snippet, "README.md", "exec"), names)  # noqa: S102  (the test runs the README)
    assert names.keys() & {"comparison", "policy", "loop"}


def test_every_page_that_is_linked_exists() -> None:
    root = Path(__file__).parents[1]
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
