"""Which picture suits a dark page? `NAME-dark.svg`, where it lies beside `NAME.svg`.

Pages name the light picture only, so that they also read well as plain Markdown. Of the two
pictures the theme shows the one that suits the page, by the fragment of its address.
"""

import re
from pathlib import Path
from typing import Any

IMAGE = re.compile(r'<img alt="([^"]*)" src="([^"#]+)\.(svg|png)"([^>]*)>')


def on_page_content(content: str, config: Any, **_: Any) -> str:
    """Return the page with the dark twin after every picture that has one."""
    folder = Path(config["docs_dir"]) / "images"

    def pair(found: re.Match[str]) -> str:
        alt, stem, kind, rest = found.groups()
        if not (folder / f"{Path(stem).name}-dark.{kind}").exists():
            return found[0]
        twins = ((f"{stem}.{kind}", "light"), (f"{stem}-dark.{kind}", "dark"))
        return "".join(f'<img alt="{alt}" src="{name}#only-{mode}"{rest}>' for name, mode in twins)

    return IMAGE.sub(pair, content)
