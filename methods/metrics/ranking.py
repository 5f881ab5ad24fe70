"""AUROC of many clients' test sets at once, from the ranks of their scores.

Papers: Hanley and McNeil 1982 (the area is the chance that a positive scores above a negative, a
tie counting one half); Hand and Till 2001 (one class against one, averaged over pairs).
With wins[a, b] of a client, how often one of its images of class a has more of a's score than one
of class b, both kinds of area follow: one against one is wins[a, b] / (n_a n_b), and one against
the rest is the sum over b over n_a (n - n_a). So every column is sorted once, for all clients
together, where a library's function would sort it anew for each client, class, kind and mean.

Evidence: `tests/methods/test_ranking.py` against scikit-learn, and by counting pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

METRICS = ()
"""None of its own: `classification` names those that it makes of these areas."""
Array = NDArray[Any]


def wins(scores: Array, labels: Array, owner: Array, clients: int) -> Array:
    """How often class a beats class b in column a, ties half: clients x classes x classes.

    scores: images x classes. labels, owner: int64, images; the class, and the client (from 0) whose
    images alone an image is compared with. On the diagonal stand the pairs of one class.
    """
    images, classes = scores.shape
    won = np.zeros((clients, classes, classes))
    of_class = np.eye(classes, dtype=np.int64)
    # Below all images: none of any class. Then how many of each class are among the first.
    up_to = np.zeros((images + 1, classes), dtype=np.int64)
    for column in range(classes):
        order = np.lexsort((scores[:, column], owner))
        score, whose, label = scores[order, column], owner[order], labels[order]
        np.cumsum(of_class[label], axis=0, out=up_to[1:])
        opens = np.ones(images, dtype=bool)
        opens[1:] = (score[1:] != score[:-1]) | (whose[1:] != whose[:-1])
        start = np.flatnonzero(opens)
        tie = np.cumsum(opens) - 1
        own = np.flatnonzero(label == column)
        before = up_to[start][tie[own]]
        through = up_to[np.append(start[1:], images)][tie[own]]
        others = up_to[np.searchsorted(whose, whose[own])]
        np.add.at(won[:, column], whose[own], (before + through) / 2 - others)
    return won


def areas(scores: Array, labels: Array, owner: Array, clients: int) -> dict[str, Array]:
    """AUROC of each client over the classes that its images have, (clients,) each; else NaN.

    Arguments as for `wins`. `ovr`, one class against the rest, and `ovo`, one against one; `macro`,
    all classes or pairs alike, and `weighted` by prevalence. Of two classes all four are the one
    area that the later class's column has.
    """
    classes = scores.shape[1]
    won = wins(scores, labels, owner, clients)
    n = np.zeros((clients, classes))
    np.add.at(n, (owner, labels), 1)
    n_all, present = n.sum(axis=1, keepdims=True), n > 0
    several = present.sum(axis=1)
    pair = np.triu(present[:, :, None] & present[:, None, :], 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        one = won / (n[:, :, None] * n[:, None, :])
        pairs = np.where(pair, (one + one.transpose(0, 2, 1)) / 2, 0.0)
        off = won * (1 - np.eye(classes))
        rest = np.where(present, off.sum(axis=2) / (n * (n_all - n)), 0.0)
        of_pair = np.where(pair, n[:, :, None] + n[:, None, :], 0)
        found = {
            "ovr_macro": rest.sum(axis=1) / several,
            "ovr_weighted": (rest * n).sum(axis=1) / n_all[:, 0],
            "ovo_macro": pairs.sum(axis=(1, 2)) / pair.sum(axis=(1, 2)),
            "ovo_weighted": (pairs * of_pair).sum(axis=(1, 2)) / of_pair.sum(axis=(1, 2)),
        }
    last = classes - 1 - present[:, ::-1].argmax(axis=1)
    binary = rest[np.arange(clients), last]
    return {
        name: np.where(several > 2, value, np.where(several == 2, binary, np.nan))
        for name, value in found.items()
    }
