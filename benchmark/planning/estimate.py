"""How long trials take here and what memory they need, from counted operations and a calibration.

Counted is what a trial computes (`work`), calibrated how fast the device is (`calibration`). Where
trials of the same run, or of runs like it, are stored, their wall times correct the estimate.
Evidence: `tests/benchmark/test_estimate.py`; against measured runs in `docs/estimates.md`.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from ..config import RunConfig
from ..store.record import TrialRecord
from .calibration import Calibration, calibration
from .facts import Facts
from .memory import Memory, memory_of
from .work import work_of

_ALIKE = 10.0  # how far the counted times of runs alike may lie apart, as a factor
_OVERHEAD_S = 0.05

Shape = tuple[str, str, int, int]
"""Encoder name, its options as text, channels, image size."""

Kind = tuple[str, Shape]
"""Stage and shape: what runs must share to teach anything of each other."""

Source = Literal["stored", "learned", "calibrated"]
"""Where seconds come from: trials of the run itself, those of runs like it, or counts alone."""


@dataclass(frozen=True)
class TrialEstimate:
    """Of one trial: wall seconds and where they come from, memory at its peak."""

    seconds: float
    source: Source
    memory: Memory

    def as_plain(self) -> dict[str, Any]:
        """For a program: the parts of the memory and their sum under `total`."""
        parts = {**asdict(self.memory), "total": self.memory.total}
        return {"seconds": self.seconds, "source": self.source, "memory": parts}


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
        self._device, self._device_name = device, device_name
        self._facts = Facts(data_dir)
        self._speeds: dict[str, Calibration] = {}
        self._counts: dict[str, float] = {}
        self._all_records = records
        self._ratios: dict[Kind, list[tuple[str, float, float]]] = {}

    def of(self, config: RunConfig) -> TrialEstimate:
        """Seconds and memory of one trial of `config`."""
        memory = memory_of(config, self._facts, self._device)
        return TrialEstimate(self.seconds(config), self.source(config), memory)

    def seconds(self, config: RunConfig) -> float:
        """Estimated wall time of one trial of `config`."""
        if config.key in self._walls:
            return statistics.mean(self._walls[config.key])
        ratio = self._ratio(config)
        return self._counted(config) * (1.0 if ratio is None else ratio)

    def source(self, config: RunConfig) -> Source:
        """Where `seconds` come from."""
        if config.key in self._walls:
            return "stored"
        return "calibrated" if self._ratio(config) is None else "learned"

    def has_learned(self, config: RunConfig) -> bool:
        """Whether stored trials of this run, or of one like it, stand behind `seconds`."""
        return self.source(config) != "calibrated"

    @cached_property
    def _past(self) -> tuple[dict[str, list[float]], dict[Kind, dict[str, RunConfig]]]:
        """Wall times by run, and the runs by kind."""
        walls: dict[str, list[float]] = defaultdict(list)
        past: dict[Kind, dict[str, RunConfig]] = defaultdict(dict)
        for record in self._all_records:
            wall_s = record.provenance.get("wall_s")
            if record.provenance.get("device") != self._device_name or wall_s is None:
                continue
            if record.run not in walls:
                with suppress(KeyError, TypeError, AttributeError):  # of another version's making
                    config = RunConfig.from_dict(record.config)
                    past[config.stage, _shape(config)][record.run] = config
            walls[record.run].append(float(wall_s))
        return dict(walls), past

    @property
    def _walls(self) -> dict[str, list[float]]:
        return self._past[0]

    def _ratio(self, config: RunConfig) -> float | None:
        """Median of measured over counted time of the runs that are most like `config`, if any.

        Those of its own method, else of all. Runs of a much smaller or larger size say nothing:
        overhead rules in the one, arithmetic in the other.
        """
        kind = config.stage, _shape(config)
        if kind not in self._past[1]:
            return None
        counted = self._counted(config)
        alike = [
            (method, ratio)
            for method, past, ratio in self._learned(kind)
            if counted / _ALIKE < past < counted * _ALIKE
        ]
        own = [ratio for method, ratio in alike if method == config.method]
        return statistics.median(own or [ratio for _, ratio in alike]) if alike else None

    def _learned(self, kind: Kind) -> list[tuple[str, float, float]]:
        """Method, counted time and measured over counted time of the stored runs of a kind."""
        if kind not in self._ratios:
            self._ratios[kind] = [
                (past.method, counted, statistics.mean(self._walls[run]) / counted)
                for run, past in self._past[1][kind].items()
                for counted in self._counted_if_known(past)
            ]
        return self._ratios[kind]

    def _counted_if_known(self, past: RunConfig) -> list[float]:
        """Nothing for a stored run that cannot be built any more, whose plugin is gone, say.

        What is only learned from must not end a run.
        """
        try:
            return [self._counted(past)]
        except Exception:  # a config of a store may ask for anything
            return []

    def _counted(self, config: RunConfig) -> float:
        if config.key not in self._counts:
            work = work_of(config, self._facts, self._device)
            speed = self._speed(config.precision)
            self._counts[config.key] = _OVERHEAD_S + speed.seconds(work)
        return self._counts[config.key]

    def _speed(self, precision: str) -> Calibration:
        if precision not in self._speeds:
            self._speeds[precision] = calibration(self._device, self._device_name, precision)
        return self._speeds[precision]


def _shape(config: RunConfig) -> Shape:
    options = repr(sorted(config.encoder.items()))
    return config.encoder["name"], options, config.data["channels"], config.data["image_size"]
