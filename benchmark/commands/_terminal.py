"""Colours on a terminal, and none in a pipe or where NO_COLOR asks for none."""

from __future__ import annotations

import os
import sys

_COLOURS = {
    "REPRODUCED": 32, "EXACT": 32, "HOLDS": 32, "supported": 32, "consistent": 32,
    "DISCREPANT": 31, "ERROR": 31, "REVERSED": 31, "REGRESSED": 31, "contradicted": 31,
    "inconsistent": 31, "missing": 31, "damaged": 31,
    "SHIFTED": 33, "MISPRINT?": 33, "INCONCLUSIVE": 33, "UNRESOLVED": 33, "undecidable": 33,
}  # fmt: skip


def paint(word: str, as_word: str | None = None) -> str:
    """`word` in its colour, or in that of `as_word`, where standard output shows colours."""
    code = _COLOURS.get(as_word or word)
    if code is None or not coloured():
        return word
    return f"\x1b[{code}m{word}\x1b[0m"


def coloured() -> bool:
    """Whether standard output is a terminal and nobody asked for no colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")
