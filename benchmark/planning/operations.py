"""What each kind of run does in a round, an epoch and a step: counted operators and image passes.

`operations.json` beside this file is written by `python -m tests.count_operations`, which trains
tiny versions on noise and counts; nothing in it is timed, and reading it needs no torch.
Evidence: `tests/benchmark/test_operations_table.py` counts two kinds anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..config import RunConfig

OPERATIONS = Path(__file__).with_name("operations.json")
BATCH, TEST = 4, 8
"""Images of a step of one client, and test images, in the tiny versions that were counted."""

Counted = Mapping[str, Mapping[str, float]]
"""By what is counted (`operations`, `images`, ...): coefficients of `terms_of`."""


def kind_of(config: RunConfig) -> str:
    """Runs of one kind do the same operations a step: stage, method, objective, encoder."""
    objective = config.objective["name"] if config.objective else "-"
    return f"{config.stage} {config.method} {objective} {config.encoder['name']}"


def terms_of(rounds: float, epochs: float, steps: float, clients: float) -> dict[str, float]:
    """What counts are sums of; epochs: of a round, steps: of a client in an epoch."""
    return weighed(rounds, epochs, {"": 1.0, "S": steps, "P": clients, "SP": steps * clients})


def weighed(rounds: float, epochs: float, inner: Mapping[str, float]) -> dict[str, float]:
    """The terms once, in each round and in each epoch of one.

    inner: one, the steps that follow each other (`S`), the clients (`P`), the steps of all (`SP`).
    """
    outer = {"1": 1.0, "R": rounds, "RE": rounds * epochs}
    return {f"{a}{b}": x * y for a, x in outer.items() for b, y in inner.items()}


def counted_of(config: RunConfig) -> Counted:
    """What was counted of the run's kind, else of the one most like it, else of FedAvg.

    Alike are kinds of the same stage and method, then of the same stage and objective.
    """
    found = _table()
    kind = kind_of(config)
    if kind in found:
        return found[kind]
    stage, method, objective, _ = kind.split(" ")
    for alike in (f"{stage} {method} {objective} ", f"{stage} {method} "):
        for name, counted in found.items():
            if name.startswith(alike):
                return counted
    for name, counted in found.items():
        if objective != "-" and name.startswith(f"{stage} ") and f" {objective} " in name:
            return counted
    usual = "pretraining simclr - cnn" if stage == "pretraining" else "federated fedavg - cnn"
    return found[usual]


@cache
def _table() -> Mapping[str, Counted]:
    found: Mapping[str, Counted] = json.loads(OPERATIONS.read_text(encoding="utf-8"))
    return found
