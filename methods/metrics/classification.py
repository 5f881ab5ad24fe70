"""Accuracy as a mean over clients; F1 and AUROC of all clients' images together, and by client.

Paper: CP-CFL, Tables 3, 4 and B.14-B.19. The text says that local test accuracies are averaged over
clients. How F1 and AUROC come from many clients is unstated. Both interpretations are measured:

* Pooled (`f1_macro`, ...): every client's test images, each predicted by that client's own model,
  are one test set. Taken for CP-CFL: its published values have properties of pooled metrics that
  means over clients lack (counted in `tables/cpcfl/paper.toml`).
* `f1_macro_by_client`, ...: the mean over clients, each on its own test images.

Only classes present in a test set enter its metrics; a client of CP-CFL holds four of ten:

* F1 (macro, weighted): the mean over present classes. Classes that are only predicted still cost
  recall of the present ones, but add no F1 of zero of their own.
* AUROC (one-vs-rest, one-vs-one; macro, weighted by prevalence): undefined for an absent class, so
  probabilities are restricted to the present classes and divided by their sum. With two present
  classes every variant is the binary AUROC. With one it is undefined: such clients are left out of
  the mean and counted (`undefined_auroc`).

Each metric is counted for all clients in one pass. Areas come from the ranks of scores. An area is
the chance that a positive scores above a negative, a tie counting one half (Hanley and McNeil
1982). Hand and Till 2001 compare one class against one. Let wins[a, b] be how often an image of
class a has more of a's score than one of class b. One against one is wins[a, b] / (n_a n_b). One
against the rest is the sum of wins over b, over n_a (n - n_a).
Clients that share their predictions (one model, one test set) count once, weighted by their number.
Evidence: `tests/methods/test_classification.py` (scikit-learn, counting pairs, by hand).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from . import Evaluation

F1 = ("f1_macro", "f1_weighted")
AUROC = tuple(f"auroc_{kind}_{mean}" for kind in ("ovr", "ovo") for mean in ("macro", "weighted"))
BY_CLIENT = "_by_client"
METRICS = ("accuracy", *F1, *AUROC, *(name + BY_CLIENT for name in (*F1, *AUROC)))
Array = NDArray[Any]


def wins(
    scores: Array, labels: Array, owner: Array, clients: int, weight: Array | None = None
) -> Array:
    """How often class a beats class b in column a, ties half: clients x classes x classes.
    `scores`: images x classes. `labels`, `owner`: int64, images; the class, and the client (from
    0). Only images of one client are compared. `weight`: int64, images; how often each counts, None
    for once. The diagonal has the pairs of one class."""
    images, classes = scores.shape
    weight = np.ones(images, dtype=np.int64) if weight is None else weight
    won = np.zeros((clients, classes, classes))
    of_class = np.eye(classes, dtype=np.int64)
    # Below all images: none of any class. Then how many of each class are among the first.
    up_to = np.zeros((images + 1, classes), dtype=np.int64)
    for column in range(classes):
        order = np.lexsort((scores[:, column], owner))
        score, whose, label = scores[order, column], owner[order], labels[order]
        np.cumsum(of_class[label] * weight[order, None], axis=0, out=up_to[1:])
        opens = np.ones(images, dtype=bool)
        opens[1:] = (score[1:] != score[:-1]) | (whose[1:] != whose[:-1])
        start = np.flatnonzero(opens)
        tie = np.cumsum(opens) - 1
        own = np.flatnonzero(label == column)
        before = up_to[start][tie[own]]
        through = up_to[np.append(start[1:], images)][tie[own]]
        others = up_to[np.searchsorted(whose, whose[own])]
        beaten = ((before + through) / 2 - others) * weight[order[own], None]
        np.add.at(won[:, column], whose[own], beaten)
    return won


def areas(
    scores: Array, labels: Array, owner: Array, clients: int, weight: Array | None = None
) -> dict[str, Array]:
    """AUROC of each client over the classes that its images have, (clients,) each; else NaN.
    Arguments as for `wins`. `ovr`: one class against the rest; `ovo`: one against one; `macro`: all
    alike; `weighted`: by prevalence. Of two classes all four are the later class's area."""
    classes = scores.shape[1]
    won = wins(scores, labels, owner, clients, weight)
    n = np.zeros((clients, classes))
    np.add.at(n, (owner, labels), 1 if weight is None else weight)
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


@dataclass(frozen=True)
class Predicted:
    """The test images of all clients, one client's after the other's. Clients with the same
    predictions and labels are one owner, whose images count once for each. `probabilities`: images
    x classes. `labels`, `owner`, `weight`: int64, images; true class, whose image (from 0), and how
    often it counts. `clients`: how many owners. `owner_of`: int64, all clients."""

    probabilities: Array
    labels: Array
    owner: Array
    weight: Array
    clients: int
    owner_of: Array

    @classmethod
    def of(cls, probabilities: Sequence[Tensor], labels: Sequence[Tensor]) -> Predicted:
        """From one tensor a client, as `evaluate` takes them."""
        first: dict[int, int] = {}
        for client, given in enumerate(probabilities):
            before = first.setdefault(id(given), client)
            if before != client and not torch.equal(labels[before], labels[client]):
                raise ValueError("clients with the same predictions have different labels")
        members = list(first.values())
        number = {name: place for place, name in enumerate(first)}
        owner_of = np.array([number[id(given)] for given in probabilities])
        sizes = [len(labels[client]) for client in members]
        p, y = (
            torch.cat([of[client] for client in members]).cpu().numpy()
            for of in (probabilities, labels)
        )
        owner = np.repeat(np.arange(len(members)), sizes)
        return cls(p, y, owner, np.bincount(owner_of)[owner], len(members), owner_of)

    def pooled(self) -> Predicted:
        """The same images as those of a single client."""
        whose = np.zeros_like(self.owner_of)
        return replace(self, owner=np.zeros_like(self.owner), clients=1, owner_of=whose)

    def per_client(self, images: Array) -> Array:
        """Sums over each owner's images, (owners,), of one number an image."""
        return np.bincount(self.owner, images * self.weight, self.clients)

    def per_class(self, classes: Array, images: Array | None = None) -> Array:
        """Sums as `per_client`, or numbers of images, by `classes` (int64): owners x classes."""
        n = self.probabilities.shape[1]
        summed = self.weight if images is None else images * self.weight
        sums = np.bincount(self.owner * n + classes, summed, self.clients * n)
        return sums.reshape(self.clients, n)


def evaluate(probabilities: Sequence[Tensor], labels: Sequence[Tensor], final: bool) -> Evaluation:
    """Mean accuracy over clients; if `final` the other metrics too, pooled and by client.
    `probabilities`: per client, images x classes. `labels`: per client, int64, images. A metric
    that is undefined for the pooled images, or for every client, is left out. Raises `ValueError`
    if one tensor of probabilities comes with different labels."""
    tests = Predicted.of(probabilities, labels)
    hits = tests.probabilities.argmax(axis=1) == tests.labels
    accuracy = tests.per_client(hits) / tests.per_client(np.ones_like(hits))
    accuracy = accuracy[tests.owner_of]
    metrics = {"accuracy": float(accuracy.mean())}
    counts: dict[str, float] = {}
    if final:
        by_owner = _scores(tests)
        pooled = by_owner if tests.clients == 1 else _scores(tests.pooled())
        for name, (value,) in pooled.items():
            if not np.isnan(value):
                metrics[name] = float(value)
        for name, of_owner in by_owner.items():
            values = of_owner[tests.owner_of]
            defined = values[~np.isnan(values)]
            if len(defined):
                metrics[name + BY_CLIENT] = float(defined.mean())
            if name == AUROC[0]:
                counts["undefined_auroc"] = len(values) - len(defined)
    return Evaluation(metrics, {"accuracy": torch.from_numpy(accuracy)}, counts)


def _scores(tests: Predicted) -> dict[str, Array]:
    return {**f1(tests), **auroc(tests)}


def f1(tests: Predicted) -> dict[str, Array]:
    """F1 of each owner, (owners,), over its images' classes; 0 for one never predicted."""
    guessed = tests.probabilities.argmax(axis=1)
    right = tests.per_class(tests.labels, guessed == tests.labels)
    images, named = tests.per_class(tests.labels), tests.per_class(guessed)
    each = 2 * right / np.maximum(images + named, 1)
    return {
        "f1_macro": each.sum(axis=1) / (images > 0).sum(axis=1),
        "f1_weighted": (each * images).sum(axis=1) / images.sum(axis=1),
    }


def auroc(tests: Predicted) -> dict[str, Array]:
    """AUROC of each owner, (owners,), over the classes that its images have; NaN if only one."""
    present = (tests.per_class(tests.labels) > 0)[tests.owner]
    mass = np.where(present, tests.probabilities, 0).astype(np.float64)
    # An image whose present classes all have probability zero says nothing about their order.
    mass = np.where(mass.any(axis=1, keepdims=True), mass, present)
    scores = mass / mass.sum(axis=1, keepdims=True)
    found = areas(scores, tests.labels, tests.owner, tests.clients, tests.weight)
    return {f"auroc_{name}": values for name, values in found.items()}
