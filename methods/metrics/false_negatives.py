"""How many of the negatives show the same class as the query: FCL's false-negative ratio.

Paper: FCL, Section 4.1, Eqs. 4 and 5 (once called FP ratio there). The text assumes clients of
m equally frequent classes; `expected_ratio` holds for any distribution and is Eq. 4 (with local
negatives) or Eq. 5 (without) in that case.
Evidence: `tests/methods/test_metrics.py` (Eqs. 4 and 5 transcribed, closed form, counting).
"""

import torch
from torch import Tensor

METRICS = ("false_negative_ratio", "expected_false_negative_ratio")


def measured_ratio(
    queries: Tensor, negatives: Tensor, n_classes: int, valid: Tensor | None = None
) -> Tensor:
    """Share of the negatives that have the class of the query, averaged over queries, (models,).
    `queries`: int64, models x batch; `negatives`: int64, models x n; classes. `valid`: bool, models
    x n; the negatives that are used, None for all. NaN for a model that uses none."""
    used = torch.ones_like(negatives) if valid is None else valid.long()
    counts = negatives.new_zeros(len(negatives), n_classes).scatter_add(1, negatives, used)
    share = counts.double() / used.sum(1, keepdim=True)
    return share.gather(1, queries).mean(1)


def expected_ratio(class_counts: Tensor, bank_sizes: Tensor, local: bool, remote: bool) -> Tensor:
    """Expected ratio for each client (clients,), if banks are random samples of their clients.
    `class_counts`: clients x classes, images; `bank_sizes`: clients, features in each client's
    bank. `local`, `remote`: whether the own and the other clients' banks are negatives. NaN without
    either."""
    share = class_counts.double() / class_counts.sum(dim=1, keepdim=True)
    own = torch.eye(len(share), dtype=torch.float64, device=share.device)
    weight = (own * local + (1 - own) * remote) * bank_sizes.double()
    return (weight * (share @ share.T)).sum(1) / weight.sum(1)
