"""Which picture suits a page? A dark one on dark pages, and a narrow one on a phone.

Pages name the light picture only, so that they also read well as plain Markdown. Where
`NAME-dark.svg` lies beside `NAME.svg`, the theme shows the one that suits the page, by the fragment
of its address. `NAME-narrow.svg` and `NAME-narrow-dark.svg` take their places on a phone. A picture
of several panels without a narrow one gets the class `wide` and scrolls: shrunk to the width of a
phone its text could not be read.
"""

import re
from pathlib import Path
from typing import Any

IMAGE = re.compile(r'<img alt="([^"]*)" src="([^"#]+)\.(svg|png)"([^>]*)>')
WIDTH = re.compile(r'viewBox="0 0 ([\d.]+) ')
WIDE = 500
"""Pictures with one panel are narrower, in points."""
WIDE_PNG = ("log-to-loop-1",)
"""Pictures of pixels do not tell how large their text is."""
PHONE = "(max-width: 44.9375em)"
"""The width at which the theme and docs/css/banditsrl.css change to the layout of a phone."""


def on_page_content(content: str, config: Any, **_: Any) -> str:
    """Return the page with dark twins, and with pictures of several panels in boxes that scroll."""
    folder = Path(config["docs_dir"]) / "images"

    def choose(found: re.Match[str]) -> str:
        alt, stem, kind, rest = found.groups()
        name, shown = Path(stem).name, found[0]
        has_narrow = (folder / f"{name}-narrow.{kind}").exists()
        if (folder / f"{name}-dark.{kind}").exists():
            twins = (("", "light"), ("-dark", "dark"))
            shown = "".join(
                add_narrow(
                    f'<img alt="{alt}" src="{stem}{suffix}.{kind}#only-{mode}"{rest}>',
                    f"{stem}-narrow{suffix}.{kind}" if has_narrow else "",
                )
                for suffix, mode in twins
            )
        if not has_narrow and is_wide(folder / f"{name}.{kind}"):
            shown = f'<span class="wide">{shown}</span>'
        return shown

    return IMAGE.sub(choose, content)


def add_narrow(image: str, narrow: str) -> str:
    """Return a picture with another one for phones, if there is one."""
    if not narrow:
        return image
    return f'<picture><source media="{PHONE}" srcset="{narrow}">{image}</picture>'


def is_wide(picture: Path) -> bool:
    """Return whether a picture has several panels side by side."""
    if picture.suffix == ".png" or not picture.exists():
        return picture.stem in WIDE_PNG
    found = WIDTH.search(picture.read_text())
    return found is not None and float(found[1]) > WIDE
