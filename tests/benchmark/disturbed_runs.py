"""Runs to disturb: a plan, drivers of their own that carry it out, and what must be left of it.

Drivers are forked from this process and their workers from them, because importing torch takes
longer than the whole plan; real workers are spawned (`test_resume.py`, `executors/test_local.py`).
"""

from __future__ import annotations

import io
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.execution.progress import Progress
from fedrepro.benchmark.execution.run import Execution, execute
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store

Contents = Callable[[Path], dict[str, Any]]
ROWS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "ifca": {"method": "ifca"},
    "pretrained": {"pretraining": {"method": "simclr", "shared": False}},
}
FORK = multiprocessing.get_context("fork")


@dataclass
class Campaign:
    """The plan, an undisturbed store of it, and how long each way of filling one takes.

    every: seconds between two times at which a trial saves itself; 0 for never.
    """

    plan: Plan
    undisturbed: Path
    seconds: dict[int, float]
    contents_of: Contents
    every: float = 0.0

    @property
    def trials(self) -> int:
        return len(self.plan.trials_to_run())


def carry_out(plan: Plan, root: Path, jobs: int = 0, every: float = 0.0) -> Execution:
    progress = Progress(Console(file=io.StringIO()))
    options = {"device": "cpu", "jobs": jobs, "checkpoint_every": every}
    return execute(plan, Store(root), progress=progress, **options)


def seconds_of(plan: Plan, root: Path, jobs: int) -> float:
    began = time.monotonic()
    driver = start(plan, root, jobs)
    driver.join()
    assert driver.exitcode == 0
    return time.monotonic() - began


def start(
    plan: Plan,
    root: Path,
    jobs: int = 0,
    disturb: Callable[[], None] = lambda: None,
    every: float = 0.0,
) -> Any:
    """A driver of its own; it ends with 0, or with 2 after an error in one line."""
    driver = FORK.Process(target=_drive, args=(plan, root, jobs, disturb, every))
    driver.start()
    return driver


def _drive(plan: Plan, root: Path, jobs: int, disturb: Callable[[], None], every: float) -> None:
    os.setpgid(0, 0)
    multiprocessing.get_context = lambda method=None: FORK  # type: ignore[assignment]
    disturb()
    try:
        carry_out(plan, root, jobs, every)
    except (StoreError, OSError) as error:  # what the command line makes one line of
        os._exit(1 if "\n" in str(error) else 2)
    os._exit(0)


def finished(root: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in root.glob("trials/*/*.json")}


def assert_whole(campaign: Campaign, root: Path, kept: dict[str, bytes], damaged: int = 0) -> None:
    """What is left is done by one more run, and nothing else is."""
    last = carry_out(campaign.plan, root, every=campaign.every)
    assert last.failed == 0
    assert (last.reused, last.trained) == (
        len(kept) - damaged,
        campaign.trials - len(kept) + damaged,
    )
    now = finished(root)
    assert len(now) == campaign.trials
    assert sum(now[file] != content for file, content in kept.items()) <= damaged
    here, there = campaign.contents_of(root), campaign.contents_of(campaign.undisturbed)
    aside = [name for name in here if name.startswith("quarantine/")]
    assert bool(aside) == bool(damaged)
    assert {name: held for name, held in here.items() if name not in aside} == there
    again = carry_out(campaign.plan, root)
    assert (again.reused, again.trained) == (campaign.trials, 0)


def ends_well(campaign: Campaign, root: Path, driver: Any) -> None:
    """The driver ends without an error, and every trial is there, whole."""
    driver.join()
    assert driver.exitcode == 0
    kept = finished(root)
    assert len(kept) == campaign.trials
    assert_whole(campaign, root, kept)


def of_group(leader: int) -> list[int]:
    """Processes of a driver's group that have not ended."""
    return [process for process, group in _groups() if group == leader]


def _groups() -> Iterator[tuple[int, int]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, group, *_ = stat.read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            yield int(stat.parent.name), int(group)
