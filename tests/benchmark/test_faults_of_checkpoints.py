"""The fault campaign, third part: what happens to trials that save themselves while they train.

Processes are killed, stopped for good, or refused by the disk in the middle of a checkpoint; and
what lies in a checkpoint's place may be anything. As in `test_faults.py`, the store ends as that of
an undisturbed run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.store import checkpoints
from fedrepro.methods import checkpoint
from tests.benchmark import awkward
from tests.benchmark.disturbed_runs import (
    Campaign,
    assert_whole,
    carry_out,
    ends_well,
    finished,
    of_group,
    start,
)
from tests.benchmark.patience import patience
from tests.benchmark.test_faults_by_others import impatient

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")

CASES = int(os.environ.get("FEDREPRO_FAULTS", "30"))
"""Of every kind; five kinds make 150 more."""
ALWAYS_S = 1e-9
Content = bytes | Iterable[bytes]


def on_checkpoint(
    at: int, then: Callable[[], object], once: Path | None = None, *, again: bool = False
) -> None:
    """In this process, and those forked from it, `then` is called in the middle of a checkpoint.

    at: which one of a process. once: made when it is called, and then it is not called again.
    again: counts only those of trials that have saved themselves before.
    """
    checkpoint._SHARE = 0.0  # saves wherever it can, however long that takes
    real, count = checkpoints.write_whole, 0

    def halted(content: Content) -> Iterable[bytes]:
        parts = [content] if isinstance(content, bytes) else list(content)
        for part in parts[: len(parts) // 2 + 1]:
            yield part[: len(part) // 2 + 1]
        if once is not None:
            once.touch()
        then()
        raise AssertionError("goes on after a fault")

    def write(path: Path, content: Content, aside: Path | None = None) -> None:
        nonlocal count
        count += not again or path.exists()
        due = count == at if once is not None else count >= at
        if due and (once is None or not once.exists()):
            content = halted(content)
        real(path, content, aside)

    checkpoints.write_whole = write


def nothing_is_left(root: Path) -> None:
    assert [path.name for path in root.glob("checkpoints/*.checkpoint")] == []
    assert list(root.glob("unfinished/*")) == []


# -- kinds of faults -------------------------------------------------------------------------------


def kill_within_a_checkpoint(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGKILL of a driver that trains, or of a worker, when half of a checkpoint is written."""
    at, once, jobs = draw.randint(1, 5), root.parent / "killed", draw.choice([0, 2])

    def disturb() -> None:
        on_checkpoint(at, lambda: os.kill(os.getpid(), signal.SIGKILL), once)

    driver = start(campaign.plan, root, jobs, disturb, campaign.every)
    driver.join()
    assert driver.exitcode == (0 if jobs or not once.exists() else -signal.SIGKILL)
    assert_whole(campaign, root, finished(root))
    nothing_is_left(root)


def stop_within_a_checkpoint(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """A worker is stopped for good when half of a checkpoint is written: another one goes on."""
    at, once = draw.randint(1, 5), root.parent / "stopped"

    def disturb() -> None:
        impatient()
        on_checkpoint(at, lambda: os.kill(os.getpid(), signal.SIGSTOP), once)

    driver = start(campaign.plan, root, 2, disturb, campaign.every)
    ends_well(campaign, root, driver)
    assert of_group(driver.pid) == []
    nothing_is_left(root)


def fill_the_disk_within_a_checkpoint(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """The disk refuses in the middle of a checkpoint, once or from then on: no trial is lost."""
    at, code = draw.randint(1, 5), draw.choice([errno.ENOSPC, errno.EIO, errno.EDQUOT])
    once = root.parent / "full" if draw.random() < 0.5 else None

    def refuse() -> None:
        raise OSError(code, os.strerror(code))

    driver = start(
        campaign.plan, root, draw.choice([0, 2]), lambda: on_checkpoint(at, refuse, once),
        campaign.every,
    )  # fmt: skip
    ends_well(campaign, root, driver)
    nothing_is_left(root)


def interrupted(campaign: Campaign, root: Path, draw: random.Random) -> Path:
    """The checkpoint of a trial whose driver was killed while it saved itself again."""
    driver = start(
        campaign.plan, root, 0,
        lambda: on_checkpoint(
            1, lambda: os.kill(os.getpid(), signal.SIGKILL), root.parent / "x", again=True
        ),
        campaign.every,
    )  # fmt: skip
    driver.join()
    found = sorted(root.glob("checkpoints/*.checkpoint"))
    assert driver.exitcode == -signal.SIGKILL
    assert len(found) == 1
    return found[0]


def resealed(content: bytes, old: bytes, new: bytes) -> bytes:
    body = content[:-64].replace(old, new.ljust(len(old)), 1)
    return body + hashlib.sha256(body).hexdigest().encode()


PLACED: tuple[awkward.Make, ...] = (
    awkward.file, awkward.broken_text, awkward.nested_text, awkward.folder, awkward.foreign_folder,
    awkward.pipe, awkward.dangling_link, awkward.loop_of_links, awkward.link_to_a_file,
    awkward.link_to_a_foreign_folder, awkward.null_device, awkward.socket_, awkward.huge_file,
)  # fmt: skip


def put_something_in_a_checkpoint_s_place(
    campaign: Campaign, root: Path, draw: random.Random
) -> None:
    """A pipe, a link, a folder, a huge or foreign file lies where the trial would go on."""
    path, aside = interrupted(campaign, root, draw), root.parent / "aside"
    aside.mkdir()
    path.unlink()
    Path(draw.choice(PLACED)(aside)).rename(path)
    before = {one: one.read_bytes() for one in aside.rglob("*") if one.is_file()}
    kept = finished(root)
    done = carry_out(campaign.plan, root, draw.choice([0, 2]), campaign.every)
    assert (done.reused, done.failed) == (len(kept), 0)
    assert {one: one.read_bytes() for one in before} == before
    nothing_is_left(root)
    shutil.rmtree(root / "quarantine", ignore_errors=True)
    assert_whole(campaign, root, finished(root))


def damage_a_checkpoint(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """A checkpoint that was cut or changed, or of another trial, code, device or version."""
    path = interrupted(campaign, root, draw)
    content = path.read_bytes()
    how = draw.choice(["cut", "bit", "source", "run", "device", "versions", "seal"])
    if how == "cut":
        content = content[: draw.randrange(len(content))]
    elif how == "bit":
        at = draw.randrange(len(content))
        content = content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]
    elif how == "seal":
        content = content[:-64] + b"0" * 64
    else:
        old = f'"{how}": '.encode()
        content = resealed(content, old, f'"{how[:-1]}": '.encode())
    path.write_bytes(content)
    done = carry_out(campaign.plan, root, draw.choice([0, 2]), campaign.every)
    assert done.failed == 0
    assert (root / "quarantine" / "checkpoints" / path.name).is_file()
    nothing_is_left(root)
    shutil.rmtree(root / "quarantine")
    assert_whole(campaign, root, finished(root))


KINDS: list[Callable[..., Any]] = [
    kill_within_a_checkpoint,
    stop_within_a_checkpoint,
    fill_the_disk_within_a_checkpoint,
    put_something_in_a_checkpoint_s_place,
    damage_a_checkpoint,
]


@pytest.fixture
def saving(campaign: Campaign) -> Campaign:
    return replace(campaign, every=ALWAYS_S)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_fault_of_each_kind_at_a_checkpoint_changes_nothing(
    saving: Campaign, tmp_path: Path, kind: Callable[..., None]
) -> None:
    with patience(300):
        kind(saving, tmp_path / "store", random.Random(0))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("seed", range(1, CASES + 1))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_faults_of_checkpoints_at_random_moments_change_nothing(
    saving: Campaign, tmp_path: Path, kind: Callable[..., None], seed: int
) -> None:
    with patience(300):
        kind(saving, tmp_path / "store", random.Random(f"{kind.__name__} {seed}"))
