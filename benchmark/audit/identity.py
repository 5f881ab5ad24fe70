"""Which printed values show the same quantity, and which were measured under the same conditions.

The audit compares what specs bind, so it knows a paper's tables only through their experiments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from benchmark import experiment as experiments
from benchmark.audit.rounding import is_exact_enough
from benchmark.errors import SpecError
from benchmark.resolve import MEASUREMENTS, resolve
from benchmark.spec.types import Cell, Experiment, Paper, Read

SUBJECT = frozenset({"method", "training", "pretraining", "head", "augmentation"})
"""Sections that say what was tried; the others say on what, and how it was measured."""


@dataclass(frozen=True, eq=False)
class Number:
    """A printed number of an experiment, and what it is compared by.

    experiment: a key that two numbers share if they read the same run. Options that the run's own
    method does not have are left out, as far as the method is implemented; the key of other
    experiments holds all that the spec says. surroundings: a key for all but what was tried.
    """

    cell: Cell
    experiment: str
    surroundings: str

    @cached_property
    def round(self) -> int | str:
        """The round that is shown; `final` is a number where the spec gives the rounds."""
        if self.cell.read.at != "final":
            return self.cell.read.at
        rounds = experiments.get(self.cell.experiment, "training.rounds")
        return rounds if isinstance(rounds, int) else "final"

    @property
    def measure(self) -> tuple[str | None, str | None, str | None]:
        """What is measured: metric, formula and unit."""
        return self.cell.metric, self.cell.formula, self.cell.unit

    @cached_property
    def conditions(self) -> tuple[object, ...]:
        """What was measured how, whatever was tried: data, clients, encoder, round."""
        return self.surroundings, self.measure, self.round, self.cell.trial

    @cached_property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like this one."""
        return self.cell.printed.bounds

    @property
    def has_spread(self) -> bool:
        """Whether it is printed with a standard deviation, as the mean of runs."""
        return self.cell.printed.sd is not None


def numbers(paper: Paper) -> tuple[Number, ...]:
    """The numbers of experiments that bounds can be put on, in print order; worked out once."""
    known = paper.worked_out
    if numbers not in known:
        known[numbers] = tuple(_numbers(paper))
    found: tuple[Number, ...] = known[numbers]
    return found


def _numbers(paper: Paper) -> Iterator[Number]:
    # By the experiment itself: equal ones of a paper that was read are one object.
    runs: dict[tuple[int, str], str] = {}
    surroundings: dict[int, str] = {}
    for table in paper.tables:
        for cell in table.cells:
            if not cell.experiment or not is_exact_enough(cell.printed):
                continue
            # Accuracy stands for what is one more number of the same run.
            metric = cell.metric if cell.metric in MEASUREMENTS else "accuracy"
            key = id(cell.experiment)
            if (key, metric) not in runs:
                runs[key, metric] = _run(cell.experiment, metric)
            if key not in surroundings:
                shared = {k: value for k, value in cell.experiment.items() if k not in SUBJECT}
                surroundings[key] = _canonical(shared)
            yield Number(cell, runs[key, metric], surroundings[key])


def _run(experiment: Experiment, metric: str) -> str:
    for measured in dict.fromkeys((metric, "accuracy")):
        try:
            config = resolve(experiment, Read(), measured, (), "audit").config
        except SpecError:
            break
        if config is not None:
            known = experiments.known_options()
            rest = [pair for pair in experiments.leaves(experiment) if pair[0] not in known]
            return f"{config.canonical} {sorted(rest)}"
    return _canonical(experiment)


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _canonical(experiment: Mapping[str, Any]) -> str:
    return _ENCODER.encode(experiment)
