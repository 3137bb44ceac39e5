"""Does the dashboard work in a browser, with real data, and does it show a change of the world?"""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import needs_browser, run_browser

from banditsrl import Loop
from banditsrl.reports.colours import DARK, LIGHT
from banditsrl.web.server import HttpService
from banditsrl.web.tokens import make_token

pytestmark = needs_browser

SECONDS = 60.0
"""Long enough for a busy machine; the page draws in one or two."""

MINUTES, VISITORS = 40, 75
"""The length of the visit, and the visitors in each minute: enough to earn certificates twice."""

DRAWN = """
return [...document.querySelectorAll("[data-chart]")].map((chart) => ({
  name: chart.dataset.chart,
  lines: [...chart.querySelectorAll(".line")].map((line) => line.getAttribute("d").length),
  areas: chart.querySelectorAll(".area").length,
  alarms: chart.querySelectorAll(".mark.alarm").length,
  wide: chart.querySelector("svg").getBoundingClientRect().width,
  room: chart.parentElement.getBoundingClientRect().width,
}));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with run_browser() as driver:
        yield driver


@pytest.fixture(scope="module")
def shop() -> Iterator[Any]:
    """The shop of the examples, after a visit with a change in the middle."""
    path = Path(__file__).parents[2] / "examples" / "shop.py"
    found = importlib.util.spec_from_file_location("shop", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    with module.open_shop(MINUTES, "glrt-egreedy", 0) as opened:
        opened.run(MINUTES, VISITORS)
        opened.loop.flush()
        yield opened


def wait(browser: Any, script: str) -> Any:
    from selenium.webdriver.support.wait import WebDriverWait

    return WebDriverWait(browser, SECONDS).until(lambda driver: driver.execute_script(script))


def visit(browser: Any, address: str, *, width: int = 1280, scheme: str = "light") -> None:
    """Open the dashboard on a screen of a width, in light or dark mode, and wait for its data."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.get(f"{address}/")
    wait(browser, "return document.documentElement.dataset.drawn === 'yes'")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_is_drawn_and_nothing_overflows(
    browser: Any, shop: Any, width: int, scheme: str
) -> None:
    browser.get_log("browser")  # forget what was before
    visit(browser, shop.address, width=width, scheme=scheme)
    drawn = {chart["name"]: chart for chart in browser.execute_script(DRAWN)}
    assert len(drawn["reward"]["lines"]) == 1
    assert len(drawn["certainty"]["lines"]) == 3
    assert min(drawn["reward"]["lines"] + drawn["certainty"]["lines"]) > 100
    assert drawn["actions"]["areas"] == 4
    for chart in drawn.values():
        assert 0 < chart["wide"] <= chart["room"], chart
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.get_log("browser") == []


def test_a_change_is_visible(browser: Any, shop: Any) -> None:
    """The page must show what the history says: an alarm, and no certificates just behind it."""
    bins = shop.loop.history(bins=120)
    raised = [k for k, entry in enumerate(bins) if entry["alarms"]]
    assert raised
    assert raised[0] >= MINUTES // 2
    before = [entry["certified"] for entry in bins[MINUTES // 2 - 5 : MINUTES // 2]]
    assert min(before) > 0.1
    assert bins[raised[0] + 1]["certified"] < min(before) / 2
    visit(browser, shop.address)
    drawn = {chart["name"]: chart for chart in browser.execute_script(DRAWN)}
    for chart in drawn.values():
        assert chart["alarms"] == sum(len(entry["alarms"]) for entry in bins)
    text = browser.execute_script("return document.getElementById('tiles').innerText")
    assert f"{MINUTES * VISITORS:,}" in text
    sentence = browser.execute_script("return document.getElementById('trust').textContent")
    assert sentence == str(shop.loop.trust())


def test_the_page_follows_what_happens(browser: Any, shop: Any) -> None:
    visit(browser, shop.address)
    made = shop.loop.decide({"age": 0.0, "country": "fr"}, id="the-newest-one")
    wait(
        browser, f"return document.getElementById('decision-rows').innerText.includes('{made.id}')"
    )


def test_a_decision_is_explained(browser: Any, shop: Any) -> None:
    visit(browser, shop.address)
    browser.execute_script("document.querySelector('#decision-rows button').click()")
    wait(browser, "return !document.getElementById('explanation').hidden")
    chosen = browser.execute_script(
        "return document.querySelector('#decision-rows button').textContent"
    )
    shown = browser.execute_script("return document.getElementById('explanation').innerText")
    found = shop.loop.explain(chosen)
    for sentence in found["sentences"]:
        assert sentence in shown
    for action in found["decision"].available:
        assert action in shown


def test_an_explanation_with_many_columns_fits_on_a_phone(browser: Any, tmp_path: Path) -> None:
    names = [f"column_{k}" for k in range(20)]
    config = {
        "name": "wide",
        "actions": ["red", "green"],
        "columns": dict.fromkeys(names, "number"),
        "policy": "uniform",
    }
    with Loop.create(tmp_path / "wide.db", config) as loop:
        loop.decide(dict.fromkeys(names, 0.123456789))
        with HttpService([lambda: KeptOpen(loop)]).run_beside() as address:
            visit(browser, address, width=390)
            browser.execute_script("document.querySelector('#decision-rows button').click()")
            wait(browser, "return !document.getElementById('explanation').hidden")
            assert "column_19" in browser.execute_script("return document.body.innerText")
            inside = "[...document.querySelectorAll('#explanation p, #explanation li')]"
            widths = browser.execute_script(
                f"return {inside}.map((text) => [text.scrollWidth, text.clientWidth])"
            )
    assert len(widths) > 3
    assert [pair for pair in widths if pair[0] > pair[1]] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_longest_names_fit_and_are_only_text(browser: Any, tmp_path: Path, width: int) -> None:
    markup = "<img src=x onerror=alert(1)>"
    config = {
        "name": markup + "n" * (200 - len(markup)),
        "actions": [markup + letter * (200 - len(markup)) for letter in "ab"],
        "columns": {"age": "number"},
        "policy": "uniform",
    }
    ids = ["i" * 200, f"ann smith/7 {markup}"]
    browser.get("about:blank")  # a page of another test may still ask a service that is away
    browser.get_log("browser")
    with Loop.create(tmp_path / "long.db", config) as loop:
        for name in ids:
            loop.decide({"age": 0.5}, id=name)
        with HttpService([lambda: KeptOpen(loop)]).run_beside() as address:
            for number, name in enumerate(reversed(ids)):
                visit(browser, address, width=width)
                rows = "document.querySelectorAll('#decision-rows button')"
                browser.execute_script(f"{rows}[{number}].click()")
                wait(browser, "return !document.getElementById('explanation').hidden")
                said = browser.execute_script(
                    "return document.getElementById('explained').textContent"
                )
                assert said == f"Why {loop.decision(name).action}? Decision {name}"
                wide = browser.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width
            assert browser.execute_script("return document.images.length") == 0
            assert browser.get_log("browser") == []
            browser.get("about:blank")  # the page would go on asking a service that is away


def test_nothing_is_fetched_from_elsewhere(browser: Any, shop: Any) -> None:
    browser.get_log("performance")
    visit(browser, shop.address)
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    addresses = [params["request"]["url"] for params in sent]
    assert f"{shop.address}/v1/trust?" in addresses
    assert [a for a in addresses if not a.startswith((shop.address, "data:"))] == []


def test_the_policy_of_the_page_lets_no_other_script_run(browser: Any, shop: Any) -> None:
    visit(browser, shop.address)
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        "document.body.append(s);"
    )
    assert browser.execute_script("return window.ran === undefined")
    browser.get_log("browser")


def test_the_page_asks_for_a_token_and_keeps_it_for_the_session(
    browser: Any, shop: Any, tmp_path: Path
) -> None:
    token = make_token(tmp_path / "tokens.json", ["read"])
    kept = KeptOpen(shop.loop)
    with HttpService([lambda: kept], tokens=tmp_path / "tokens.json").run_beside() as address:
        browser.get_log("browser")
        browser.get(f"{address}/")
        wait(browser, "return !document.getElementById('access').hidden")
        assert browser.execute_script("return document.getElementById('denied').textContent") == ""
        assert browser.get_log("browser") == []
        assert "drawn" not in browser.execute_script("return {...document.documentElement.dataset}")
        enter = (
            "document.getElementById('token').value = arguments[0];"
            "document.querySelector('#access button').click();"
        )
        browser.execute_script(enter, "wrong")
        wait(
            browser,
            "return document.getElementById('denied').textContent === 'The token is not known.'",
        )
        browser.execute_script(enter, token)
        wait(browser, "return document.documentElement.dataset.drawn === 'yes'")
        assert browser.execute_script("return document.getElementById('access').hidden")
        assert browser.execute_script("return localStorage.length") == 0
        assert token not in browser.current_url
        browser.refresh()
        wait(browser, "return document.documentElement.dataset.drawn === 'yes'")


@pytest.mark.parametrize(("scheme", "palette"), [("light", LIGHT), ("dark", DARK)])
def test_lines_wear_the_colours_of_the_mode(
    browser: Any, shop: Any, scheme: str, palette: tuple[str, ...]
) -> None:
    visit(browser, shop.address, scheme=scheme)
    script = (
        "return [...document.querySelectorAll('.chart .line')]"
        ".map((line) => getComputedStyle(line).stroke)"
    )
    allowed = {f"rgb({int(c[1:3], 16)}, {int(c[3:5], 16)}, {int(c[5:], 16)})" for c in palette}
    strokes = set(browser.execute_script(script))
    assert len(strokes) == 4
    assert strokes <= allowed


def test_eight_actions_look_different(browser: Any, shop: Any, tmp_path: Path) -> None:
    config = {
        "name": "eight",
        "actions": [f"offer {k}" for k in range(8)],
        "columns": {"age": "number"},
        "policy": "uniform",
    }
    with Loop.create(tmp_path / "eight.db", config) as loop:
        loop.decide_many([{"context": {}}] * 100)
        with HttpService([lambda: KeptOpen(loop)]).run_beside() as address:
            visit(browser, address)
            looks = browser.execute_script(
                "return [...document.querySelectorAll('.legend .swatch')].slice(-8).map((swatch) =>"
                " getComputedStyle(swatch).backgroundColor + getComputedStyle(swatch).opacity)"
            )
    assert len(looks) == len(set(looks)) == 8


def test_a_young_loop_names_its_only_action_and_claims_no_audits(
    browser: Any, shop: Any, tmp_path: Path
) -> None:
    config = {
        "name": "young",
        "actions": ["red"],
        "columns": {"age": "number"},
        "policy": "linucb-disjoint",
    }
    with Loop.create(tmp_path / "young.db", config) as loop:
        loop.reward(loop.decide({"age": 0.3}).id, 1.0)
        with HttpService([lambda: KeptOpen(loop)]).run_beside() as address:
            visit(browser, address)
            text = browser.find_element("tag name", "main").text
    assert "\nred\nShare of decisions in which each action was played." in text
    assert "This loop makes no audits, so nothing is known about the loss" in text
    assert "The bound fails with probability at most –" in text


@pytest.mark.parametrize(
    ("values", "margin"),
    [([0.351], 0.01), ([0.351], 0.0), ([0.351, 0.3511], 0.0), ([0], 0.0), ([1], 0.0), ([8.3], 0.0)],
)
def test_the_axis_of_a_chart_that_hardly_varies_has_different_ticks(
    browser: Any, shop: Any, values: list[float], margin: float
) -> None:
    visit(browser, shop.address)
    script = """
      const [values, margin] = arguments, place = document.querySelector("[data-chart]");
      const edge = (side) => values.map((value) => value + side * margin);
      const series = [{ name: "reward", colour: "c0", values, low: edge(-1), high: edge(1) }];
      const times = values.map((value, k) => 60 * k), format = (v) => `y ${+v.toPrecision(3)}`;
      charts.draw(place, { label: "reward", times, end: 600, series, format });
      return [...place.querySelectorAll("text")].map((text) => text.textContent);
    """
    ticks = [t for t in browser.execute_script(script, values, margin) if t.startswith("y ")]
    assert len(ticks) >= 2
    assert len(set(ticks)) == len(ticks)
    assert min(abs(float(t[2:]) - values[0]) for t in ticks) <= max(margin, 0.01)


EVALUATION = {
    "active": [True, False],
    "signal": False,
    "weights": [0.2, 0.8, 0.1234567, 0.0, 0.5, 0.25],
    "loss": None,
    "name": "mlp",
    "error": 0.03217,
}


def test_whatever_a_policy_says_about_a_model_is_shown(browser: Any, shop: Any) -> None:
    kept = Evaluated(shop.loop)
    browser.get_log("browser")
    with HttpService([lambda: kept]).run_beside() as address:
        visit(browser, address)
        shown = browser.execute_script("return document.getElementById('model-rows').innerText")
        assert browser.execute_script("return document.getElementById('trouble').hidden")
    assert "active [yes, no], signal no" in shown
    assert "weights [0.2, 0.8, 0.123, 0, … (6 in all)], loss –, name mlp, error 0.0322" in shown
    assert browser.get_log("browser") == []


def test_a_fault_in_one_part_leaves_the_others_and_is_named(browser: Any, shop: Any) -> None:
    visit(browser, shop.address)
    browser.execute_script("charts.draw = () => { throw new TypeError('no pen'); };")
    made = shop.loop.decide({"age": 0.0, "country": "fr"}, id="after-the-fault")
    wait(
        browser, f"return document.getElementById('decision-rows').innerText.includes('{made.id}')"
    )
    said = browser.execute_script("return document.getElementById('trouble').textContent")
    assert said == "This part of the page could not be drawn: charts (no pen)."


def test_a_service_that_is_away_is_said_to_be_away(browser: Any, shop: Any) -> None:
    kept = KeptOpen(shop.loop)
    with HttpService([lambda: kept]).run_beside() as address:
        visit(browser, address)
    wait(browser, "return !document.getElementById('trouble').hidden")
    said = browser.execute_script("return document.getElementById('trouble').textContent")
    assert said == "The service cannot be reached; the page tries again."
    browser.get_log("browser")


class KeptOpen:
    """A loop that a second service may use and does not close."""

    def __init__(self, loop: Any) -> None:
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def close(self) -> None: ...


class Evaluated(KeptOpen):
    """A loop whose policy says more about its models than numbers."""

    def models(self) -> list[dict[str, Any]]:
        return [{**self._loop.models()[0], "evaluation": EVALUATION}]
