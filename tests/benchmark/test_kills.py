"""A whole run that is killed 40 times, refused by the disk, or met by a second driver.

Each test runs two tables of CP-CFL's smoke profile by the command line. In the end its store holds
what that of an undisturbed run holds, to the last bit.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.store.store import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads processes from /proc"),
]
KILLS = 40
LONGEST_S = 4.0
"""From the first line of training, or from one kill, to the next."""


def start(store: Path, *, limit: Callable[[], None] | None = None) -> subprocess.Popen[str]:
    """A driver with two workers, whose trials save themselves before each round."""
    given = ["--profile", "smoke", "--tables", "3,7", "--jobs", "2", "--checkpoint-every", "0.001"]
    places = ["--store", str(store), "--out", str(store.parent / f"{store.name}-report")]
    return subprocess.Popen(
        [sys.executable, "-m", "fedrepro", "run", "cpcfl", *given, *places],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        preexec_fn=limit,
    )


def finish(store: Path) -> str:
    """Trains what is missing; what was said."""
    driver = start(store)
    said = driver.communicate()[1]
    assert driver.returncode == 0, said
    return said


def numbers(root: Path) -> dict[tuple[str, int], Any]:
    """All that the trials of a store gave, and checksums of their arrays; not when and how long."""
    damage: list[str] = []
    store = Store(root, warn=damage.append)
    found = {
        (record.run, record.seed): (record.metrics, record.counts, record.arrays, record.encoder)
        for record in store.records()
    }
    assert damage == []
    return found


def records(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("trials/*/*.json")}


def workers_of(driver: int) -> list[int]:
    children = Path(f"/proc/{driver}/task/{driver}/children").read_text().split()
    return [pid for pid in map(int, children) if b"spawn_main" in _command(pid)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], Any]:
    """What a run gives that nobody disturbs."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    finish(store)
    return numbers(store)


def kill(store: Path, draw: random.Random, most: int) -> tuple[list[str], str]:
    """Kills workers of one driver at random moments, and at last the driver; all that was said.

    most: kills.
    """
    driver, killed = start(store), list[str]()
    assert driver.stderr is not None
    first = driver.stderr.readline()
    assert "trials to train" in first, driver.communicate()
    while len(killed) < most and killed[-1:] != ["driver"]:
        time.sleep(draw.uniform(0.0, LONGEST_S))
        if driver.poll() is not None:
            break
        workers = workers_of(driver.pid)
        if workers and draw.random() < 0.5:
            os.kill(draw.choice(workers), signal.SIGKILL)
            killed.append("worker")
        else:
            driver.kill()
            killed.append("driver")
    return killed, first + driver.communicate()[1]


def test_forty_kills_leave_no_trace(
    undisturbed: dict[tuple[str, int], Any],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    draw, kills, went_on, stores = random.Random(0), Counter[str](), 0, 0
    while kills.total() < KILLS:
        store, kept = tmp_path / str(stores), dict[str, bytes]()
        stores += 1
        while kills.total() < KILLS and len(kept) < len(undisturbed):
            killed, said = kill(store, draw, KILLS - kills.total())
            assert not {"Traceback", "damaged", "ERROR"} & set(said.replace(":", " ").split())
            kills.update(killed)
            went_on += said.count("goes on from")
            now = records(store)
            assert {name: now.get(name) for name in kept} == kept  # nothing finished is lost
            kept = now
        went_on += finish(store).count("goes on from")
        assert numbers(store) == undisturbed
        assert list((store / "checkpoints").glob("*.checkpoint")) == []
        assert f"{len(undisturbed)} reused" in finish(store)
    record_property("kills", dict(kills))
    record_property("stores", stores)
    record_property("trials that went on from a checkpoint", went_on)


def test_a_full_disk_is_one_line_and_damages_nothing(
    undisturbed: dict[tuple[str, int], Any], tmp_path: Path
) -> None:
    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    driver = start(tmp_path / "store", limit=small_files)
    said = driver.communicate()[1]
    assert driver.returncode == 2
    errors = [line for line in said.splitlines() if "file too large" in line]
    assert [line for line in errors if line.startswith("fedrepro")] == errors[-1:]
    assert "finished trials are kept" in errors[-1]
    assert "Traceback" not in said
    held = numbers(tmp_path / "store")
    assert {name: undisturbed[name] for name in held} == held
    finish(tmp_path / "store")
    assert numbers(tmp_path / "store") == undisturbed


def test_a_second_driver_is_turned_away_and_nothing_is_lost(
    undisturbed: dict[tuple[str, int], Any], tmp_path: Path
) -> None:
    first = start(tmp_path / "store")
    assert first.stderr is not None
    assert "trials to train" in first.stderr.readline()
    second = start(tmp_path / "store")
    said = second.communicate()[1]
    assert second.returncode == 2
    assert said.count("another fedrepro is writing") == len(said.splitlines()) == 1
    first.communicate()
    assert first.returncode == 0
    assert numbers(tmp_path / "store") == undisturbed
