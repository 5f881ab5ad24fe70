"""Which printed values show the same quantity, and which were measured under the same conditions.

The audit compares what specs bind, so it knows a paper's tables only through their experiments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from benchmark import experiment as experiments
from benchmark.audit.rounding import is_exact_enough
from benchmark.errors import SpecError
from benchmark.resolve import resolve
from benchmark.spec.types import Cell, Experiment, Paper

SUBJECT = frozenset({"method", "training", "pretraining", "head", "augmentation"})
"""Sections that say what was tried; the others say on what, and how it was measured."""


def numbers(paper: Paper) -> Iterator[Cell]:
    """The cells that show a number of an experiment, in print order."""
    for table in paper.tables:
        for cell in table.cells:
            if cell.experiment and is_exact_enough(cell.printed):
                yield cell


def experiment_of(cell: Cell) -> str:
    """A key that two cells share if they read the same run.

    Options that the run's own method does not have are left out, as far as the method is
    implemented; the key of other experiments holds all that the spec says.
    """
    return _experiment_key(cell.experiment_text, cell.metric)


def round_of(cell: Cell) -> int | str:
    """The round that a cell shows; `final` is a number where the spec gives the rounds."""
    if cell.read.at != "final":
        return cell.read.at
    rounds = experiments.get(cell.experiment, "training.rounds")
    return rounds if isinstance(rounds, int) else "final"


def measure_of(cell: Cell) -> tuple[str | None, str | None, str | None]:
    """What is measured: metric, formula and unit."""
    return cell.metric, cell.formula, cell.unit


def conditions_of(cell: Cell) -> str:
    """A key for what was measured how, whatever was tried: data, clients, encoder, round."""
    shared = {key: value for key, value in cell.experiment.items() if key not in SUBJECT}
    return _canonical([shared, *measure_of(cell), round_of(cell), cell.trial])


@lru_cache(maxsize=4096)
def _experiment_key(canonical: str, metric: str | None) -> str:
    experiment: Experiment = json.loads(canonical)
    # The metric does not change what is trained; accuracy stands for those without an evaluator.
    for measured in dict.fromkeys((metric, "accuracy")):
        try:
            config = _run(experiment, measured)
        except SpecError:
            return canonical
        if config is not None:
            known = experiments.known_options()
            rest = [pair for pair in experiments.leaves(experiment) if pair[0] not in known]
            return _canonical([config, sorted(rest)])
    return canonical


def _run(experiment: Experiment, metric: str | None) -> Any:
    from benchmark.spec.types import Read

    config = resolve(experiment, Read(), metric, (), "audit").config
    return None if config is None else config.canonical


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
