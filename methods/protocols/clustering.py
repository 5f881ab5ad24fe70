"""Clustering of test images: clusters of the trained model, or K-means on its representations.

Paper: fedrlc, Section VII-C: assignments come from the global cluster head or the global centres
(`clusters.soft_assignment`), for single training from K-means; clustering accuracy, NMI, ARI.
Unstated: K-means of the encoder's plain output, a cluster a class, best of ten k-means++ starts.
Evidence: `tests/methods/test_protocols.py`.
"""

from dataclasses import dataclass
from typing import Literal

from ..clusters.kmeans import best_kmeans
from ..clusters.soft_assignment import soft_assignment
from ..metrics.cluster_agreement import agreement
from ..outcome import Outcome
from ..training.pretraining import encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Clustering(Protocol):
    """assignment: `model` (its cluster head or centres) or `kmeans`. `restarts`: of K-means."""

    assignment: Literal["model", "kmeans"] = "model"
    restarts: int = 10

    def measure(self, subject: Subject) -> Outcome:
        """The metrics of `agreement` on test images; `ValueError` without labels or clusters."""
        test = subject.held_out().to(subject.device)
        labels = test.known_labels("clustering accuracy")
        weights = subject.on_device()
        h = encode(subject.network, weights, test.images)  # images x dim
        if self.assignment == "model":
            choice = soft_assignment(h[None], weights)[0].argmax(dim=1)
        else:
            stream = subject.seeds.generator("clustering", "k-means")
            choice = best_kmeans(h[None], subject.n_classes, [stream], self.restarts)[1][0]
        return Outcome(metrics=once(agreement(choice, labels)))
