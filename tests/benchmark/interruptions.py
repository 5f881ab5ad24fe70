"""Trials that are stopped at every place where they can be, and go on from a file each time."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import _lru_cache_wrapper, cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.executors._work import trial_file
from fedrepro.benchmark.execution.executors.base import Saving
from fedrepro.benchmark.execution.jobs import Job
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods.outcome import Outcome
from fedrepro.methods.state import State

TIMES = ("started", "wall_s")
ALWAYS_S = 1e-9


class Stopped(BaseException):
    """The process is gone."""


def one_of_each() -> dict[tuple[str, str], RunConfig]:
    """By stage and method, a run of a smoke profile; by objective too, where runs leave it open."""
    found: dict[tuple[str, str], RunConfig] = {}
    for id in paper_ids():
        for config, _ in make_plan(load_paper(id), "smoke").trials_to_run():
            for one in (config, config.start):
                if one is not None and one.stage != "costs":
                    found.setdefault((one.stage, one.method), one)
                    if one.objective is not None:
                        found.setdefault((one.stage, f"any with {one.objective['name']}"), one)
    return found


@cache
def encoder_for(config: RunConfig, seed: int) -> State | None:
    """What the run starts from."""
    if config.start is None:
        return None
    chosen = seed if config.start_trial is None else config.start_trial
    return undisturbed(config.start, chosen)[0].encoder


@cache
def undisturbed(config: RunConfig, seed: int) -> tuple[Outcome, dict[str, Any]]:
    """What comes of a trial that nobody stops."""
    weights = encoder_for(config, seed)
    return train_trial(config, seed, data_dir=None, device="cpu", encoder=weights)


def disturbed(
    config: RunConfig, seed: int, store: Path, every: int = 1
) -> tuple[Outcome, dict[str, Any], int]:
    """What comes of a trial that is stopped at every place, or every so many; and how many times.

    Each part has new objects, nothing that is remembered and other global random streams.
    """
    weights, stops = encoder_for(config, seed), 0
    source = fingerprint.digest(fingerprint.source_of(config))
    while True:
        _forget_everything(stops)
        said: list[str] = []
        job, saving = Job(config, seed), Saving(store, ALWAYS_S)
        with trial_file(saving, job, source, "cpu", weights, said.append) as file:
            saved = file.read()
            assert (saved is not None) == (stops > 0), said
            # What a part begins with was saved by the one before.
            save = _Stops(file, every + (saved is not None))
            with suppress(Stopped):
                outcome, provenance = train_trial(
                    config,
                    seed,
                    data_dir=None,
                    device="cpu",
                    encoder=weights,
                    saved=saved,
                    save=save,
                    save_every_s=ALWAYS_S,
                )
                assert not said
                return outcome, provenance, stops
            stops += 1


class _Stops:
    """Saves a trial at the place of that number, and ends it."""

    def __init__(self, file: TrialFile, place: int) -> None:
        self._file, self._left = file, place

    def __call__(self, state: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self._file.write(state)
            raise Stopped


def assert_same(found: Outcome, expected: Outcome) -> None:
    """To the last bit, strides of weights excepted."""
    assert found.metrics == expected.metrics
    assert dict(found.counts) == dict(expected.counts)
    assert list(found.arrays) == list(expected.arrays)
    for name, values in expected.arrays.items():
        assert found.arrays[name].dtype == values.dtype
        assert found.arrays[name].tobytes() == values.tobytes(), name
    assert (found.encoder is None) == (expected.encoder is None)
    for name, weight in (expected.encoder or {}).items():
        own = (found.encoder or {})[name]
        assert own.dtype == weight.dtype
        assert own.numpy().tobytes() == weight.numpy().tobytes(), name


def _forget_everything(seed: int) -> None:
    for held in _caches():
        held.cache_clear()
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def _caches() -> Iterator[Any]:
    for one in gc.get_objects():
        if type(one) is _lru_cache_wrapper and one.__module__.startswith("fedrepro.methods."):
            yield one
