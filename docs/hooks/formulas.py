"""How do formulas reach the page? As MathML, made from LaTeX when the site is built.

Pages and docstrings write formulas between dollar signs. The extension `arithmatex` finds them and
leaves LaTeX in elements of class `arithmatex`; this hook replaces the LaTeX. Browsers draw MathML
themselves, so that a page needs no script, no font and no network for it.
"""

import html
import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)
MATHML = "http://www.w3.org/1998/Math/MathML"
BARS = ("|", "‖")
LIMITS = ("min", "max")
FUNCTIONS = (*LIMITS, "log", "det", "cos", "diag")
"""Words in upright letters, with a thin space between them and what is beside them."""
RELATION = "\u223c"  # "is distributed as"
THIN = {"width": "0.17em"}
OPENING = ("(", "[", "{", "|", "‖")
LONG = 40
"""A formula in running text whose LaTeX is longer may be wider than a phone; it can scroll."""

ElementTree.register_namespace("", MATHML)


def on_page_content(content: str, **_: Any) -> str:
    """Return the page with every formula as MathML."""
    content = DISPLAY.sub(lambda found: _show_on_a_line(found[1]), content)
    return INLINE.sub(lambda found: convert_formula(found[1]), content)


def convert_formula(latex: str, *, display: str = "inline") -> str:
    """Return one formula as MathML, with its LaTeX as the alternative text."""
    plain = " ".join(html.unescape(latex).split())
    root = ElementTree.fromstring(convert(plain, display=display))  # noqa: S314  (our own pages)
    unknown = [part.text for part in root.iter() if "\\" in (part.text or "")]
    if unknown:
        raise PluginError(f"a formula must use known commands only, got {unknown[0]} in {plain}")
    root.set("alttext", plain)
    if len(plain) > LONG:
        root.set("class", "long")
    _fix_bars(root)
    _fix_operators(root)
    _space_functions(root)
    if display == "block":
        _put_limits_below(root)
    return ElementTree.tostring(root, encoding="unicode")


def _fix_bars(root: ElementTree.Element) -> None:
    """Make every second bar a closing one, and keep bars from growing with their line."""
    bars = [part for part in root.iter(f"{{{MATHML}}}mo") if part.text in BARS]
    for k, bar in enumerate(bars):
        bar.attrib.update(stretchy="false", form=("prefix", "postfix")[k % 2])


def _fix_operators(root: ElementTree.Element) -> None:
    """Give a tilde the space of a relation, and a slash none, as in print."""
    for part in root.iter():
        if part.tag == f"{{{MATHML}}}mi" and part.text == "~":
            part.tag, part.text = f"{{{MATHML}}}mo", RELATION
        elif part.text == "/":
            part.attrib.update(lspace="0.05em", rspace="0.05em")


def _space_functions(root: ElementTree.Element) -> None:
    """Write words such as log as names, with thin spaces around them."""
    for part in list(root.iter()):
        if part.text in FUNCTIONS:
            part.tag = f"{{{MATHML}}}mi"
            part.attrib.clear()
    for row in list(root.iter(f"{{{MATHML}}}mrow")):
        for k, part in reversed(list(enumerate(row))):
            if (part if len(part) == 0 else part[0]).text not in FUNCTIONS:
                continue
            if k + 1 < len(row) and _needs_space(row[k + 1], OPENING):
                row.insert(k + 1, _make_space())
            if k > 0 and _needs_space(row[k - 1], ()):
                row.insert(k, _make_space())


def _needs_space(neighbour: ElementTree.Element, unless: tuple[str, ...]) -> bool:
    """Return whether a neighbour brings no space of its own, and is not one of some signs."""
    if neighbour.tag == f"{{{MATHML}}}mspace" or neighbour.text in unless:
        return False
    return neighbour.tag != f"{{{MATHML}}}mo" or neighbour.text in (")", "]")


def _make_space() -> ElementTree.Element:
    return ElementTree.Element(f"{{{MATHML}}}mspace", THIN)


def _put_limits_below(root: ElementTree.Element) -> None:
    """Put what is minimised over below the word, as in print."""
    for part in root.iter(f"{{{MATHML}}}msub"):
        if part[0].text in LIMITS:
            part.tag = f"{{{MATHML}}}munder"


def _show_on_a_line(latex: str) -> str:
    return f'<div class="formula">{convert_formula(latex, display="block")}</div>'
