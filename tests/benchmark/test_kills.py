"""A whole run that is killed 40 times, refused by the disk, or met by a second driver.

Each test trains CP-CFL's smoke profile. In the end its store holds what that of an undisturbed run
holds, to the last bit. Drivers and their workers are forked from this process, because importing
torch takes longer than a trial; real workers are spawned (`test_resume.py`, `test_local.py`).
"""

import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store
from tests.benchmark.runs import finished, numbers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc"),
]
FORK = multiprocessing.get_context("fork")
KILLS = 40
LONGEST_S = 0.5  # from something that was written to a kill


def start(plan: Plan, root: Path, prepare: Callable[[], None] = lambda: None) -> Any:
    """A driver with two workers, whose trials save themselves; it ends with 2 after an error."""
    driver = FORK.Process(target=_drive, args=(plan, root, prepare))
    driver.start()
    return driver


def _drive(plan: Plan, root: Path, prepare: Callable[[], None]) -> None:
    multiprocessing.get_context = lambda method=None: FORK  # type: ignore[assignment]
    torch.set_num_threads(1)
    with said(root).open("a", buffering=1) as file:
        prepare()
        progress = Display(Console(file=file, width=300))
        options: dict[str, Any] = {"device": "cpu", "jobs": 2, "checkpoint_every": 0.001}
        try:
            execute(plan, Store(root, warn=progress.say), progress=progress, **options)
        except StoreError as error:
            os.write(2, str(error).encode())
            os._exit(1 if "\n" in str(error) else 2)
    os._exit(0)


def said(root: Path) -> Path:
    return root.with_name(f"{root.name}.said")


def finish(plan: Plan, root: Path) -> None:
    driver = start(plan, root)
    driver.join()
    assert driver.exitcode == 0


def sound(root: Path) -> dict[tuple[str, int], Any]:
    """The numbers in a store of which nothing is damaged."""
    damage: list[str] = []
    found = numbers(Store(root, warn=damage.append))
    assert damage == []
    return found


def last_written(root: Path) -> float:
    """When a record or a checkpoint was last written or removed; 0 before the first."""
    folders = (root / "checkpoints", *root.glob("trials/*"))
    return max((folder.stat().st_mtime for folder in folders if folder.is_dir()), default=0.0)


def workers_of(driver: int) -> list[int]:
    """Processes that a driver has started and that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if int(parent) == driver and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(load_paper("cpcfl"), "smoke")


@pytest.fixture(scope="module")
def undisturbed(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Any]:
    root = tmp_path_factory.mktemp("undisturbed") / "store"
    finish(plan, root)
    return sound(root)


def kill(plan: Plan, root: Path, draw: random.Random, most: int) -> list[str]:
    """Kills workers of one driver at random moments, and at last the driver; at most so many."""
    driver, killed = start(plan, root), list[str]()
    workers: list[int] = []
    while len(killed) < most and killed[-1:] != ["driver"]:
        seen = last_written(root)
        while driver.is_alive() and last_written(root) == seen:
            time.sleep(0.002)
        time.sleep(draw.uniform(0.0, LONGEST_S))
        workers = workers_of(driver.pid)
        if not driver.is_alive():
            break
        if workers and draw.random() < 0.5:
            os.kill(draw.choice(workers), signal.SIGKILL)
            killed.append("worker")
        else:
            driver.kill()
            killed.append("driver")
    driver.join()
    # Workers that were forked hold the store's lock, and end within seconds of their driver.
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        time.sleep(0.05)
    return killed


def test_forty_kills_leave_no_trace(
    plan: Plan,
    undisturbed: dict[Any, Any],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    draw, kills, went_on = random.Random(0), Counter[str](), 0
    while kills.total() < KILLS:
        root, kept = tmp_path / f"after-{kills.total()}", dict[str, bytes]()
        while kills.total() < KILLS and len(kept) < len(undisturbed):
            kills.update(kill(plan, root, draw, KILLS - kills.total()))
            now = finished(root)
            assert {name: now.get(name) for name in kept} == kept  # nothing finished is lost
            kept = now
        finish(plan, root)
        assert sound(root) == undisturbed
        assert list((root / "checkpoints").glob("*.checkpoint")) == []
        went_on += said(root).read_text().count("continues from")
        assert "damaged" not in said(root).read_text()
    assert min(kills["driver"], kills["worker"], went_on) > 0
    record_property("kills", dict(kills))
    record_property("trials that went on from a checkpoint", went_on)


def test_a_full_disk_is_one_line_and_damages_nothing(
    plan: Plan, undisturbed: dict[Any, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    driver = start(plan, tmp_path / "store", small_files)
    driver.join()
    assert driver.exitcode == 2
    assert "file too large; finished trials are kept" in capfd.readouterr().err
    held = sound(tmp_path / "store")
    assert {name: undisturbed[name] for name in held} == held
    finish(plan, tmp_path / "store")
    assert sound(tmp_path / "store") == undisturbed


def test_a_second_driver_is_turned_away_and_nothing_is_lost(
    plan: Plan, undisturbed: dict[Any, Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "store"
    first = start(plan, root)
    while not last_written(root):
        time.sleep(0.01)
    second = start(plan, root)
    second.join()
    assert second.exitcode == 2
    assert "another fedrepro is writing" in capfd.readouterr().err
    first.join()
    assert first.exitcode == 0
    assert sound(root) == undisturbed
