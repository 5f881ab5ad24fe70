"""Names that specs use (methods, objectives, data sets, metrics, ...), and which of them exist."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from fedrepro.benchmark.spec.problems import nearest
from fedrepro.benchmark.spec.settings import get
from fedrepro.methods import declared, registry

NO_PRETRAINING = "none"
NO_PART = "none"
NO_PROTOCOL = "none"
MISSPELT = 0.8
"""How much a name that nothing implements may resemble one that exists before it is an error."""

PATHS: Mapping[str, str] = {
    "method": "method",
    "clients.data": "data set",
    "clients.partition": "partition",
    "encoder.name": "encoder",
    "pretraining.method": "objective",
    "pretraining.data": "data set",
    "training.objective": "objective",
    "evaluation.protocol": "protocol",
    "evaluation.data": "data set",
}
"""Paths of an experiment that hold names, and what each of them names."""


_KINDS = {"method": ("federated",), "objective": ("objective", "federated")}
"""Kinds of registered classes with names of that sort, where it is not the kind itself."""
_NONE = {"objective": (NO_PRETRAINING,), "protocol": (NO_PROTOCOL,)}


@cache
def known(what: str) -> frozenset[str]:
    """The names of that sort which some module implements.

    `what` is one of the values of `PATHS`, or `metric`. A module of metrics lists those that it
    measures in `METRICS`; one without such a list measures what it is called.
    """
    if what == "metric":
        return frozenset(_metrics())
    if what == "data set":
        return frozenset(registry.names_in("fedrepro.benchmark.data.sets"))
    named = (registry.names(kind) for kind in _KINDS.get(what, (what,)))
    return frozenset(itertools.chain(_NONE.get(what, ()), *named))


def slip(what: str, name: str) -> str | None:
    """The name that was meant, if `name` is none that exists but resembles one; else None."""
    return None if name in known(what) else nearest(name, known(what), cutoff=MISSPELT)


def _metrics() -> Iterator[str]:
    package = "fedrepro.methods.metrics"
    for name, module in registry.modules_in(package).items():
        if declared.binds(module, "METRICS"):
            yield from declared.value(module, "METRICS")
        else:
            yield name


def used(experiment: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every name in an experiment: its path, what it names, and the name."""
    for path, what in PATHS.items():
        name = get(experiment, path)
        if isinstance(name, str):
            yield path, what, name
