"""Controllers of a method that sit at a bound: the method is then not what its name says.

FedEMA whose clients keep their own model in every round trains locally; a clustering loss for which
no pair is selected is none. Methods name what they log of every client and round in `controllers`
(`methods.federated.self_supervised`); a client's first round, which nothing controls, is NaN.
Evidence: `tests/benchmark/test_controllers.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...methods import registry
from ...methods.registry import UnknownNameError
from ..config import RunConfig
from .evidence import Evidence

ROUNDING = 1e-6
"""A value so near a bound is at it: divergences of equal labels are not quite zero."""


@dataclass(frozen=True)
class Bound:
    """A value of a controller, what it means, and the share of client-rounds that may have it."""

    value: float
    meaning: str
    allowed: float = 0.5


BOUNDS = {
    "gamma": (
        Bound(1.0, "γ was 1, clients kept their own models,"),
        Bound(0.0, "γ was 0, clients kept nothing of their own,"),
    ),
    "epsilon": (Bound(0.0, "ε was 0, clients kept nothing of their own centres,"),),
    # A decision is always at one of its two bounds: only one that is always the same is said.
    "own_predictor": (
        Bound(1.0, "clients kept their own predictors", 0.99),
        Bound(0.0, "clients took the global predictor", 0.99),
    ),
    "selected_pairs": (Bound(0.0, "no pair of views was selected"),),
    "empty_pools": (Bound(1.0, "every pool of negatives was empty"),),
}
"""What is said of which controller, by its name."""


def at_bounds(config: RunConfig | None, evidence: Evidence) -> str:
    """A sentence for each bound at which a controller of the run behind a cell sits, or nothing.

    config: of the cell's run, or of an evaluation of it. May raise `StoreError` for arrays that
    cannot be read.
    """
    while config is not None and config.stage != "federated":
        config = config.start
    if config is None:
        return ""
    try:
        names = getattr(registry.find("federated", config.method), "controllers", ())
    except UnknownNameError:  # its trials may be stored still
        return ""
    if not names:
        return ""
    if config.key not in evidence.said:
        stored = [evidence.store.load_arrays(record) for record in evidence.records(config)]
        evidence.said[config.key] = " ".join(
            sentence
            for name in names
            for sentence in _sentences(name, [one[name] for one in stored if name in one])
        )
    return evidence.said[config.key]


def _sentences(name: str, trials: list[NDArray[np.floating]]) -> list[str]:
    """trials: rounds x clients of each trial."""
    values = np.concatenate([one.ravel() for one in trials]) if trials else np.empty(0)
    values = values[np.isfinite(values)]
    if not len(values):
        return []
    shares = [
        (bound, float(np.isclose(values, bound.value, atol=ROUNDING).mean()))
        for bound in BOUNDS[name]
    ]
    return [
        f"Controller at its bound: {bound.meaning} in {100 * share:.0f} % of client-rounds."
        for bound, share in shares
        if share > bound.allowed
    ]
