"""Which printed values show the same quantity, and which were measured under the same conditions.

The audit compares what specs bind, so it knows a paper's tables only through their experiments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from fedrepro.benchmark.audit.rounding import is_exact_enough
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan_run import MEASUREMENTS, Resolver
from fedrepro.benchmark.spec import settings as experiments
from fedrepro.benchmark.spec.model import Cell, Paper, Profile

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

    @property
    def bounds(self) -> tuple[Decimal, Decimal]:
        """The closed interval of values that print like this one."""
        return self.cell.printed.bounds

    @cached_property
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
    keys = _Keys()
    for table in paper.tables:
        for cell in table.cells:
            if cell.experiment and is_exact_enough(cell.printed):
                yield Number(cell, keys.run(cell), keys.surroundings(cell))


class _Keys:
    """Keys of a paper's experiments.

    Equal experiments of a paper that was read are one object, and so are equal sections; what is
    worked out of one is remembered by the object.
    """

    def __init__(self) -> None:
        self._published = Resolver(Profile("as published", 1, ()), None, {})
        self._runs: dict[tuple[int, str], str] = {}
        self._surroundings: dict[int, str] = {}
        self._texts: dict[int, str] = {}

    def run(self, cell: Cell) -> str:
        """Shared by cells that read one run."""
        # Accuracy stands for what is one more number of the same run.
        metric = cell.metric if cell.metric in MEASUREMENTS else "accuracy"
        key = id(cell.experiment), metric
        if key not in self._runs:
            self._runs[key] = self._run(cell, metric)
        return self._runs[key]

    def surroundings(self, cell: Cell) -> str:
        """Shared by cells whose sections other than `SUBJECT` are equal."""
        key = id(cell.experiment)
        if key not in self._surroundings:
            sections = sorted(pair for pair in cell.experiment.items() if pair[0] not in SUBJECT)
            self._surroundings[key] = " ".join(f"{k}={self._text(value)}" for k, value in sections)
        return self._surroundings[key]

    def _run(self, cell: Cell, metric: str) -> str:
        for measured in dict.fromkeys((metric, "accuracy")):
            try:
                config = self._published.resolve(cell, measured).config
            except SpecError:
                break
            if config is not None:
                return self._config(config)
        return _canonical(cell.experiment)

    def _config(self, config: RunConfig | None) -> str:
        """All of a config as text; its parts are shared, and held by the resolver."""
        if config is None:
            return ""
        own = (self._text(getattr(config, name)) for name in _OWN)
        return f"{' '.join(own)} from {self._config(config.start)}"

    def _text(self, part: Any) -> str:
        if id(part) not in self._texts:
            self._texts[id(part)] = _canonical(part)
        return self._texts[id(part)]


_OWN = [name for name in RunConfig.__dataclass_fields__ if name != "start"]
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _canonical(settings: Any) -> str:
    return _ENCODER.encode(settings)
