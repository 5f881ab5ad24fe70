"""How long trials take on this device, from trials that have been measured on it.

Where the run itself has stored trials, their mean counts. Else the trials of its kind are scaled by
work: the multiply-adds of all forward passes in training. Work that follows from neither (the
set-up of a trial, a last evaluation) shows where trials of two lengths are stored.
Evidence: `tests/benchmark/test_estimate.py`; measured ratios are in `docs/commands.md`.
"""

from __future__ import annotations

import json
import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Literal

from ...methods import registry
from ...methods.costs.model_costs import network_cost
from ..config import RunConfig
from ..store.record import TrialRecord

_IMAGES = {
    "cifar10": 50_000, "cifar100": 50_000, "digits": 600, "emnist": 112_800, "mnist": 60_000,
    "fashion-excerpt": 4_000, "fashion-mnist": 60_000, "photo-patches": 700, "stl10": 5_000,
    "tiny-imagenet": 100_000,
}  # fmt: skip
"""In the training part of a release."""
_UNLABELED = {"digits": 697, "fashion-excerpt": 2_000, "stl10": 100_000}
_UNKNOWN_IMAGES = 50_000
"""Of a set that is not listed: between trials of one set the number cancels out."""
_ORDERING_S = 5e-11
"""Seconds of a multiply-add, to put trials in order of which nothing has been measured."""

Kind = tuple[str, str, str, str, int, str]
"""Stage, method, objective, name of the encoder, image size, precision."""
Source = Literal["own trials", "trials of its kind"]
"""What an estimate is made from."""


class TrialTimes:
    """Estimated wall seconds of a trial on one device.

    device: the name of the hardware, as trials record it.
    records: stored trials; those of other devices are left out.
    """

    def __init__(self, device: str, records: Iterable[TrialRecord] = ()) -> None:
        self._own: dict[str, list[float]] = defaultdict(list)
        kinds: dict[Kind, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
        for record in records:
            wall_s = record.provenance.get("wall_s")
            if wall_s is None or record.provenance.get("device") != device:
                continue
            self._own[record.run].append(float(wall_s))
            # A config that an older version or a missing plugin made cannot be counted.
            with suppress(Exception):
                config = RunConfig.from_dict(record.config)
                kinds[kind_of(config)][work_of(config)].append(float(wall_s))
        self._kinds: Mapping[Kind, list[tuple[float, float]]] = {
            kind: sorted((work, statistics.mean(walls)) for work, walls in by_work.items())
            for kind, by_work in kinds.items()
        }

    def seconds(self, config: RunConfig) -> float | None:
        """Of one trial of `config`; None where nothing of its kind has been measured."""
        if config.key in self._own:
            return statistics.mean(self._own[config.key])
        measured = self._kinds.get(kind_of(config))
        return None if measured is None else _scaled(measured, work_of(config))

    def source(self, config: RunConfig) -> Source | None:
        """What `seconds` are made from."""
        if config.key in self._own:
            return "own trials"
        return "trials of its kind" if kind_of(config) in self._kinds else None

    def as_plain(self, config: RunConfig) -> dict[str, Any] | None:
        """For a program: the seconds of a trial and their source."""
        seconds = self.seconds(config)
        return None if seconds is None else {"seconds": seconds, "source": self.source(config)}

    def ordering(self, config: RunConfig) -> float:
        """Seconds to put trials in order by; a guess where nothing has been measured."""
        known = self.seconds(config)
        return _ORDERING_S * work_of(config) if known is None else known

    def longest(self, config: RunConfig) -> float | None:
        """Seconds of the longest trial of the kind of `config`, as many as if all were as large.

        None where no trial of its kind is stored.
        """
        if (measured := self._kinds.get(kind_of(config))) is None:
            return max(self._own.get(config.key, ()), default=None)
        return max(wall_s * max(1.0, work_of(config) / work) for work, wall_s in measured)


def _scaled(measured: list[tuple[float, float]], work: float) -> float:
    """Seconds at `work` from pairs of work and seconds, rising in work."""
    (least, shortest), (most, longest) = measured[0], measured[-1]
    near, seconds = min(measured, key=lambda one: abs(math.log(one[0] / work)))
    if least == most:
        return seconds * work / near
    slope = max(0.0, (longest - shortest) / (most - least))
    return max(seconds + slope * (work - near), seconds * min(1.0, work / near))


def kind_of(config: RunConfig) -> Kind:
    """Trials of one kind differ in how much they compute, and hardly in how."""
    objective = config.objective["name"] if config.objective else ""
    encoder, size = config.encoder["name"], config.data["image_size"]
    return config.stage, config.method, objective, encoder, size, config.precision


def work_of(config: RunConfig) -> float:
    """Multiply-adds of the forward passes in training, at least one image's."""
    options = config.options
    passes = 1.0
    if config.stage != "costs":
        epochs = options.get("epochs", 1)
        if "local_epochs" in options:
            epochs = options["rounds"] * (options["local_epochs"] + options.get("server_epochs", 0))
        passes = max(1.0, images_of(config) * options.get("participation", 1.0) * epochs)
    encoder = json.dumps(config.encoder, sort_keys=True)
    return passes * _multiply_adds(encoder, config.data["channels"], config.data["image_size"])


def images_of(config: RunConfig) -> float:
    """Training images of all clients, or of the one set."""
    data, clients = config.data, config.clients or {}
    if "counts" in clients:
        images = sum(map(sum, clients["counts"]))
    elif "samples" in clients:
        images = clients["count"] * clients["samples"]
    elif "major" in clients:
        images = clients["count"] * (clients["n_major"] * clients["major"] + clients["minor"])
    else:
        known = _UNLABELED if data["part"] == "unlabeled" else _IMAGES
        images = data["images"] or known.get(data["name"], _UNKNOWN_IMAGES)
    return float(images + (_UNLABELED.get(data["name"], 0) if data.get("unlabeled_part") else 0))


@cache
def _multiply_adds(encoder: str, channels: int, size: int) -> int:
    options = json.loads(encoder)
    network = registry.make("encoder", options["name"], options).build(channels, size)
    return max(1, network_cost(network, channels, size, size).multiply_adds)
