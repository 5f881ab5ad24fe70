"""Roughly how long runs take here: counted image passes times a measured time, then corrected.

One small training step of every architecture is timed on one thread, at its own image size:
overhead rules at 8x8, arithmetic at 96x96. What the step does not show (augmentation, data, cores
that share a memory bus) is learned from stored wall times: of the same run, else as a median ratio
over like runs. Good to a factor of about two before anything has been run, and better after.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch

from fedrepro.benchmark import data
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import DataError, is_out_of_memory
from fedrepro.benchmark.store.record import TrialRecord
from fedrepro.methods import registry
from fedrepro.methods.costs.model_costs import network_cost, shapes_of
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.nn.layers import Layer, is_buffer
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import repeat

_STEP_MULTIPLY_ADDS = 2e9
_STEP_MODELS, _STEP_IMAGES = 4, 32
_LONG_STEP_S = 0.5
"""A step that takes as long is not made twice: hardly any of it was allocation."""
_USUAL_SPEED = 1e10
"""Multiply-adds a second on one thread of a processor."""
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


class TrialTimeEstimator:
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
        self._past: dict[Kind, dict[str, RunConfig]] = defaultdict(dict)
        self._ratios: dict[Kind, list[tuple[str, float, float]]] = {}
        for record in records:
            if record.provenance.get("device") != device_name:
                continue
            if record.run not in self._walls:
                past = RunConfig.from_dict(record.config)
                self._past[past.stage, _shape(past)][record.run] = past
            self._walls[record.run].append(float(record.provenance["wall_s"]))

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
        counted = self._counted(config)
        alike = [
            (method, ratio)
            for method, past, ratio in self._learned((config.stage, _shape(config)))
            if counted / _ALIKE < past < counted * _ALIKE
        ]
        own = [ratio for method, ratio in alike if method == config.method]
        return statistics.median(own or [ratio for _, ratio in alike]) if alike else None

    def _learned(self, kind: Kind) -> list[tuple[str, float, float]]:
        """Method, counted time and measured over counted time of the stored runs of a kind."""
        if kind not in self._ratios:
            self._ratios[kind] = [
                (past.method, counted, statistics.mean(self._walls[run]) / counted)
                for run, past in self._past[kind].items()
                for counted in (self._counted(past),)
            ]
        return self._ratios[kind]

    def _counted(self, config: RunConfig) -> float:
        if config.key not in self._counts:
            shape = _shape(config)
            if shape not in self._image_s:
                self._image_s[shape] = self._measure(config)
            passes = work_of(config, self._data_dir).passes
            self._counts[config.key] = _OVERHEAD_S + passes * self._image_s[shape]
        return self._counts[config.key]

    def _measure(self, config: RunConfig) -> float:
        """Seconds for a forward pass of one image, from a training step on stacked models.

        Where memory runs out, a usual speed is taken instead: the trial itself may run elsewhere.
        """
        encoder, channels, size = _encoder(config)
        forward = multiply_adds(encoder, channels, size)
        try:
            return self._timed_step(encoder, channels, size, (1 + _BACKWARD) * forward)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return forward / _USUAL_SPEED

    def _timed_step(self, encoder: Layer, channels: int, size: int, each: float) -> float:
        """Seconds as in `_measure`; `each`: multiply-adds of a step for one image."""
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


def work_of(config: RunConfig, data_dir: Path | None = None) -> Work:
    """Images that a trial passes through its encoder."""
    options = config.options
    if config.stage == "costs":
        return Work(forward=_COUNTED_IMAGES, trained=0)
    if config.stage in ("measurement", "pretraining"):
        images = config.data["images"] or _n_images(config.data, data_dir)
        if config.stage == "measurement":
            return Work(forward=float(images), trained=0)
        views = registry.make("objective", config.method, options).n_views
        return Work(forward=0, trained=float(images * views * options["epochs"]))
    train, test = _dealt(json.dumps(config.clients))
    share = options["participation"]
    epochs, frozen = options["local_epochs"], options.get("encoder_epochs")
    trained = epochs if frozen is None else min(frozen, epochs)
    encoded = test + share * train * (options.get("n_clusters", 1) + (trained < epochs))
    rounds, given = options["rounds"], config.objective
    views = 1 if given is None else registry.make("objective", given["name"], given).n_views
    return Work(forward=rounds * encoded, trained=rounds * share * train * trained * views)


def multiply_adds(encoder: Layer, channels: int, size: int) -> float:
    """Multiply-adds of one forward pass of one image; nothing is computed to count them."""
    return max(float(network_cost(encoder, channels, size, size).multiply_adds), 1.0)


def _n_images(wanted: Mapping[str, Any], data_dir: Path | None) -> int:
    """Images of a part; a usual number where it cannot be read."""
    try:
        return len(data.load(wanted["name"], wanted["part"], data_dir=data_dir).portion)
    except (DataError, LookupError):
        return _UNKNOWN_IMAGES
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return _UNKNOWN_IMAGES


@cache
def _dealt(clients: str) -> tuple[int, int]:
    """Training and test images of all clients (as JSON), from dealing labels without images."""
    options = json.loads(clients)
    labels = torch.arange(_CLASSES * _PER_CLASS) % _CLASSES
    fake = ImageSet(torch.zeros(len(labels), 1, 1, 1, dtype=torch.uint8), labels)
    try:
        partition = registry.make("partition", options["partition"], options)
        dealt = partition.deal(fake, fake, _CLASSES, Seeds(0))
    except ValueError:
        return 50 * options["count"], 50 * options["count"]
    return int(dealt.sizes().sum()), sum(map(len, dealt.test_of))


def _encoder(config: RunConfig) -> tuple[Layer, int, int]:
    channels, size = config.data["channels"], config.data["image_size"]
    encoder = registry.make("encoder", config.encoder["name"], config.encoder)
    return encoder.build(channels, size), channels, size


def _shape(config: RunConfig) -> Shape:
    options = repr(sorted(config.encoder.items()))
    return config.encoder["name"], options, config.data["channels"], config.data["image_size"]
