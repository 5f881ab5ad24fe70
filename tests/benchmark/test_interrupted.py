"""Whether a trial that is stopped anywhere goes on to the same outcome, bit for bit."""

from __future__ import annotations

import multiprocessing
from dataclasses import fields, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.executors._work import as_numpy, as_torch, perform
from fedrepro.benchmark.execution.executors.base import Saving
from fedrepro.benchmark.execution.jobs import Done, Job
from fedrepro.methods import checkpoint, registry
from fedrepro.methods.training.pretraining import PretrainingOptions
from tests.benchmark.interruptions import TIMES, assert_same, disturbed, one_of_each, undisturbed

RUNS = one_of_each()


@pytest.fixture(autouse=True)
def costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS, ids="-".join)
def test_stopped_at_every_place(name: tuple[str, str], tmp_path: Path) -> None:
    config = RUNS[name]
    expected, known = undisturbed(config, 0)
    found, provenance, stops = disturbed(config, 0, tmp_path)
    assert_same(found, expected)
    assert provenance["interrupted"] == stops
    assert {k: v for k, v in provenance.items() if k not in (*TIMES, "interrupted")} == {
        k: v for k, v in known.items() if k not in (*TIMES, "interrupted")
    }


@pytest.mark.slow
@pytest.mark.parametrize("objective", registry.names("objective"))
def test_every_objective_in_pretraining(objective: str, tmp_path: Path) -> None:
    like = RUNS["pretraining", "supervised" if objective == "supervised" else "simclr"]
    made = registry.make("objective", objective, {})
    options = {f.name: getattr(made, f.name) for f in fields(made)}
    loop = {f.name: like.options[f.name] for f in fields(PretrainingOptions)}
    config = replace(
        like,
        method=objective,
        options={**options, **loop, "epochs": 3, "batch_size": 20},
    )
    expected, _ = undisturbed(config, 0)
    found, _, stops = disturbed(config, 0, tmp_path)
    assert_same(found, expected)
    assert stops == 3


def test_nothing_that_is_registered_is_left_out() -> None:
    assert {m for s, m in RUNS if s == "federated"} >= set(registry.names("federated"))
    assert {m for s, m in RUNS if s == "measurement"} >= set(registry.names("protocol"))


@pytest.mark.parametrize(
    ("name", "every"),
    [
        (("federated", "ifca"), 2),
        (("pretraining", "byol"), 1),
        (("measurement", "linear-probe"), 2),
    ],
)
def test_stopped_now_and_then(name: tuple[str, str], every: int, tmp_path: Path) -> None:
    config = RUNS[name]
    found, _, stops = disturbed(config, 0, tmp_path, every)
    assert stops > 0
    assert_same(found, undisturbed(config, 0)[0])


def _goes_on(pipe: Connection, config: dict[str, Any], store: Path) -> None:
    said: list[str] = []
    job = Job(RunConfig.from_dict(config), 0)
    result = perform(job, None, None, "cpu", saving=Saving(store, 1e9), say=said.append)
    pipe.send((said, as_numpy(result)))


@pytest.mark.parametrize(
    "name", [("federated", "ditto"), ("federated", "mfcl"), ("pretraining", "byol")], ids="-".join
)
def test_a_fresh_process_goes_on(name: tuple[str, str], tmp_path: Path) -> None:
    config = RUNS[name]
    disturbed(config, 0, tmp_path)  # its last checkpoint stays: nobody has written a record
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_goes_on, args=(theirs, config.as_dict(), tmp_path))
    process.start()
    theirs.close()
    said, result = ours.recv()
    process.join()
    assert len(said) == 1
    assert said[0].startswith("goes on from")
    found = as_torch(result)
    assert isinstance(found, Done)
    assert_same(found.outcome, undisturbed(config, 0)[0])
