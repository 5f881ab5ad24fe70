"""Accuracy, F1 and AUROC as means over clients, each on its own test images.

Paper: CP-CFL, Tables 3, 4 and B.14-B.19. The text says that local test accuracies are averaged over
clients; how F1 and AUROC are averaged is unstated, and the same mean is taken.

A client of CP-CFL holds four of ten classes, and only classes present in a client's test set enter
its metrics:

- F1 (macro, weighted): the mean over present classes. Classes that are only predicted still cost
  recall of the present ones, but add no F1 of zero of their own: the printed macro F1 (0.77 at
  76.8 % accuracy, 0.37 at 44.1 %) could not be reached if six absent classes counted as zeros.
- AUROC (one-vs-rest, one-vs-one; macro, weighted by prevalence): undefined for an absent class, so
  probabilities are restricted to the present classes and divided by their sum. With two present
  classes every variant is the binary AUROC; with one it is undefined: such clients are left
  out of the mean and counted (`undefined_auroc`).

Evidence: `tests/methods/test_classification.py` (plain pair counting, examples by hand).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import f1_score, roc_auc_score
from torch import Tensor

from methods.metrics import Evaluation

AUROC = tuple(f"auroc_{kind}_{mean}" for kind in ("ovr", "ovo") for mean in ("macro", "weighted"))
METRICS = ("accuracy", "f1_macro", "f1_weighted", *AUROC)


def evaluate(probabilities: Sequence[Tensor], labels: Sequence[Tensor], final: bool) -> Evaluation:
    """Means over clients; accuracy always, the slower metrics if `final`.

    probabilities: per client, images x classes. labels: per client, int64, images. A metric that is
    undefined for every client is left out.
    """
    hits = [p.argmax(1) == y for p, y in zip(probabilities, labels, strict=True)]
    accuracy = torch.stack([hit.double().mean() for hit in hits]).cpu()
    metrics = {"accuracy": float(accuracy.mean())}
    counts: dict[str, float] = {}
    if final:
        scores = [
            {**f1(p, y), **auroc(p, y)}
            for p, y in zip(map(_numpy, probabilities), map(_numpy, labels), strict=True)
        ]
        for name in METRICS[1:]:
            defined = [score[name] for score in scores if name in score]
            if defined:
                metrics[name] = float(np.mean(defined))
        counts["undefined_auroc"] = sum(AUROC[0] not in score for score in scores)
    return Evaluation(metrics, {"accuracy": accuracy.float()}, counts)


def f1(probabilities: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    """F1 of one test set over the classes present in `labels`; no prediction of a class gives 0."""
    predicted, present = probabilities.argmax(axis=1), np.unique(labels)
    each = f1_score(labels, predicted, labels=present, average=None, zero_division=0)
    support = [(labels == c).sum() for c in present]
    return {
        "f1_macro": float(np.mean(each)),
        "f1_weighted": float(np.average(each, weights=support)),
    }


def auroc(probabilities: NDArray[Any], labels: NDArray[Any]) -> dict[str, float]:
    """AUROC of one test set over the classes present in `labels`; empty if there is only one."""
    present = np.unique(labels)
    if len(present) < 2:
        return {}
    mass = probabilities[:, present].astype(np.float64)
    # An image whose present classes all have probability zero says nothing about their order.
    mass[mass.sum(axis=1) == 0] = 1.0
    mass /= mass.sum(axis=1, keepdims=True)
    if len(present) == 2:
        return dict.fromkeys(AUROC, float(roc_auc_score(labels == present[1], mass[:, 1])))
    return {
        f"auroc_{kind}_{mean}": float(
            roc_auc_score(labels, mass, multi_class=kind, average=mean, labels=present)
        )
        for kind in ("ovr", "ovo")
        for mean in ("macro", "weighted")
    }


def _numpy(tensor: Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.cpu().numpy()
    return array
