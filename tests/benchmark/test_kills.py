"""Trials that are killed at random moments, twenty times each: the record is as if nobody had."""

from __future__ import annotations

import os
import pickle
import random
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.execution.executors._work import perform
from fedrepro.benchmark.execution.executors.base import Saving
from fedrepro.benchmark.execution.jobs import Done, Job
from fedrepro.benchmark.store.store import Store
from tests.benchmark.interruptions import assert_same, encoder_for, one_of_each, undisturbed

KILLS = 20
EVERY_S = 0.3
LONGER: dict[tuple[str, str], dict[str, Any]] = {
    ("federated", "fedavg"): {"rounds": 1500},
    ("pretraining", "simclr"): {"epochs": 800},
    ("federated", "mfcl"): {"rounds": 200, "server_epochs": 600},
    ("federated", "scaffold-ft"): {"rounds": 500, "personal_epochs": 2000},
}
"""So that each trains for half a minute on one core."""


def longer(name: tuple[str, str]) -> RunConfig:
    config = one_of_each()[name]
    return replace(config, options={**config.options, **LONGER[name]})


class Part:
    """A process that trains a job with a checkpoint; it leaves its result in a file."""

    def __init__(self, job: Job, saving: Saving, place: Path) -> None:
        self.place, self.said = place / "result", place / "said"
        self.pid = os.fork()
        if self.pid:
            return
        code = 1
        try:
            torch.manual_seed(os.getpid())
            weights = place / "encoder.npz"
            encoder = weights if weights.is_file() else None
            result = perform(job, encoder, None, "cpu", saving=saving, say=self._say)
            self.place.write_bytes(pickle.dumps(result))
            code = 0
        finally:
            os._exit(code)

    def _say(self, sentence: str) -> None:
        with self.said.open("a") as file:
            file.write(f"{sentence}\n")

    def ended_within(self, seconds: float) -> bool:
        """Whether it ended by itself; else it is killed."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return True
            time.sleep(0.005)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return False


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("name", LONGER, ids="-".join)
def test_twenty_kills_leave_no_trace(
    name: tuple[str, str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    config, chance = longer(name), random.Random(os.urandom(8))
    expected, known = undisturbed(config, 0)
    assert encoder_for(config, 0) is None
    store, job, kills, lost = Store(tmp_path / "store"), Job(config, 0), 0, list[float]()
    with store.writing():
        saving = Saving(store.root, EVERY_S)
        kept = store.root / "checkpoints" / f"{config.key}-seed0.checkpoint"
        while True:
            part = Part(job, saving, tmp_path)
            if part.ended_within(1e9 if kills == KILLS else chance.uniform(0.4, 2.5)):
                break
            kills += 1
            if kept.exists():
                lost.append(time.time() - kept.stat().st_mtime)
        result = pickle.loads(part.place.read_bytes())
        assert isinstance(result, Done), result
        assert_same(result.outcome, expected)
        assert kept.is_file()
        record = store.save(config, 0, result.outcome, result.provenance)
        assert not kept.exists()
    said = part.said.read_text().splitlines()
    assert all(one.startswith("goes on from") for one in said)
    assert len(said) == len(lost) == record.provenance["interrupted"]
    record_property("kills", kills)
    record_property("s at most from the last save to a kill", f"{max(lost):.2f}")
    record_property("s undisturbed", f"{known['wall_s']:.1f}")
    record_property("s of the parts that count", f"{record.provenance['wall_s']:.1f}")
