"""Is the built site complete? It fetches nothing from a network, and every link has a target."""

import dataclasses
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag

import pytest
from documents import ROOT

import banditsrl

TOOLS = ("mkdocs", "material", "mkdocstrings", "latex2mathml")

pytestmark = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in TOOLS),
    reason="no tools for the site: pip install 'banditsrl[docs]'",
)

FETCHING = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements that a browser fetches, and the attribute that says from where."""

OUTSIDE = re.compile(r"(https?:)?//")


class Page(HTMLParser):
    """What one page refers to, and which targets it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.targets: set[str] = set()
        self.description = ""
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.targets |= {given[name] for name in ("id", "name") if name in given}
        if tag == "meta" and given.get("name") == "description":
            self.description = given["content"]
        if tag in FETCHING and FETCHING[tag] in given and given.get("rel") != "canonical":
            self.fetched.append(given[FETCHING[tag]])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does, with warnings as errors."""
    folder = tmp_path_factory.mktemp("site")
    words = ["mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    found = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    return {path.resolve(): Page(path.resolve()) for path in found}


def test_every_page_of_the_docs_is_built(pages: dict[Path, Page], site: Path) -> None:
    written = {path.stem for path in (ROOT / "docs").glob("*.md")}
    written |= {path.stem for path in (ROOT / "docs/notebooks").glob("*.ipynb")}
    assert written <= {path.stem for path in pages}


def test_no_page_fetches_from_a_network(pages: dict[Path, Page], site: Path) -> None:
    foreign = [f"{page.path.name}: {url}" for page in pages.values() for url in page.fetched]
    assert not [line for line in foreign if OUTSIDE.search(line)]
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", sheet.read_text()), sheet.name


def test_every_link_and_picture_has_a_target(pages: dict[Path, Page]) -> None:
    assert not list(find_broken(pages))


def find_broken(pages: dict[Path, Page]) -> Iterator[str]:
    """Yield every reference inside the site that leads nowhere."""
    for page in pages.values():
        for url in [*page.links, *page.fetched]:
            name, anchor = urldefrag(url)
            if OUTSIDE.match(url) or url.startswith(("mailto:", "data:")):
                continue
            path = (page.path.parent / unquote(name)).resolve() if name else page.path
            if path.is_dir():
                path /= "index.html"
            if not path.exists() or (
                path in pages and anchor and unquote(anchor) not in pages[path].targets
            ):
                yield f"{page.path.name}: {url}"


def test_every_page_has_a_description_of_its_own(pages: dict[Path, Page]) -> None:
    descriptions = [page.description for page in pages.values()]
    assert all(descriptions)
    assert len(set(descriptions)) == len(descriptions)


def test_examples_of_the_reference_are_code(site: Path) -> None:
    text = (site / "api.html").read_text()
    prose = re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)
    example = "import banditsrl"
    assert example in re.sub(r"<[^>]*>", "", text)
    assert example not in re.sub(r"<[^>]*>", "", prose)


def read_rows(site: Path, cls: type) -> dict[str, list[str]]:
    """Return the cells of the first table of a class in the reference, by their first cell."""
    text = (site / "api.html").read_text()
    section = text.partition(f'id="{cls.__module__}.{cls.__qualname__}"')[2]
    table = section.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in table.split("</tr>")]
    plain = [[unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in row] for row in rows]
    return {row[0]: row[1:] for row in plain if row}


@pytest.mark.parametrize("cls", [banditsrl.LinUCB, banditsrl.GLRT, banditsrl.Training])
def test_the_reference_has_every_setting_with_its_default(site: Path, cls: type) -> None:
    rows = read_rows(site, cls)
    fields = [field for field in dataclasses.fields(cls) if "help" in field.metadata]
    assert fields
    for field in fields:
        kind, meaning, default = rows[field.name]
        assert kind
        assert meaning
        assert default == repr(field.default)


@pytest.mark.parametrize("cls", [banditsrl.Choice, banditsrl.History, banditsrl.Evidence])
def test_the_reference_has_every_field_of_a_tuple(site: Path, cls: Any) -> None:
    assert list(read_rows(site, cls)) == list(cls._fields)


def test_every_formula_is_rendered(pages: dict[Path, Page]) -> None:
    for path in pages:
        text = path.read_text()
        assert 'class="arithmatex"' not in text, path.name
        outside_code = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        outside_tags = re.sub(r"<[^>]*>", "", outside_code)
        assert not re.search(r"[φθψ]_|‖_|_\{|\|\||\$\$|\\[a-z]{3,}", outside_tags), path.name
