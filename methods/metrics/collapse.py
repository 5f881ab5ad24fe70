"""Whether representations have collapsed to a point.

The spread of representations brought to length one, times the root of their width (Chen and He
2021, Section 4.1): about 1 for directions spread evenly, 0 when all images are represented alike.
Evidence: `tests/methods/test_collapse.py`.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

METRICS = ("representation_std",)
LOOKED_AT = 500
"""Test images whose representations are looked at after a round."""


def representation_std(h: Tensor) -> float:
    """From representations n x dim; in [0, 1]."""
    unit = F.normalize(h.double(), dim=1)
    return float(unit.std(dim=0, correction=0).mean() * h.shape[1] ** 0.5)
