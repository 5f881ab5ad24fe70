"""Sinkhorn's algorithm: soft assignments that use all prototypes equally.

Paper: Caron et al. 2020 (SwAV), Section 3.1, Eqs. 3 to 5, after Cuturi 2013: the matrix
exp(scores / ε) is scaled until every prototype has the same mass and every sample has mass one.
In logarithms, so that no ε underflows.
Evidence: `tests/methods/test_sinkhorn.py` (marginals; a plain loop of divisions; scipy's optimum of
the regularised transport; lightly).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


@torch.no_grad()
def sinkhorn(
    scores: Tensor, epsilon: float, iterations: int = 3, valid: Tensor | None = None
) -> Tensor:
    """Assignments models x samples x prototypes of `scores` (same shape); each sample's sum is 1.

    valid: bool, models x samples; the samples that share the prototypes, None for all. Others get
    assignments without having a part in the balance. Each model needs a valid sample.
    """
    log_q = scores / epsilon
    for _ in range(iterations):
        sharing = log_q if valid is None else log_q.masked_fill(~valid.unsqueeze(2), -math.inf)
        log_q = log_q - sharing.logsumexp(1, keepdim=True)
        log_q = log_q - log_q.logsumexp(2, keepdim=True)
    return log_q.exp()
