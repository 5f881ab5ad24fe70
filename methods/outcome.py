"""What a training returns: metrics over rounds, counts, arrays and an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    # A type alone, so that reading stored outcomes needs no torch.
    from .state import State

Arrays = Mapping[str, NDArray[Any]]

PICTURE = "picture."
"""Prefix of arrays that are a picture: uint8, height x width x channels (1 or 3)."""


@dataclass(frozen=True)
class Curve:
    """A metric over rounds (counted from 1), as fractions: rounds[i] gave values[i]."""

    rounds: tuple[int, ...]
    values: tuple[float, ...]

    def read(self, at: int | Literal["final"]) -> float:
        """The value at a round or the last one; `KeyError` if it was not measured there."""
        if at == "final":
            return self.values[-1]
        if at not in self.rounds:
            raise KeyError(f"round {at} was not evaluated (evaluated: {list(self.rounds)})")
        return self.values[self.rounds.index(at)]


@dataclass(frozen=True)
class Outcome:
    """What training returns, before anything is written.

    `metrics`: by name.
    `counts`: `parameters`, `downloaded_bytes`, `uploaded_bytes`, `restarts`, `shared_images`, ...
    `arrays`: `client_accuracy` (rounds x clients), `choice` (rounds x clients, -1 where a client
    was away), `class_counts` (clients x classes), `group` (clients), ...
    `encoder`: weights `encoder.*` and what else the method saves; one model, or stacked."""

    metrics: Mapping[str, Curve]
    counts: Mapping[str, float] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    encoder: State | None = None


def mean_over_models(each: Sequence[Outcome]) -> Outcome:
    """Means of the metrics and counts of outcomes that measured the same things.
    The arrays hold the final value of every model, as `model_<metric>`."""
    first = each[0]
    metrics: dict[str, Curve] = {}
    for name, curve in first.metrics.items():
        means = np.mean([outcome.metrics[name].values for outcome in each], axis=0)
        metrics[name] = Curve(curve.rounds, tuple(means.tolist()))
    return Outcome(
        metrics=metrics,
        counts={
            name: float(np.mean([outcome.counts[name] for outcome in each]))
            for name in first.counts
        },
        arrays={
            f"model_{name}": np.array([outcome.metrics[name].values[-1] for outcome in each])
            for name in metrics
        },
    )


class DivergedError(RuntimeError):
    """Training left the finite numbers: the trial has no value."""

    def __init__(self, round: int, what: str = "") -> None:
        super().__init__(round, what)
        self.round, self.what = round, what

    def __str__(self) -> str:
        told = f": {self.what} is not finite" if self.what else ""
        return f"diverged at round {self.round}{told}"
