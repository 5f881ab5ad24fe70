"""How clearly classes are separated in the encoder's output, not in a map, which would distort.

Paper: fedrlc, Figure 5 shows t-SNE maps and no number. The mean silhouette coefficient of the test
images' classes is our measure of what is seen in them.
Evidence: `tests/methods/test_protocols.py`, `tests/methods/test_metrics.py`.
"""

from dataclasses import dataclass

from ..metrics.cluster_agreement import silhouette
from ..outcome import Outcome
from ..training.pretraining import encode
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Silhouette(Protocol):
    """The coefficient in the encoder's output, by Euclidean distance."""

    def measure(self, subject: Subject) -> Outcome:
        """The metric `silhouette`. Raises `ValueError` if there are no labels."""
        test = subject.held_out().to(subject.device)
        labels = test.known_labels("a silhouette of classes")
        weights = subject.on_device()
        h = encode(subject.network, weights, test.images)
        return Outcome(metrics=once({"silhouette": silhouette(h, labels)}))
