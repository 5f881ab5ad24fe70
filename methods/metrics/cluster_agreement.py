"""How well clusters, which have no names, agree with true classes or groups.

Papers: fedrlc, Section VII-A (clustering accuracy, NMI, ARI); its Figure 5 (silhouette, our measure
of what a map shows). CP-CFL, Figure 5, shows which clusters clients choose and says that they are
right almost at once. `cluster_recovery` measures this: the clustering accuracy of clients.
Unstated: NMI's mean (arithmetic, as scikit-learn's default and contrastive clustering's code).
Evidence: `tests/methods/test_metrics.py` (all matchings, formulas over counts).
"""

import numpy as np
from scipy.optimize import linear_sum_assignment
from torch import Tensor

OF_CLUSTERS = ("clustering_accuracy", "nmi", "ari", "occupied_clusters")
OF_TRAINING = ("restarts", "clustering_failed", "uploaded_bytes")
"""Counts of a whole training, which a cell may show as it shows a metric."""
METRICS = ("cluster_recovery", "merged_groups", "silhouette", *OF_TRAINING, *OF_CLUSTERS)


def clustering_accuracy(choice: Tensor, truth: Tensor) -> float:
    """Share that agrees when clusters and classes (int64, n) are matched one to one at best."""
    agreeing = np.zeros((int(choice.max()) + 1, int(truth.max()) + 1), dtype=np.int64)
    np.add.at(agreeing, (choice.cpu().numpy(), truth.cpu().numpy()), 1)
    matched = linear_sum_assignment(agreeing, maximize=True)
    return float(agreeing[matched].sum() / len(choice))


def merged_groups(choice: Tensor, truth: Tensor) -> float:
    """How many fewer models clients use than there are groups; int64, n, from 0."""
    return float(max(0, len(set(truth.tolist())) - len(set(choice.tolist()))))


def agreement(choice: Tensor, truth: Tensor) -> dict[str, float]:
    """`clustering_accuracy`, `nmi` and `ari` of int64 choices and classes (n), and how many
    clusters have a member (`occupied_clusters`)."""
    # Scikit-learn takes a second to import, and few runs measure clusters.
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    ours, theirs = choice.cpu().numpy(), truth.cpu().numpy()
    values = (
        clustering_accuracy(choice, truth),
        normalized_mutual_info_score(theirs, ours),
        adjusted_rand_score(theirs, ours),
        len(np.unique(ours)),
    )
    return dict(zip(OF_CLUSTERS, map(float, values), strict=True))


def silhouette(h: Tensor, groups: Tensor) -> float:
    """Mean silhouette coefficient (Rousseeuw 1987), points n x dim; `ValueError` for one group."""
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(h.double().cpu().numpy(), groups.cpu().numpy()))
