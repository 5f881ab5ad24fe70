"""Trains one trial: from a config and a seed to an outcome, the same in every process."""

from __future__ import annotations

import importlib
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
import torch

from ...methods.checkpoint import Checkpoint
from ...methods.federated.base import ProgressCallback
from ...methods.nn.precision import computing_in
from ...methods.outcome import DivergedError, Outcome
from ...methods.seeds import Seeds
from ...methods.state import State
from ..metrics import outside
from ..version import __version__, commit
from .stages.trial import StageInput

if TYPE_CHECKING:
    from ..config import RunConfig

_UNITS = {"federated": "round", "pretraining": "epoch"}


def train_trial(
    config: RunConfig,
    seed: int,
    *,
    data_dir: Path | None,
    device: str,
    encoder: State | None = None,
    progress: ProgressCallback = lambda done, total: None,
    saved: Any = None,
    save: Callable[[Any], None] | None = None,
    save_every_s: float = 0.0,
) -> tuple[Outcome, dict[str, Any]]:
    """One trial, and where its numbers come from: device, versions, commit, data by portion, and
    how often it was interrupted. There, `started` is in UTC and of its first part, and `wall_s` of
    all parts but those whose work was lost. `peak_bytes` is of memory of this process.

    `encoder`: weights of the run that `config` starts from, one model; None for a random start.
    `save`: called about every `save_every_s` seconds (0: never) with what `saved` may be later on
    to go on from there. Raises `StaleStateError` if `saved` was made from other data,
    `methods.outcome.DivergedError` if what it measured or would store is not finite, and
    `benchmark.errors.DataError` if data are missing. Raises `ValueError` if the config cannot be
    built, if the device cannot compute in its precision, or if nothing was measured."""
    if (config.init_from is None) != (encoder is None):
        raise ValueError("an encoder is needed exactly where a run starts from another")
    started, clock = datetime.now(UTC).isoformat(timespec="seconds"), time.perf_counter()
    place, unit = torch.device(device), _UNITS.get(config.stage, "step")
    before = saved["trial"] if saved else {}
    reached = f"{unit} 1"

    def facts() -> dict[str, Any]:
        return {
            "started": before.get("started", started),
            "wall_s": before.get("wall_s", 0.0) + time.perf_counter() - clock,
            "interrupted": before.get("interrupted", -1) + 1,
            "data": dict(trial.used),
            "peak_bytes": _peak_bytes(),
        }

    def noted(done: int, total: int) -> None:
        nonlocal reached
        reached = f"{unit} {min(done + 1, total)} of {total}"
        progress(done, total)

    def write(state: Mapping[str, Any]) -> None:
        assert save is not None
        save({**state, "trial": facts(), "at": reached})

    trial = StageInput(
        config,
        Seeds(seed, config.seed_block),
        place,
        data_dir,
        encoder,
        noted,
        Checkpoint(None if save is None else write, save_every_s, saved),
        dict(before.get("data", {})),
    )
    stage = importlib.import_module(f"fedrepro.benchmark.training.stages.{config.stage}")
    with _deterministic(), computing_in(config.precision, place):
        outcome: Outcome = stage.run(trial)
    _check_numbers(outcome)
    made = {"device": device_name(place), "versions": versions(), "commit": commit()}
    return outcome, {**made, **facts()}


def _peak_bytes() -> int | None:
    """The most memory that this process has had; None on Windows, which does not count it so."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def device_name(device: torch.device | str) -> str:
    """The hardware's own name: 'NVIDIA H200', 'AMD EPYC 7763', ..."""
    place = torch.device(device)
    if place.type == "cuda":
        return torch.cuda.get_device_name(place)
    return _processor() if place.type == "cpu" else place.type


@cache
def _processor() -> str:
    """The architecture where the system does not say more."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine() or "cpu")


_BITS = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA")
"""Variables of the environment that choose instructions, and with them the last bits."""


@cache
def versions() -> Mapping[str, str]:
    """Versions of what computes the numbers."""
    found = {
        "python": platform.python_version(),
        "fedrepro": __version__,
        "torch": str(torch.__version__),
        "numpy": numpy.__version__,
    }
    named = [f"{name}={os.environ[name]}" for name in _BITS if name in os.environ]
    found["instructions"] = ", ".join([torch.backends.cpu.get_cpu_capability(), *named])
    for package in ("torchvision", "scikit-learn", "scipy"):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@contextmanager
def _deterministic() -> Iterator[None]:
    """For a block: one thread an operator, and deterministic algorithms wherever there are any.
    Memory is not filled before use: that costs small networks up to a twentieth of the time."""
    memory: Any = torch.utils.deterministic
    before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
    filled = memory.fill_uninitialized_memory
    torch.set_num_threads(1)
    # Not `use_deterministic_algorithms`, which first imports the compiler for a second.
    torch.set_deterministic_debug_mode("warn")
    memory.fill_uninitialized_memory = False
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have a deterministic")
            yield
    finally:
        torch.set_num_threads(before[0])
        torch.set_deterministic_debug_mode(before[1])
        memory.fill_uninitialized_memory = filled


def _check_numbers(outcome: Outcome) -> None:
    if not outcome.metrics:
        raise ValueError("nothing was measured: the run has no round")
    for name, curve in outcome.metrics.items():
        for at, value in zip(curve.rounds, curve.values, strict=True):
            if not math.isfinite(value):
                raise DivergedError(at, f"metrics.{name}")
            if (problem := outside(value, name, None)) is not None:
                raise ValueError(f"round {at}: {problem}")
    # NaN in an array stands for what is not there, an absent client say; infinity for nothing.
    finite = {f"counts.{name}": math.isfinite(value) for name, value in outcome.counts.items()}
    finite |= {f"encoder.{n}": bool(v.isfinite().all()) for n, v in (outcome.encoder or {}).items()}
    finite |= {f"arrays.{n}": not numpy.isinf(array).any() for n, array in outcome.arrays.items()}
    for name, is_finite in finite.items():
        if not is_finite:
            raise DivergedError(at, name)
