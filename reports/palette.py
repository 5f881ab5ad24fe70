"""Colours and marks of figures."""

from __future__ import annotations

PALETTE = (
    "#3b6fb6", "#d1603d", "#3a8f5c", "#8a5aa8", "#b58a1b", "#4aa3a8", "#b0487f", "#6b6b6b",
    "#7fa32b", "#8c5a3c",
)  # fmt: skip
MARKERS = ("o", "s", "^")
"""For more series than there are colours."""
INK = "#565f68"
"""Of text and axes."""


def colour(i: int) -> str:
    """Of the series at position i."""
    return PALETTE[i % len(PALETTE)]


def marker(i: int) -> str:
    """Of the series at position i; the next one for each time that the colours are used up."""
    return MARKERS[i // len(PALETTE) % len(MARKERS)]
