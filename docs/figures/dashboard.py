"""How are the pictures of the dashboard made? By Chromium, from a visit to the shop of `make live`.

    python docs/figures/dashboard.py

It needs Chromium and the extras `serve` and `test`, and takes two minutes. The four pictures have
the names that `make.py` gives: for light and for dark pages, wide and narrow.
"""

import base64
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests")]
from browsers import run_browser  # noqa: E402
from shop import open_shop  # noqa: E402

IMAGES = ROOT / "docs" / "images"
MINUTES, VISITORS = 120, 200
"""The visit that `make live` shows."""

WIDE, NARROW = 1120, 390
"""Widths of the window, in pixels."""

LAST = {WIDE: "worth", NARROW: "certainty"}
"""The last section in the picture."""

MARGIN = 16
N_COLOURS = 128
"""Enough for flat colours and their edges; the files take a third of the room."""

DRAWN = "return document.documentElement.dataset.drawn === 'yes'"
BOTTOM = "return document.getElementById(arguments[0]).getBoundingClientRect().bottom + scrollY"


def take_picture(browser: Any, address: str, width: int, scheme: str) -> bytes:
    """Return the top of the dashboard in a window of a width, as PNG."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == NARROW}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme_feature]})
    browser.get(f"{address}/")
    while not browser.execute_script(DRAWN):
        time.sleep(0.2)
    height = browser.execute_script(BOTTOM, LAST[width]) + MARGIN
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    wanted = {"format": "png", "captureBeyondViewport": True, "clip": clip}
    return base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", wanted)["data"])


def main() -> None:
    """Serve all visitors, and write the four pictures."""
    with open_shop(MINUTES, "glrt-egreedy", 0) as shop, run_browser() as browser:
        shop.run(MINUTES, VISITORS)
        shop.loop.flush()
        for width, size in ((WIDE, ""), (NARROW, "-narrow")):
            for scheme, suffix in (("light", ""), ("dark", "-dark")):
                picture = take_picture(browser, shop.address, width, scheme)
                few = Image.open(BytesIO(picture)).convert("RGB").quantize(N_COLOURS)
                few.save(IMAGES / f"dashboard{size}{suffix}.png", optimize=True)


if __name__ == "__main__":
    main()
