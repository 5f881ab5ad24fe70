"""Cross-dataset relevance: how alike pre-training images and the clients' images are to an encoder.

Paper: CP-CFL, Section 4.3 (`methods.metrics.images`).
"""

from dataclasses import dataclass
from typing import ClassVar

from ..metrics.images import relevance
from ..outcome import Outcome
from .base import Protocol, Subject, once


@dataclass(frozen=True)
class Relevance(Protocol):
    """n_compared: how many images of each set are compared."""

    tests: ClassVar[bool] = False

    n_compared: int = 300

    def measure(self, subject: Subject) -> Outcome:
        """The metric `relevance`. Raises `ValueError` if no pair of different images is left."""
        value = relevance(
            subject.network,
            subject.weights,
            subject.source(),
            subject.train,
            subject.seeds,
            self.n_compared,
            subject.device,
        )
        return Outcome(metrics=once({"relevance": value}))
