"""Cross-dataset relevance of pre-training images for the clients' (`methods.metrics.relevance`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fedrepro.methods.metrics.relevance import relevance
from fedrepro.methods.outcome import Curve, Outcome
from fedrepro.methods.protocols.base import Protocol, Subject


@dataclass(frozen=True)
class Relevance(Protocol):
    """CP-CFL, Section 4.3. n_compared: how many images of each set are compared."""

    tests: ClassVar[bool] = False

    n_compared: int = 300

    def measure(self, subject: Subject) -> Outcome:
        """The metric `relevance`.

        Raises `ValueError` if no pair of different images is left.
        """
        value = relevance(
            subject.network,
            subject.weights,
            subject.source(),
            subject.train,
            subject.seeds,
            self.n_compared,
            subject.device,
        )
        return Outcome(metrics={"relevance": Curve((1,), (value,))})
