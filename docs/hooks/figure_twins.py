"""Which picture suits a page? A dark one on dark pages, and one that scrolls on a phone.

Pages name the light picture only, so that they also read well as plain Markdown. Where
`NAME-dark.svg` lies beside `NAME.svg`, the theme shows the one that suits the page, by the fragment
of its address. A picture of several panels gets the class `wide`: shrunk to the width of a phone
its text could not be read.
"""

import re
from pathlib import Path
from typing import Any

IMAGE = re.compile(r'<img alt="([^"]*)" src="([^"#]+)\.(svg|png)"([^>]*)>')
WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ')
WIDE = 500
"""Pictures with one panel are narrower, in points."""
WIDE_PNG = ("dashboard", "trust")
"""Pictures of pixels do not tell how large their text is."""


def on_page_content(content: str, config: Any, **_: Any) -> str:
    """Return the page with dark twins, and with pictures of several panels in boxes that scroll."""
    folder = Path(config["docs_dir"]) / "images"

    def pair(found: re.Match[str]) -> str:
        alt, stem, kind, rest = found.groups()
        name, shown = Path(stem).name, found[0]
        if (folder / f"{name}-dark.{kind}").exists():
            twins = ((f"{stem}.{kind}", "light"), (f"{stem}-dark.{kind}", "dark"))
            shown = "".join(f'<img alt="{alt}" src="{n}#only-{mode}"{rest}>' for n, mode in twins)
        if is_wide(folder / f"{name}.{kind}"):
            shown = f'<span class="wide">{shown}</span>'
        return shown

    return IMAGE.sub(pair, content)


def is_wide(picture: Path) -> bool:
    """Return whether a picture has several panels side by side."""
    if picture.suffix == ".png" or not picture.exists():
        return picture.stem in WIDE_PNG
    found = WIDTH.search(picture.read_text())
    return found is not None and float(found[1]) > WIDE
