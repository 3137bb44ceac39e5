"""Does the page work in a browser? Chromium without a window opens it from disk."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import needs_browser, run_browser

from banditsrl.reports.colours import DARK, LIGHT
from banditsrl.reports.page import write_report

pytestmark = needs_browser

SECONDS = 60.0
"""Long enough for a busy machine; the page draws in two or three."""

DRAWN = """
return [...document.querySelectorAll("[data-plot]")].map((plot) => ({
  name: plot.dataset.plot,
  lines: plot.querySelectorAll("path.line[d]").length,
  maps: plot.querySelectorAll("rect.cell").length,
  wide: plot.querySelector("svg")?.getBoundingClientRect().width ?? 0,
  room: plot.getBoundingClientRect().width,
}));
"""

POINT = """
const plot = document.querySelector('[data-plot="regret-0"]');
plot.scrollIntoView({block: "center", behavior: "instant"});
const box = plot.getBoundingClientRect();
return [Math.round(box.left + box.width / 2), Math.round(box.top + box.height / 2)];
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with run_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def page(store: Path) -> Path:
    return write_report(store)


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, SECONDS).until(lambda driver: driver.execute_script(script))


def visit(browser: Any, page: Path, *, width: int = 1280, scheme: str = "light") -> None:
    """Open the page on a screen of a width, in light or dark mode, and wait until all is drawn."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(page.as_uri())
    wait(browser, "return document.documentElement.dataset.drawn === 'yes'")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_plot_draws_and_nothing_overflows(
    browser: Any, page: Path, width: int, scheme: str
) -> None:
    visit(browser, page, width=width, scheme=scheme)
    plots = browser.execute_script(DRAWN)
    assert len(plots) == 8
    for plot in plots:
        assert plot["lines"] + plot["maps"] > 0, plot
        assert 0 < plot["wide"] <= plot["room"] + 1, plot
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    errors = [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"]
    assert errors == []


def test_no_request_leaves_the_page(browser: Any, page: Path) -> None:
    browser.get_log("performance")  # forget what was before
    visit(browser, page)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    addresses = [params["request"]["url"] for params in sent]
    assert page.as_uri() in addresses
    assert [a for a in addresses if not a.startswith((page.as_uri(), "data:", "blob:"))] == []


def test_hovering_shows_a_value(browser: Any, page: Path) -> None:
    visit(browser, page)
    x, y = browser.execute_script(POINT)
    for offset in (3, 0):  # a mouse moves before it rests
        move = {"type": "mouseMoved", "x": x + offset, "y": y}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", move)
    label = wait(browser, "return document.querySelector('[data-plot=regret-0] .tip')?.textContent")
    assert "regret" in label
    assert "4 seeds" in label


def test_the_legend_hides_an_algorithm_everywhere(browser: Any, page: Path) -> None:
    visit(browser, page)
    before = sum(plot["lines"] for plot in browser.execute_script(DRAWN))
    button = "document.querySelector('.legend button[data-name=\"LEADER\"]')"
    browser.execute_script(f"{button}.click()")
    wait(browser, "return document.documentElement.dataset.drawn === 'yes'")
    after = sum(plot["lines"] for plot in browser.execute_script(DRAWN))
    assert after < before
    assert browser.execute_script(f"return {button}.getAttribute('aria-pressed')") == "false"


def test_switches_bend_the_axes_and_show_single_seeds(browser: Any, page: Path) -> None:
    visit(browser, page)
    plot = "document.querySelector('[data-plot=\"regret-0\"]')"
    count = f"return [{plot}.querySelectorAll('path.seed').length, {plot}.textContent]"
    line = f"return {plot}.querySelector('path.line').getAttribute('d')"
    before, (none, words) = browser.execute_script(line), browser.execute_script(count)
    assert none == 0
    assert "log scale" not in words
    for which in ("logX", "logY", "seeds"):
        browser.execute_script(f"document.querySelector('[data-switch={which}]').click()")
        after = browser.execute_script(line)
        assert which == "seeds" or after != before
        before = after
    n_lines, words = browser.execute_script(count)
    assert n_lines == 4 * 5  # four seeds of each of the five curves
    assert "step (log scale)" in words


@pytest.mark.parametrize(("width", "stacked"), [(1280, False), (390, True)])
def test_tables_stack_on_a_phone(browser: Any, page: Path, width: int, stacked: bool) -> None:
    visit(browser, page, width=width)
    script = """
    const row = document.querySelector("#results tbody tr"), cells = [...row.children];
    return [cells.map((cell) => cell.getBoundingClientRect().top),
            getComputedStyle(cells[2], "::before").content];
    """
    tops, heading = browser.execute_script(script)
    assert len(set(tops)) == (len(tops) if stacked else 1)
    assert heading == ('"final regret"' if stacked else "none")


@pytest.mark.parametrize(("scheme", "palette"), [("light", LIGHT), ("dark", DARK)])
def test_lines_wear_the_colours_of_the_mode(
    browser: Any, page: Path, scheme: str, palette: tuple[str, ...]
) -> None:
    visit(browser, page, scheme=scheme)
    lines = "[data-plot=regret-0] path.line"
    script = (
        f"return [...document.querySelectorAll('{lines}')]"
        ".map((line) => getComputedStyle(line).stroke)"
    )
    strokes = set(browser.execute_script(script)) - {"rgba(0, 0, 0, 0)", "none"}
    allowed = {f"rgb({int(c[1:3], 16)}, {int(c[3:5], 16)}, {int(c[5:], 16)})" for c in palette}
    assert strokes
    assert strokes <= allowed
