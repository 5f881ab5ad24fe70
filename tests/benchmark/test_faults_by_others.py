"""The fault campaign, second part: processes stopped and frozen, folders and links of others.

As in `test_faults.py`, no finished trial may be lost, doubled or trained again; here no file of
anybody else's may change either.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pickle
import random
import shutil
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.execution.executors import _pool
from fedrepro.benchmark.execution.progress import Progress
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.judging.trials import load_trials
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store.store import Store
from fedrepro.methods.outcome import Outcome
from fedrepro.reports import publish
from fedrepro.reports.publish import write_report
from tests.benchmark.disturbed_runs import (
    FORK,
    Campaign,
    assert_whole,
    carry_out,
    ends_well,
    finished,
    of_group,
    start,
)
from tests.benchmark.patience import patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")

CASES = int(os.environ.get("FEDREPRO_FAULTS", "30"))
"""Of every kind; seven kinds make 210 more."""
FOREIGN_NAMES = (
    "notes.txt", "index.sqlite", "store.txt", ".hidden", "a b/c.txt", "trials.json",
    "unfinished.part", "x-seed0.json", "sub/unfinished/store.json.0123abcd.part",
)  # fmt: skip


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def put(root: Path, name: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("somebody's own")
    return path


def impatient() -> None:
    """Looks at workers often, and replaces one that was stopped for half a second."""
    _pool._LOOK_S, _pool._STOPPED_S = 0.1, 0.5


# -- kinds of faults -------------------------------------------------------------------------------


def stop_for_a_while(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGSTOP of the driver, a worker or all of them at any moment, and SIGCONT later, repeated."""
    driver = start(campaign.plan, root, jobs=2)
    for _ in range(draw.randint(1, 3)):
        time.sleep(draw.uniform(0.0, 0.6) * campaign.seconds[2])
        group = of_group(driver.pid)
        workers = [one for one in group if one != driver.pid]
        chosen = draw.choice([[driver.pid], group, workers, workers[:1]])
        for signal_ in (signal.SIGSTOP, signal.SIGCONT):
            for process in chosen:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal_)
            if signal_ == signal.SIGSTOP:
                time.sleep(draw.uniform(0.0, 0.5))
    ends_well(campaign, root, driver)


def freeze_worker(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGSTOP of a worker at any moment, for good."""
    driver = start(campaign.plan, root, jobs=2, disturb=impatient)
    time.sleep(draw.uniform(0.1, 0.9) * campaign.seconds[2])
    workers = [process for process in of_group(driver.pid) if process != driver.pid]
    if workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(draw.choice(workers), signal.SIGSTOP)
    ends_well(campaign, root, driver)
    assert of_group(driver.pid) == []


class _Halting:
    """A worker's pipe; a message of it is begun, and then the worker is stopped."""

    def __init__(self, pipe: Connection, at: int, share: float, once: Path) -> None:
        self.pipe, self.left, self.share, self.once = pipe, at, share, once

    def recv(self) -> Any:
        return self.pipe.recv()

    def send(self, message: Any) -> None:
        self.left -= 1
        if self.left == 0 and not self.once.exists():
            self.once.touch()
            content = pickle.dumps(message)
            content = struct.pack("!i", len(content)) + content
            os.write(self.pipe.fileno(), content[: 1 + int(self.share * (len(content) - 2))])
            os.kill(os.getpid(), signal.SIGSTOP)
        self.pipe.send(message)


def freeze_worker_within_a_message(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """A worker stops for good when a part of any of its messages has been sent."""
    at, share, once = draw.randint(1, 6), draw.random(), root.parent / "frozen"

    def disturb() -> None:
        impatient()
        real = _pool._work

        def work(pipe: Connection, *rest: Any) -> None:
            real(_Halting(pipe, at, share, once), *rest)  # type: ignore[arg-type]

        _pool._work = work

    ends_well(campaign, root, start(campaign.plan, root, jobs=2, disturb=disturb))


def give_a_foreign_folder(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """The store is a folder of somebody else's, also by a link, with names like a store's."""
    elsewhere = root.parent / "elsewhere"
    names = draw.sample(FOREIGN_NAMES, draw.randint(1, 4))
    folder = draw.choice(["", "", "unfinished", "trials", "trials/0123456789abcdef", "quarantine"])
    for name in names:
        put(elsewhere / folder, name)
    if draw.random() < 0.5:
        root.symlink_to(elsewhere)
    else:
        elsewhere.rename(root)
    before = contents(root)
    driver = start(campaign.plan, root, jobs=draw.choice([0, 2]))
    driver.join()
    assert driver.exitcode == 2
    assert contents(root) == before


def put_foreign_files_into_a_store(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """Files of somebody else's anywhere in a store that is half full; none is touched."""
    shutil.copytree(campaign.undisturbed, root)
    for record in draw.sample(sorted(root.glob("trials/*/*.json")), campaign.trials // 2):
        record.unlink()
    kept = finished(root)
    folders = ["", "unfinished", "trials", "errors", "quarantine", next(iter(kept)) + "/.."]
    names = draw.sample(FOREIGN_NAMES, 4)
    foreign = [put(root / os.path.normpath(draw.choice(folders)), name) for name in names]
    before = [path.read_bytes() for path in foreign]
    done = carry_out(campaign.plan, root)
    assert (done.reused, done.failed) == (len(kept), 0)
    assert [path.read_bytes() for path in foreign] == before
    for path in foreign:
        path.unlink()
    assert_whole(campaign, root, finished(root))


def swap_a_link_in(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """A folder of the store becomes a link to a foreign one at any moment; later the driver is
    killed or not, and another one comes."""
    elsewhere = root.parent / "elsewhere"
    for name in ("store.json.0123abcd.part", "notes.txt"):
        put(elsewhere, name)
    before = contents(elsewhere)
    name = draw.choice(["unfinished", "unfinished", "trials", "errors"])
    driver = start(campaign.plan, root, jobs=draw.choice([0, 2]))
    time.sleep(draw.uniform(0.1, 0.9) * campaign.seconds[0])
    swapped = False
    with contextlib.suppress(FileNotFoundError, FileExistsError):
        (root / name).rename(root.parent / "aside")
        (root / name).symlink_to(elsewhere)
        swapped = True
    if draw.random() < 0.5:
        driver.kill()
    driver.join()
    assert driver.exitcode in (0, 2, -signal.SIGKILL)
    while of_group(driver.pid):  # workers that are forked here hold the lock as well
        time.sleep(0.01)
    if swapped:
        second = start(campaign.plan, root)
        second.join()
        assert second.exitcode == 2
        (root / name).unlink()
    assert contents(elsewhere) == before
    if (root.parent / "aside").exists():
        shutil.rmtree(root / name, ignore_errors=True)
        (root.parent / "aside").rename(root / name)
    assert_whole(campaign, root, finished(root))


def write_two_reports_at_once(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """Two processes write reports into one folder while others read; one may be killed."""
    plan, folder = campaign.plan, root / "report"
    sound = judge(plan, load_trials(plan, Store(campaign.undisturbed)), command="", audit=False)
    titles = ["paper-first", "paper-second"]
    writers = [
        FORK.Process(target=_write_often, args=(replace(sound, title=title), folder, draw.random()))
        for title in titles
    ]
    for writer in writers:
        writer.start()
    killed = draw.random() < 0.4
    deadline = time.monotonic() + draw.uniform(0.0, 1.5)
    while any(writer.is_alive() for writer in writers):
        if killed and time.monotonic() > deadline:
            writers[0].kill()
        with contextlib.suppress(FileNotFoundError):  # before the first one is there
            assert json.loads((folder / "report.json").read_text("utf-8"))["title"] in titles
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] in ([0, 0], [-signal.SIGKILL, 0])
    found = {name: (folder / name).read_text("utf-8") for name in publish.names()}
    assert all(any(title in text for title in titles) for text in found.values())
    assert found["report.html"].rstrip().endswith("</html>")


def _write_often(report: Report, folder: Path, pause: float) -> None:
    for _ in range(2):
        time.sleep(pause * 0.2)
        write_report([report], folder)


KINDS = [
    stop_for_a_while,
    freeze_worker,
    freeze_worker_within_a_message,
    give_a_foreign_folder,
    put_foreign_files_into_a_store,
    swap_a_link_in,
    write_two_reports_at_once,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_fault_by_others_of_each_kind_changes_nothing(
    campaign: Campaign, tmp_path: Path, kind: Callable[..., None]
) -> None:
    with patience(300):
        kind(campaign, tmp_path / "store", random.Random(0))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("seed", range(1, CASES + 1))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_faults_by_others_at_random_moments_change_nothing(
    campaign: Campaign, tmp_path: Path, kind: Callable[..., None], seed: int
) -> None:
    with patience(300):
        kind(campaign, tmp_path / "store", random.Random(f"{kind.__name__} {seed}"))


def test_a_trial_that_vanishes_before_another_starts_from_it_is_one_line(
    campaign: Campaign, tmp_path: Path
) -> None:
    class Removing(Progress):
        def started(self, name: tuple[str, int], label: str, seconds: float) -> None:
            if finished(tmp_path / "store"):
                shutil.rmtree(tmp_path / "store" / "trials")
            super().started(name, label, seconds)

    progress = Removing(Console(file=io.StringIO()))
    with pytest.raises(StoreError, match="is gone from the store; run again"):
        execute(campaign.plan, Store(tmp_path / "store"), device="cpu", jobs=0, progress=progress)


@pytest.mark.parametrize("name", ["unfinished", "trials"])
def test_nothing_is_written_through_a_link_that_comes_while_a_store_is_open(
    tiny_config: Callable[..., RunConfig], outcome: Outcome, tmp_path: Path, name: str
) -> None:
    config, store = tiny_config(), Store(tmp_path / "store")
    put(tmp_path / "elsewhere", "notes.txt")
    with store.writing():
        store.save(config, 0, outcome, {"device": "d", "wall_s": 1.0, "started": "now"})
        (store.root / name).rename(tmp_path / "aside")
        (store.root / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match=f"{name} is a symbolic link"):
            store.save(config, 1, outcome, {"device": "d", "wall_s": 1.0, "started": "now"})
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["notes.txt"]
