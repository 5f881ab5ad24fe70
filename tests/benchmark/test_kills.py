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
EVERY_S = 0.25
LONGER: dict[tuple[str, str], dict[str, Any]] = {
    ("federated", "fedavg"): {"rounds": 200},
    ("pretraining", "simclr"): {"epochs": 60},
    ("federated", "mfcl"): {"rounds": 40, "server_epochs": 3},
    ("federated", "scaffold-ft"): {"rounds": 30, "personal_epochs": 100},
}
"""So that each trains for some seconds on one core."""


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
            result = perform(job, None, None, "cpu", saving=saving, say=self._say)
            self.place.write_bytes(pickle.dumps(result))
            code = 0
        finally:
            os._exit(code)

    def _say(self, sentence: str) -> None:
        with self.said.open("a") as file:
            file.write(f"{sentence}\n")

    def killed(self, kept: Path, saves: int, after_s: float) -> bool:
        """Kills it some seconds after so many saves; False if it has ended by itself before."""
        seen = _written(kept)
        until = time.monotonic() + after_s
        # A moment is chosen by what was saved, so that a slow machine gets on too.
        while saves or time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return False
            if saves and (now := _written(kept)) != seen:
                seen, saves, until = now, saves - 1, time.monotonic() + after_s
            time.sleep(0.002)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return True

    def ended(self) -> None:
        """Waits for its end."""
        os.waitpid(self.pid, 0)


def _written(kept: Path) -> int | None:
    try:
        return kept.stat().st_mtime_ns
    except FileNotFoundError:
        return None


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("name", LONGER, ids="-".join)
def test_twenty_kills_leave_no_trace(
    name: tuple[str, str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    config, chance = longer(name), random.Random(os.urandom(8))
    expected, known = undisturbed(config, 0)
    assert encoder_for(config, 0) is None
    kills, trials, lost = 0, 0, list[float]()
    while kills < KILLS:
        place = tmp_path / str(trials)
        place.mkdir()
        store, job = Store(place / "store"), Job(config, 0)
        with store.writing():
            saving = Saving(store.root, EVERY_S)
            kept = store.root / "checkpoints" / f"{config.key}-seed0.checkpoint"
            part, before = Part(job, saving, place), kills
            while kills < KILLS and part.killed(
                kept, chance.choice((0, 1, 1, 2)), chance.uniform(0, 2 * EVERY_S)
            ):
                kills += 1
                if kept.exists():
                    lost.append(time.time() - kept.stat().st_mtime)
                part = Part(job, saving, place)
            if kills == KILLS:
                part.ended()
            result = pickle.loads(part.place.read_bytes())
            assert isinstance(result, Done), result
            assert_same(result.outcome, expected)
            record = store.save(config, 0, result.outcome, result.provenance)
            assert not kept.exists()
        said = part.said.read_text().splitlines() if part.said.exists() else []
        assert all(one.startswith("goes on from") for one in said)
        assert record.provenance["interrupted"] <= len(said) <= kills - before
        trials += 1
    record_property("kills", kills)
    record_property("trials", trials)
    record_property("s at most from the last save to a kill", f"{max(lost):.2f}")
    record_property("s undisturbed", f"{known['wall_s']:.1f}")
