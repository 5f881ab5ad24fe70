"""How evenly classes are mixed in batches: the share of pairs of their images that show one class.

Paper: MFCL, Sections 1, 2.1 and 3.3, which give no measure. Taken is Simpson's (1949, "Measurement
of diversity"), over all batches of a training: 1 / classes where these are evenly mixed, 1 where
every batch has one class. Its expectation does not depend on how large random batches are.
Evidence: `tests/methods/test_metrics.py` (sizes), `tests/methods/test_mfcl.py` (plain loops).
"""

import torch
from torch import Tensor

METRICS = CLIENTS, SERVER = ("client_imbalance", "server_imbalance")


def pairs(labels: Tensor | None, batch: Tensor) -> Tensor:
    """Pairs of two images of one class, each in both orders, and all pairs: int64, ... x 2; zeros
    without labels. `labels`: int64, all images; `batch`: int64, ... x n, which of them it has."""
    n = batch.shape[-1]
    if labels is None:
        return batch.new_zeros(*batch.shape[:-1], 2)
    alike = (labels[batch].unsqueeze(-1) == labels[batch].unsqueeze(-2)).sum((-2, -1)) - n
    return torch.stack([alike, torch.full_like(alike, n * (n - 1))], dim=-1)
