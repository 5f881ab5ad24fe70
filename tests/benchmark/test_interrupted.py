import gc
import multiprocessing
import pickle
import random
from collections.abc import Iterator
from contextlib import suppress
from functools import _lru_cache_wrapper, cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.executors import ExecutorOptions
from fedrepro.benchmark.execution.executors._work import perform, trial_file
from fedrepro.benchmark.execution.jobs import Done, Job
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.store.store import Store
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods import checkpoint, registry
from fedrepro.methods.outcome import Outcome
from fedrepro.methods.state import State

TIMES = ("started", "wall_s", "peak_bytes")
ALWAYS_S = 1e-9


class Stopped(BaseException):
    """The process is gone."""


def one_of_each() -> dict[tuple[str, str], RunConfig]:
    """By stage and method, a run of a smoke profile; by objective too, where runs leave it open."""
    found: dict[tuple[str, str], RunConfig] = {}
    for id in paper_ids():
        for config, _ in make_plan(load_paper(id), "smoke").trials_to_run():
            for one in (config, config.init_from):
                if one is not None and one.stage != "costs":
                    found.setdefault((one.stage, one.method), one)
                    if one.objective is not None:
                        found.setdefault((one.stage, f"any with {one.objective['name']}"), one)
    return found


@cache
def encoder_for(config: RunConfig, seed: int) -> State | None:
    if config.init_from is None:
        return None
    chosen = seed if config.init_trial is None else config.init_trial
    return undisturbed(config.init_from, chosen)[0].encoder


@cache
def undisturbed(config: RunConfig, seed: int) -> tuple[Outcome, dict[str, Any]]:
    weights = encoder_for(config, seed)
    return train_trial(config, seed, data_dir=None, device="cpu", encoder=weights)


def disturbed(config: RunConfig, seed: int, store: Path) -> tuple[Outcome, dict[str, Any], int]:
    """What comes of a trial that is stopped at every place, and how many times. Each part has new
    objects, nothing that is remembered and other global random streams."""
    given: dict[str, Any] = {"data_dir": None, "device": "cpu"}
    given["encoder"], stops = encoder_for(config, seed), 0
    source = fingerprint.digest(fingerprint.source_of(config))
    while True:
        _forget_everything(stops)
        said: list[str] = []
        file = trial_file(store, Job(config, seed), source, "cpu", None, said.append)
        saved = file.read()
        assert (saved is not None) == (stops > 0), said
        # What a part begins with was saved by the one before.
        places = iter(range(saved is not None, -1, -1))

        def save(state: Any, places: Iterator[int] = places, file: TrialFile = file) -> None:
            if next(places) == 0:
                file.write(state)
                raise Stopped

        with suppress(Stopped):
            made = train_trial(config, seed, saved=saved, save=save, save_every_s=ALWAYS_S, **given)
            assert not said
            return *made, stops
        stops += 1


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
    for held in gc.get_objects():
        if type(held) is _lru_cache_wrapper and held.__module__.startswith("fedrepro.methods."):
            held.cache_clear()
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


RUNS = one_of_each()


@pytest.fixture(autouse=True)
def costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


ONE_STEP = {
    "client-silhouette", "clustering", "embedding", "personalized-head", "reconstruction",
    "relevance", "saliency", "silhouette",
}  # fmt: skip
"""Evaluations that are not saved on their way: they begin again."""
SHORT = {("federated", "ifca"), ("pretraining", "byol"), ("measurement", "linear-probe")}


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in SHORT else pytest.mark.slow) for one in RUNS],
    ids="-".join,
)
def test_stopped_at_every_place(name: tuple[str, str], tmp_path: Path) -> None:
    config = RUNS[name]
    expected, known = undisturbed(config, 0)
    found, provenance, stops = disturbed(config, 0, tmp_path)
    assert_same(found, expected)
    assert provenance["interrupted"] == stops
    assert (stops == 0) is (name[0] == "measurement" and name[1] in ONE_STEP)
    assert {k: v for k, v in provenance.items() if k not in (*TIMES, "interrupted")} == {
        k: v for k, v in known.items() if k not in (*TIMES, "interrupted")
    }


def test_nothing_that_is_registered_is_left_out() -> None:
    assert {m for s, m in RUNS if s == "federated"} >= set(registry.names("federated"))
    protocols = set(registry.names("protocol")) - {"headroom"}  # one step, and in no smoke profile
    assert {m for s, m in RUNS if s == "measurement"} >= protocols


def _goes_on(pipe: Connection, configs: list[RunConfig], store: Path) -> None:
    options = ExecutorOptions(None, store=store, save_every_s=1e9)
    for config in configs:
        said: list[str] = []
        result = perform(Job(config, 0), None, options, "cpu", say=said.append)
        pipe.send_bytes(pickle.dumps((said, result)))


def test_a_fresh_process_goes_on(tmp_path: Path) -> None:
    names = [("federated", "ditto"), ("federated", "mfcl"), ("pretraining", "byol")]
    configs = [RUNS[name] for name in names]
    with Store(tmp_path).writing():
        for config in configs:  # the last checkpoints stay: nobody writes a record
            disturbed(config, 0, tmp_path)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_goes_on, args=(theirs, configs, tmp_path))
    process.start()
    theirs.close()
    for config in configs:
        said, result = ours.recv()
        assert [one.partition(" from ")[0] for one in said] == ["continues"]
        assert isinstance(result, Done)
        assert_same(result.outcome, undisturbed(config, 0)[0])
    process.join()
