"""How far rebuilt images are from what was to be hidden.

Evidence: `tests/methods/test_reconstruction.py`.
"""

from __future__ import annotations

from torch import Tensor

METRICS = ("view_error", "image_error")
"""Root mean squared differences of pixels in [0, 1]: from the encoded views, and the images."""


def pixel_error(found: Tensor, hidden: Tensor) -> float:
    """Root mean squared difference of pixels; both of one shape."""
    return float((found - hidden).square().mean().sqrt())
