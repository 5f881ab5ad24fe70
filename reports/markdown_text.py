"""Pieces of Markdown in which a text from elsewhere stays text."""

import re

from ..benchmark.printable import one_line
from ..benchmark.spec.fields import ADDRESS

_PUNCTUATION = re.compile(r"[\\`*_{}\[\]<>|~!#$&]")
_BLOCK = re.compile(r"[-+](?=[\s-]|$)|=|\d+[.)](?=\s|$)")
"""What begins a list, a rule or a heading where it begins a line."""


def escape(text: str) -> str:
    """Text as text: no markup, no address that becomes a link, one line; `Written` stays."""
    if isinstance(text, Written):
        return text
    text = one_line(text)
    begin = _BLOCK.match(text)
    text = _PUNCTUATION.sub(r"\\\g<0>", text)
    if begin:
        text = f"{text[: begin.end() - 1]}\\{text[begin.end() - 1 :]}"
    # Code hosts make links of bare addresses, and tell people whose names follow an @.
    for sign, entity in (("://", ":&#47;&#47;"), ("www.", "www&#46;"), ("@", "&#64;")):
        text = text.replace(sign, entity)
    return text


class Written(str):
    """Text that is Markdown already."""

    __slots__ = ()


def address(text: str) -> str:
    """Where a paper can be read, as a link; anything but a web address is text."""
    return Written(f"<{text}>" if ADDRESS.fullmatch(text) else escape(text))


def code(text: str) -> str:
    """A code span, within a table as well; its fence is longer than any in the text."""
    text = one_line(text).replace("|", "\\|")
    fence = "`" * (1 + _longest(text))
    return Written(f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}")


def block(text: str) -> str:
    """A block of code."""
    fence = "`" * max(3, 1 + _longest(text))
    return Written(f"{fence}\n{one_line(text)}\n{fence}")


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def without_gaps(text: str) -> str:
    """Markdown in which what is empty leaves no blank lines of its own."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"
