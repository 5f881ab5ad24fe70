"""The fault campaign: whatever is killed, refused or damaged, and whenever, the store ends as that
of an undisturbed run, and no finished trial is lost, doubled or trained again.

Every case is drawn from a seed, which is in the name of the test; moments are shares of the time
that an undisturbed run takes, so a slower machine disturbs at the same places.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.store import store as store_module
from tests.benchmark.disturbed_runs import (
    Campaign,
    assert_whole,
    ends_well,
    finished,
    of_group,
    start,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks, and reads /proc")

CASES = int(os.environ.get("FEDREPRO_FAULTS", "30"))
"""Of every kind; seven kinds make 210."""

# -- kinds of faults -----------------------------------------------------------------------------


def kill_driver(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGKILL at any moment, several times."""
    kept: dict[str, bytes] = {}
    for _ in range(draw.randint(1, 3)):
        driver = start(campaign.plan, root)
        time.sleep(draw.uniform(0.0, 1.1) * campaign.seconds[0])
        driver.kill()
        driver.join()
        now = finished(root)
        assert {file: now.get(file) for file in kept} == kept
        kept = now
    assert_whole(campaign, root, kept)


def kill_driver_with_workers(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGKILL at any moment; its workers end by themselves."""
    driver = start(campaign.plan, root, jobs=2)
    time.sleep(draw.uniform(0.0, 1.1) * campaign.seconds[2])
    driver.kill()
    driver.join()
    deadline = time.monotonic() + 60
    while of_group(driver.pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert of_group(driver.pid) == []
    assert_whole(campaign, root, finished(root))


def kill_worker(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGKILL of one of two workers at any moment; the driver goes on and ends well."""
    driver = start(campaign.plan, root, jobs=2)
    time.sleep(draw.uniform(0.1, 0.9) * campaign.seconds[2])
    workers = [process for process in of_group(driver.pid) if process != driver.pid]
    if workers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(draw.choice(workers), signal.SIGKILL)
    ends_well(campaign, root, driver)


def kill_at_a_file_operation(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """SIGKILL just before, or in the middle of, any operation on a file of the store."""
    at, half = draw.randint(1, 90), draw.random() < 0.3

    def disturb() -> None:
        def die(*args: Any) -> None:
            if half and args and isinstance(args[0], Path) and len(args) > 2:
                _, content, aside = args[:3]
                aside.mkdir(exist_ok=True)
                (aside / "store.json.0123abcd.part").write_bytes(content[: len(content) // 2])
            os.kill(os.getpid(), signal.SIGKILL)

        _on_operation(at, die, whole_files=half)

    driver = start(campaign.plan, root, disturb=disturb)
    driver.join()
    assert driver.exitcode in (0, -signal.SIGKILL)
    assert_whole(campaign, root, finished(root))


def refuse_a_file_operation(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """The disk is full, broken or read-only, once or from then on."""
    at, for_good = draw.randint(1, 90), draw.random() < 0.5
    code = draw.choice([errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])

    def disturb() -> None:
        def refuse(*args: Any) -> None:
            raise OSError(code, os.strerror(code))

        _on_operation(at, refuse, for_good=for_good)

    driver = start(campaign.plan, root, disturb=disturb)
    driver.join()
    assert driver.exitcode in (0, 2)
    assert_whole(campaign, root, finished(root))


def damage_a_file(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """A finished store in which one file is cut, changed in one bit, emptied or gone."""
    shutil.copytree(campaign.undisturbed, root)
    kept = finished(root)
    file = draw.choice(sorted(path for path in root.rglob("*") if path.is_file()))
    trial = "trials" in file.parts
    content = file.read_bytes()
    how = draw.choice(["cut", "bit", "empty", "gone"])
    if not content or (file.name == "store.json" and how == "bit"):
        how = "empty"  # a bit can make a store that of a newer version, which is refused
    if how == "gone":
        file.unlink()
        if file.suffix == ".json" and trial:
            assert_whole(campaign, root, {f: c for f, c in kept.items() if f != str(file)})
            return
    elif how == "bit":
        at = draw.randrange(len(content))
        changed = bytes([content[at] ^ (1 << draw.randrange(8))])
        file.write_bytes(content[:at] + changed + content[at + 1 :])
    else:
        file.write_bytes(content[: draw.randrange(len(content)) if how == "cut" else 0])
    assert_whole(campaign, root, kept, damaged=int(trial))


def start_another_driver(campaign: Campaign, root: Path, draw: random.Random) -> None:
    """Two drivers on one store: one of them is turned away, or comes when all is done."""
    first = start(campaign.plan, root)
    time.sleep(draw.uniform(0.0, 0.9) * campaign.seconds[0])
    second = start(campaign.plan, root, jobs=draw.choice([0, 2]))
    first.join()
    second.join()
    assert sorted([first.exitcode, second.exitcode]) in ([0, 0], [0, 2])
    kept = finished(root)
    assert len(kept) == campaign.trials
    assert_whole(campaign, root, kept)


KINDS = [
    kill_driver,
    kill_driver_with_workers,
    kill_worker,
    kill_at_a_file_operation,
    refuse_a_file_operation,
    damage_a_file,
    start_another_driver,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_fault_of_each_kind_changes_nothing(
    campaign: Campaign, tmp_path: Path, kind: Callable[..., None]
) -> None:
    kind(campaign, tmp_path / "store", random.Random(0))


@pytest.mark.slow
@pytest.mark.faults
@pytest.mark.parametrize("seed", range(1, CASES + 1))
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_faults_at_random_moments_change_nothing(
    campaign: Campaign, tmp_path: Path, kind: Callable[..., None], seed: int
) -> None:
    kind(campaign, tmp_path / "store", random.Random(f"{kind.__name__} {seed}"))


# -- how they are brought about ------------------------------------------------------------------


def _on_operation(
    at: int, then: Callable[..., None], *, for_good: bool = False, whole_files: bool = False
) -> None:
    """Calls `then` in place of the operation number `at` on files of the store in this process.

    whole_files: counts files written, `then` gets what was to be written; else every operation.
    """
    count = 0

    def disturbed(real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **kwargs: Any) -> Any:
            nonlocal count
            count += 1
            if count == at or (for_good and count > at):
                then(*args)
            return real(*args, **kwargs)

        return operation

    if whole_files:
        store_module.write_whole = disturbed(store_module.write_whole)  # type: ignore[attr-defined]
        return
    for name in ("open", "replace", "mkdir", "unlink", "read_text", "read_bytes"):
        setattr(Path, name, disturbed(getattr(Path, name)))
    os.fsync = disturbed(os.fsync)  # type: ignore[assignment]
