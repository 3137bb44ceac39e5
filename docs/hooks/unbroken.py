"""Which pieces of a line stay together? Names in code, numbers and errors, formulas and commas."""

import re
from typing import Any

NAME = re.compile(r"<code>([^<\s]{1,20})</code>")
"""Code without spaces that is short enough for a phone."""

WORDS = re.compile(r"<code>([^<]* [^<]*)</code>")
OPTION = re.compile(r"(?<!\S)(--[\w-]{1,18})(?!\S)")
"""An option among the words of a command; a line could end after its dashes."""

KEPT = r'<span class="name">\1</span>'

BLOCK = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
JOINER = "\u2060"
"""A character without width at which no line ends."""


def on_page_content(content: str, **_: Any) -> str:
    """Return the page with such pieces joined; blocks of code stay as they are."""
    parts = BLOCK.split(content)
    parts[::2] = [join_pieces(part) for part in parts[::2]]
    return "".join(parts)


def join_pieces(text: str) -> str:
    """Join the pieces of a text outside blocks of code."""
    text = NAME.sub(r'<code class="name">\1</code>', text)
    text = WORDS.sub(lambda found: f"<code>{OPTION.sub(KEPT, found[1])}</code>", text)
    text = text.replace(" ± ", "\u00a0±\u00a0").replace("(<math", f"({JOINER}<math")
    return re.sub(r"</math>(?=[.,;:)])", f"</math>{JOINER}", text)
