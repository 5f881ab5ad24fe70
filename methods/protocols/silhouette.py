"""How clearly classes are separated in the encoder's output, before any map of it.

Paper: fedrlc, Figure 5 shows t-SNE maps and prints no number; the mean silhouette coefficient of
the test images' classes is our measure of what is seen in them. A map would add its own
distortions.
Evidence: `tests/methods/test_clustering_protocol.py`; the coefficient itself in
`tests/methods/test_clustering.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from fedrepro.methods.metrics.clustering import silhouette
from fedrepro.methods.outcome import Curve, Outcome
from fedrepro.methods.protocols.base import Protocol, Subject
from fedrepro.methods.training.pretraining import encode


@dataclass(frozen=True)
class Silhouette(Protocol):
    """The coefficient in the encoder's output, by Euclidean distance."""

    def measure(self, subject: Subject) -> Outcome:
        """The metric `silhouette`.

        Raises `ValueError` if there are no labels.
        """
        test = subject.held_out().to(subject.device)
        if test.labels is None:
            raise ValueError("a silhouette of classes needs labels")
        weights = {name: value.to(subject.device) for name, value in subject.weights.items()}
        h = encode(subject.network, weights, test.images)
        return Outcome(metrics={"silhouette": Curve((1,), (silhouette(h, test.labels),))})
