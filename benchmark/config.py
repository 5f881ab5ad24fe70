"""A run's frozen configuration: canonical text, and the key under which its trials are stored."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

Json = Any
FULL_PRECISION = "float32"


@dataclass(frozen=True)
class RunConfig:
    """One training job, fully described; two cells with equal configs read the same run.

    stage: `pretraining` trains an encoder with an objective; `federated` trains clients;
    `measurement` evaluates the weights that it starts from with a protocol; `costs` counts what a
    client of a federated method exchanges, computes and holds.
    method: registered name of the objective, of the federated method or of the protocol. options:
    all of its options, defaults included. data: name, part, test_part, image_size, channels,
    images (None for all), unlabeled_part (where clients have one). clients: partition name and
    options; None for pre-training. encoder: architecture name and options. head: widths of hidden
    layers; None for pre-training. objective: name and options of what clients minimise, where the
    federated method leaves that open. augmentation: options of the views; None where none are
    drawn. start: the run whose encoder this one starts from.
    start_trial: the one trial of `start` that every trial uses, or None for the trial's own.
    series: which series its trials belong to; trials of two series share no random number.
    precision: in which numbers networks multiply (`methods.nn.precision`).
    metrics: those of other packages that are measured, too.
    """

    stage: Literal["pretraining", "federated", "measurement", "costs"]
    method: str
    options: Mapping[str, Json]
    data: Mapping[str, Json]
    encoder: Mapping[str, Json]
    clients: Mapping[str, Json] | None = None
    head: Mapping[str, Json] | None = None
    objective: Mapping[str, Json] | None = None
    augmentation: Mapping[str, Json] | None = None
    start: RunConfig | None = None
    start_trial: int | None = None
    series: int = 0
    precision: str = FULL_PRECISION
    metrics: Sequence[str] = ()

    def in_series(self, series: int) -> RunConfig:
        """This run, and the one that it starts from, with trials of another series."""
        start = None if self.start is None else self.start.in_series(series)
        return replace(self, start=start, series=series)

    def as_dict(self) -> dict[str, Json]:
        """Plain data, the run that this one starts from included."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["start"] = None if self.start is None else self.start.as_dict()
        # Keys of ordinary runs are older than these three.
        if not self.series:
            del plain["series"]
        if self.precision == FULL_PRECISION:
            del plain["precision"]
        if not self.metrics:
            del plain["metrics"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Json]) -> RunConfig:
        start = plain["start"]
        return cls(**{**plain, "start": None if start is None else cls.from_dict(start)})

    @cached_property
    def canonical(self) -> str:
        """JSON with sorted keys and no spaces; the same text for the same run everywhere."""
        return json.dumps(self.as_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    @cached_property
    def key(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of `canonical`."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()[:16]

    @property
    def description(self) -> str:
        """A few words for progress and lists: method, data set, and what it starts from."""
        words = f"{self.method} on {self.data['name']}"
        if self.stage == "costs":
            return f"costs of {words}"
        if self.start is not None:
            words += f", started from {self.start.description}"
        if self.series and self.start is None:
            words += f", series {self.series}"
        if self.precision != FULL_PRECISION and self.start is None:
            words += f", in {self.precision}"
        return words

    def __hash__(self) -> int:
        return hash(self.canonical)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunConfig) and self.canonical == other.canonical


Trial = tuple[RunConfig, int]
"""A run and a seed."""


def chain(run: RunConfig | None) -> Iterator[RunConfig]:
    """A run, and those before it that it starts from."""
    while run is not None:
        yield run
        run = run.start


def with_starts(run: RunConfig, seed: int) -> Iterator[Trial]:
    """A trial after those that it starts from."""
    if run.start is not None:
        yield from with_starts(run.start, seed if run.start_trial is None else run.start_trial)
    yield run, seed
