"""Colours of figures, and how long a line of a title may be."""

from __future__ import annotations

PALETTE = (
    "#3b6fb6", "#d1603d", "#3a8f5c", "#8a5aa8", "#b58a1b", "#4aa3a8", "#b0487f", "#6b6b6b",
    "#7fa32b", "#8c5a3c",
)  # fmt: skip
INK = "#808080"
"""Of text and axes; the page's own colour takes its place."""
TITLE = 60
"""Letters in a line of a title, so that none runs out of the picture."""
