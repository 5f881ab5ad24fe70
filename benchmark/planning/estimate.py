"""Roughly how long runs take here: counted image passes times a measured time, then corrected.

Every architecture of a plan is timed for one small training step on one thread, at its own image
size, because overhead rules at 8x8 and arithmetic at 96x96. What the step does not show
(augmentation, data, cores that share a memory bus) is learned from stored wall times: of the same
run where there are any, else as a median ratio over like runs. Good to a factor of about two before
anything has been run, and better after.
"""

from __future__ import annotations

import statistics
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import torch

from fedrepro.benchmark import data
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import DataError
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.benchmark.training.stages.trial import made
from fedrepro.methods.costs.model_costs import network_cost, shapes_of
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.nn.layers import Layer, is_buffer
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import repeat

_STEP_MULTIPLY_ADDS = 2e9
_STEP_MODELS, _STEP_IMAGES = 4, 32
_LONG_STEP_S = 0.5
"""A step that takes as long is not made twice: hardly any of it was allocation."""
_WEIGHT = 0.01  # of all weights of a step that is only timed
_BACKWARD = 2  # a backward pass costs about two forward passes
_UNKNOWN_IMAGES = 50_000
_ALIKE = 10.0  # how far the counted times of runs alike may lie apart, as a factor
_CLASSES, _PER_CLASS = 10, 500
_OVERHEAD_S = 0.05
_COUNTED_IMAGES = 500.0
"""Counting costs takes a client a few dozens of steps on weights at full width, without images."""

Shape = tuple[str, str, int, int]
"""Encoder name, its options as text, channels, image size."""

Kind = tuple[str, Shape]
"""Stage and shape: what runs must share to teach anything of each other."""


@dataclass(frozen=True)
class Work:
    """What a trial computes: images passed forward, and images trained on (forward and back)."""

    forward: float
    trained: float

    @property
    def passes(self) -> float:
        """In forward passes of one image."""
        return self.forward + (1 + _BACKWARD) * self.trained


class Estimator:
    """Seconds per trial on `device`, one thread each.

    records: stored trials to learn from; those of other devices are left out.
    """

    def __init__(
        self,
        device: str,
        device_name: str,
        records: Iterable[TrialRecord] = (),
        data_dir: Path | None = None,
    ) -> None:
        self._device, self._data_dir = torch.device(device), data_dir
        self._image_s: dict[Shape, float] = {}
        self._counts: dict[str, float] = {}
        self._walls: dict[str, list[float]] = defaultdict(list)
        self._past: dict[str, RunConfig] = {}
        for record in records:
            if record.provenance.get("device") != device_name:
                continue
            self._walls[record.run].append(float(record.provenance["wall_s"]))
            if record.run not in self._past:
                self._past[record.run] = RunConfig.from_dict(record.config)
        self._learned: dict[Kind, Mapping[str | None, list[tuple[float, float]]]] = {}
        self._medians: dict[tuple[Kind, str | None, int, int], float] = {}

    def seconds(self, config: RunConfig) -> float:
        """Estimated wall time of one trial of `config`."""
        if config.key in self._walls:
            return statistics.mean(self._walls[config.key])
        ratio = self._ratio(config)
        return self._counted(config) * (1.0 if ratio is None else ratio)

    def has_learned(self, config: RunConfig) -> bool:
        """Whether stored trials of this run, or of one like it, stand behind `seconds`."""
        return config.key in self._walls or self._ratio(config) is not None

    def _ratio(self, config: RunConfig) -> float | None:
        """Median of measured over counted time of the runs that are most like `config`, if any.

        Those of its own method, else of all. Runs of a much smaller or larger size say nothing:
        overhead rules in the one, arithmetic in the other.
        """
        kind, counted = (config.stage, _shape(config)), self._counted(config)
        for method in (config.method, None):
            runs = self._ratios(kind).get(method, [])
            low = bisect_right(runs, counted / _ALIKE, key=itemgetter(0))
            high = bisect_left(runs, counted * _ALIKE, key=itemgetter(0))
            if low < high:
                within = (kind, method, low, high)
                if within not in self._medians:
                    ratios = (ratio for _, ratio in runs[low:high])
                    self._medians[within] = statistics.median(ratios)
                return self._medians[within]
        return None

    def _ratios(self, kind: Kind) -> Mapping[str | None, list[tuple[float, float]]]:
        """By method (None for all), counted times of stored runs in order, with their ratios.

        Stored runs are gone through once, not for every new run.
        """
        if kind not in self._learned:
            ratios = defaultdict[str | None, list[tuple[float, float]]](list)
            for run in self._alike.get(kind, ()):
                past = self._past[run]
                counted = self._counted(past)
                found = (counted, statistics.mean(self._walls[run]) / counted)
                for method in (past.method, None):
                    ratios[method].append(found)
            self._learned[kind] = {method: sorted(found) for method, found in ratios.items()}
        return self._learned[kind]

    @cached_property
    def _alike(self) -> Mapping[Kind, list[str]]:
        """Stored runs by kind."""
        alike = defaultdict[Kind, list[str]](list)
        for run, past in self._past.items():
            alike[past.stage, _shape(past)].append(run)
        return alike

    def _counted(self, config: RunConfig) -> float:
        if config.key not in self._counts:
            shape = _shape(config)
            if shape not in self._image_s:
                self._image_s[shape] = self._measure(config)
            passes = work_of(config, self._data_dir).passes
            self._counts[config.key] = _OVERHEAD_S + passes * self._image_s[shape]
        return self._counts[config.key]

    def _measure(self, config: RunConfig) -> float:
        """Seconds for a forward pass of one image, from a training step on stacked models."""
        encoder, channels, size = _encoder(config)
        each = (1 + _BACKWARD) * multiply_adds(encoder, channels, size)
        # A GPU is not busy with less than a few hundred images.
        larger = 1 if self._device.type == "cpu" else 16
        limit = larger * _STEP_IMAGES * _STEP_MODELS
        images = max(1, min(limit, int(larger**2 * _STEP_MULTIPLY_ADDS / each)))
        models = _STEP_MODELS if images >= 2 * _STEP_MODELS else 1
        batch = max(2, images // models // 2 * 2)  # even, because views may come in pairs
        state = {
            name: torch.full_like(shape, _WEIGHT, device=self._device).requires_grad_(
                not is_buffer(name)
            )
            for name, shape in repeat(shapes_of(encoder), models).items()
        }
        x = torch.rand(models, batch, channels, size, size, device=self._device)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            for _ in range(2):  # the first step pays for allocation
                began = time.perf_counter()
                encoder(state, x, training=True).sum().backward()  # type: ignore[no-untyped-call]
                if self._device.type == "cuda":
                    torch.cuda.synchronize(self._device)
                took = time.perf_counter() - began
                if took > _LONG_STEP_S:
                    break
        finally:
            torch.set_num_threads(threads)
        return took / (models * batch * (1 + _BACKWARD))


def elapsed(trials: Sequence[tuple[RunConfig, float]], workers: int) -> float:
    """Wall seconds of trials (run, seconds) on `workers` processes: at least the longest chain."""
    own = dict(trials)

    def chain(config: RunConfig | None) -> float:
        return 0.0 if config is None else own.get(config, 0.0) + chain(config.start)

    longest = max((chain(config) for config in own), default=0.0)
    return max(sum(seconds for _, seconds in trials) / max(workers, 1), longest)


def work_of(config: RunConfig, data_dir: Path | None = None) -> Work:
    """Images that a trial passes through its encoder."""
    options = config.options
    if config.stage == "measurement":
        images = config.data["images"] or _n_images(config.data, data_dir)
        return Work(forward=float(images), trained=0)
    if config.stage == "costs":
        return Work(forward=_COUNTED_IMAGES, trained=0)
    if config.stage == "pretraining":
        images = config.data["images"] or _n_images(config.data, data_dir)
        views = made("objective", config.method, options).n_views
        return Work(forward=0, trained=float(images * views * options["epochs"]))
    train, test = _dealt(config)
    share = options["participation"]
    epochs, frozen = options["local_epochs"], options.get("encoder_epochs")
    trained = epochs if frozen is None else min(frozen, epochs)
    encoded = test + share * train * (options.get("n_clusters", 1) + (trained < epochs))
    rounds = options["rounds"]
    views = 1
    if config.objective is not None:
        views = made("objective", config.objective["name"], config.objective).n_views
    return Work(forward=rounds * encoded, trained=rounds * share * train * trained * views)


def multiply_adds(encoder: Layer, channels: int, size: int) -> float:
    """Multiply-adds of one forward pass of one image; nothing is computed to count them."""
    return max(float(network_cost(encoder, channels, size, size).multiply_adds), 1.0)


def _n_images(wanted: Mapping[str, Any], data_dir: Path | None) -> int:
    """Images of a part, where the data are at hand."""
    try:
        return len(data.load(wanted["name"], wanted["part"], data_dir=data_dir).portion)
    except (DataError, LookupError):
        return _UNKNOWN_IMAGES


def _dealt(config: RunConfig) -> tuple[int, int]:
    """Training and test images of all clients, from dealing labels without images."""
    assert config.clients is not None
    return _dealt_by(config.clients["partition"], _Options(config.clients))


class _Options(dict[str, Any]):
    """Options that can be a cache's key."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(sorted(self.items())))


@cache
def _dealt_by(partition: str, options: _Options) -> tuple[int, int]:
    labels = torch.arange(_CLASSES * _PER_CLASS) % _CLASSES
    fake = ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)
    try:
        dealt = made("partition", partition, options).deal(fake, fake, _CLASSES, Seeds(0))
    except ValueError:
        return 50 * options["count"], 50 * options["count"]
    return int(dealt.sizes().sum()), sum(map(len, dealt.test_of))


def _encoder(config: RunConfig) -> tuple[Layer, int, int]:
    channels, size = config.data["channels"], config.data["image_size"]
    encoder = made("encoder", config.encoder["name"], config.encoder)
    return encoder.build(channels, size), channels, size


def _shape(config: RunConfig) -> Shape:
    options = repr(sorted(config.encoder.items()))
    return config.encoder["name"], options, config.data["channels"], config.data["image_size"]


def duration(seconds: float) -> str:
    """Seconds as people say them: '8 s', '7 min', '2.5 h', '3 days'."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
