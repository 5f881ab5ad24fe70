"""How well the clusters that clients chose agree with the true ones.

Paper: CP-CFL, Figure 5, which shows the choices by round and says that they are right almost at
once; the share below puts a number on it. It is the clustering accuracy that is usual for labels
without names: clusters and true groups are matched one to one so that most clients agree.
Evidence: `tests/methods/test_clustering.py` (all matchings, by trying each).
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

METRICS = ("cluster_recovery",)


def cluster_recovery(choice: Tensor, group: Tensor) -> float:
    """Share of clients whose choice is matched with their group; both int64, clients, from 0."""
    agreeing = np.zeros((int(choice.max()) + 1, int(group.max()) + 1), dtype=np.int64)
    np.add.at(agreeing, (choice.cpu().numpy(), group.cpu().numpy()), 1)
    matched = linear_sum_assignment(agreeing, maximize=True)
    return float(agreeing[matched].sum() / len(choice))
