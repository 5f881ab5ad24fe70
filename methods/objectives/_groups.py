"""Means of the members of groups, for stacked models.

Evidence: `tests/methods/test_smog.py` against a plain loop.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def group_means(x: Tensor, group: Tensor, n_groups: int) -> tuple[Tensor, Tensor]:
    """The mean of each group, models x groups x width, and its size, int64, models x groups.

    x: models x batch x width. group: int64, models x batch, from 0. Means carry gradients into
    their members; an empty group has mean zero.
    """
    belongs = F.one_hot(group, n_groups)
    sizes = belongs.sum(dim=1)
    sums = torch.bmm(belongs.transpose(1, 2).to(x.dtype), x)
    return sums / sizes.clamp(min=1).unsqueeze(2), sizes
