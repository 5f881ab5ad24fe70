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
_STORED_AS = {"init_from": "start", "init_trial": "start_trial", "seed_block": "series"}
"""How records and keys spell three of the names."""


@dataclass(frozen=True)
class RunConfig:
    """One training job, fully described; two cells with equal configs read the same run.

    `stage`: `pretraining` trains an encoder with an objective, and `federated` trains clients.
    `measurement` evaluates the weights that it starts from with a protocol. `costs` counts what a
    client of a federated method exchanges, computes and holds. `method`: registered name of the
    objective, of the federated method or of the protocol. `options`: all of its options, defaults
    included. `data`: name, part, test_part, image_size, channels, images (None for all),
    unlabeled_part (where clients have one). `clients`: partition name and options; None for
    pre-training. `encoder`: architecture name and options. `head`: widths of hidden layers; None
    for pre-training. `objective`: name and options of what clients minimise, where the federated
    method leaves that open. `augmentation`: options of the views; None where none are drawn.
    `init_from`: the run whose encoder this one starts from. `init_trial`: the one trial of
    `init_from` that every trial uses, or None for the trial's own. `seed_block`: its trials share
    no random number with those of another block. `precision`: in which numbers networks multiply
    (`methods.nn.precision`). `metrics`: those of other packages that are measured, too."""

    stage: Literal["pretraining", "federated", "measurement", "costs"]
    method: str
    options: Mapping[str, Json]
    data: Mapping[str, Json]
    encoder: Mapping[str, Json]
    clients: Mapping[str, Json] | None = None
    head: Mapping[str, Json] | None = None
    objective: Mapping[str, Json] | None = None
    augmentation: Mapping[str, Json] | None = None
    init_from: RunConfig | None = None
    init_trial: int | None = None
    seed_block: int = 0
    precision: str = FULL_PRECISION
    metrics: Sequence[str] = ()

    def in_seed_block(self, block: int) -> RunConfig:
        """This run, and the one that it starts from, with trials of another seed block."""
        before = None if self.init_from is None else self.init_from.in_seed_block(block)
        return replace(self, init_from=before, seed_block=block)

    def as_dict(self) -> dict[str, Json]:
        """Plain data, the run that this one starts from included."""
        names = self.__dataclass_fields__
        plain = {_STORED_AS.get(name, name): getattr(self, name) for name in names}
        plain["start"] = None if self.init_from is None else self.init_from.as_dict()
        # Keys of ordinary runs are older than these three.
        if not self.seed_block:
            del plain["series"]
        if self.precision == FULL_PRECISION:
            del plain["precision"]
        if not self.metrics:
            del plain["metrics"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Json]) -> RunConfig:
        names = {stored: name for name, stored in _STORED_AS.items()}
        named = {names.get(stored, stored): value for stored, value in plain.items()}
        before = named.pop("init_from")
        return cls(**named, init_from=None if before is None else cls.from_dict(before))

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
        if self.init_from is not None:
            words += f", started from {self.init_from.description}"
        if self.seed_block and self.init_from is None:
            words += f", series {self.seed_block}"
        if self.precision != FULL_PRECISION and self.init_from is None:
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
        run = run.init_from


def with_starts(run: RunConfig, seed: int) -> Iterator[Trial]:
    """A trial after those that it starts from."""
    if run.init_from is not None:
        yield from with_starts(run.init_from, seed if run.init_trial is None else run.init_trial)
    yield run, seed
