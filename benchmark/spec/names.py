"""Names that specs use (methods, objectives, data sets, metrics, ...), and which of them exist."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from benchmark.experiment import get
from methods import registry

NO_PRETRAINING = "none"

PATHS: Mapping[str, str] = {
    "method": "method",
    "clients.data": "data set",
    "clients.partition": "partition",
    "encoder.name": "encoder",
    "pretraining.method": "objective",
    "pretraining.data": "data set",
}
"""Paths of an experiment that hold names, and what each of them names."""

METRICS = frozenset(
    ["accuracy", "f1_macro", "f1_weighted", "relevance"]
    + [f"auroc_{pairs}_{mean}" for pairs in ("ovr", "ovo") for mean in ("macro", "weighted")]
)


@cache
def known(what: str) -> frozenset[str]:
    """The names of that sort which some module implements.

    `what` is one of the values of `PATHS`, or `metric`.
    """
    if what == "metric":
        return METRICS
    if what == "data set":
        return frozenset(registry.names_in("benchmark.data.sets"))
    if what == "method":
        return frozenset(registry.names("federated"))
    if what == "objective":
        federated = registry.names("federated")
        return frozenset([NO_PRETRAINING, *registry.names("objective"), *federated])
    return frozenset(registry.names(what))


def used(experiment: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every name in an experiment: its path, what it names, and the name."""
    for path, what in PATHS.items():
        name = get(experiment, path)
        if isinstance(name, str):
            yield path, what, name
