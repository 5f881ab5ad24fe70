"""Killing the driver at any moment loses at most the trials in flight."""

from __future__ import annotations

import io
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.run import Execution, execute
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.files import sealed
from fedrepro.benchmark.store.store import Store

MakePaper = Callable[..., Paper]
ROWS = {
    "fedavg": {},
    "ifca": {"method": "ifca"},
    "pretrained": {"pretraining": {"method": "simclr", "shared": False}},
}
KILLS = 3
ROOT = Path(__file__).parents[2]

# Carries out the plan that is pickled on its standard input, as a driver of its own.
DRIVER = """
import io, pickle, sys
from rich.console import Console
from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.store.store import Store

if __name__ == "__main__":
    plan = pickle.load(sys.stdin.buffer)
    store, jobs = Store(sys.argv[1]), int(sys.argv[2])
    print("ready", flush=True)
    done = execute(plan, store, device="cpu", jobs=jobs, progress=Display(Console(stderr=True)))
    print(done.trained, done.reused, flush=True)
"""


@pytest.fixture
def plan(tiny_paper: MakePaper) -> Plan:
    return make_plan(tiny_paper(ROWS, trials=2), "smoke")


def carry_out(plan: Plan, store: Store) -> Execution:
    progress = Display(Console(file=io.StringIO()))
    return execute(plan, store, device="cpu", jobs=0, progress=progress)


def numbers(store: Store) -> dict[str, object]:
    """All that a trial gave, and the bytes of its arrays; not when and how long."""
    return {
        f"{record.run}-{record.seed}": (
            record.metrics,
            record.counts,
            record.arrays,
            record.encoder,
        )
        for record in store.records()
    }


def finished(store: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in store.glob("trials/*/*.json")}


def drivers_and_workers() -> Iterator[int]:
    """Processes whose environment carries this test's mark."""
    mark = f"FEDREPRO_TEST_RESUME={os.getpid()}".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes() and int(environment.parent.name) != os.getpid():
                yield int(environment.parent.name)
        except OSError:
            continue


def start(plan: Plan, store: Path, jobs: int) -> subprocess.Popen[bytes]:
    driver = store.parent / "driver.py"
    driver.write_text(DRIVER)
    process = subprocess.Popen(
        [sys.executable, str(driver), str(store), str(jobs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "FEDREPRO_TEST_RESUME": str(os.getpid()),
        },
    )
    assert process.stdin is not None
    pickle.dump(plan, process.stdin)
    process.stdin.close()
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_killing_and_starting_again_changes_nothing_and_repeats_nothing(
    plan: Plan, tmp_path: Path
) -> None:
    undisturbed = Store(tmp_path / "undisturbed")
    trials = carry_out(plan, undisturbed).trained
    disturbed = tmp_path / "disturbed"
    moment = random.Random(0)
    kept: dict[str, bytes] = {}
    for _ in range(KILLS):
        process = start(plan, disturbed, jobs=0)
        time.sleep(moment.uniform(0.0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = finished(disturbed)
        assert {file: now.get(file) for file in kept} == kept
        kept = now
    last = carry_out(plan, Store(disturbed))
    assert (last.reused, last.trained) == (len(kept), trials - len(kept))
    assert numbers(Store(disturbed)) == numbers(undisturbed)
    now = finished(disturbed)
    assert {file: now[file] for file in kept} == kept
    again = carry_out(plan, Store(disturbed))
    assert (again.reused, again.trained) == (trials, 0)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads processes from /proc")
def test_workers_die_with_a_killed_driver(plan: Plan, tmp_path: Path) -> None:
    process = start(plan, tmp_path / "store", jobs=2)
    deadline = time.monotonic() + 60
    while len(list(drivers_and_workers())) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(list(drivers_and_workers())) >= 3
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while list(drivers_and_workers()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(drivers_and_workers()) == []


def test_an_edit_makes_results_stale_and_says_which_file(plan: Plan, tmp_path: Path) -> None:
    old = {"methods/state.py": "old", "methods/seeds.py": "same"}
    new = {"methods/state.py": "new", "methods/seeds.py": "same"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedrepro.benchmark.store.fingerprint.source_of", lambda config: old)
        trials = carry_out(plan, Store(tmp_path, lambda config: old)).trained
        patch.setattr("fedrepro.benchmark.store.fingerprint.source_of", lambda config: new)
        out = io.StringIO()
        progress = Display(Console(file=out, width=200))
        store = Store(tmp_path, lambda config: new)
        done = execute(plan, store, device="cpu", jobs=0, progress=progress)
    assert (done.reused, done.trained) == (0, trials)
    said = out.getvalue()
    assert f"stale: methods/state.py has changed since {trials} trials were made" in said
    assert "seeds.py" not in said


def test_other_data_under_the_same_name_make_results_stale(
    tiny_paper: MakePaper, tmp_path: Path
) -> None:
    own = {"pretraining": {"method": "simclr", "shared": False}}
    plan = make_plan(tiny_paper({"a": own, "b": {}}), "smoke")
    store = Store(tmp_path)
    assert carry_out(plan, store).trained == 3
    pretrained = next(run for run in plan.runs if run.stage == "pretraining")
    record = store.find(pretrained, 0)
    assert record is not None
    file = next(tmp_path.glob(f"trials/{record.run}/*.json"))
    plain = record.as_dict()
    plain["provenance"]["data"]["digits/unlabeled"]["checksum"] = "0" * 64
    file.write_bytes(sealed(plain))
    out = io.StringIO()
    progress = Display(Console(file=out, width=200))
    done = execute(plan, Store(tmp_path), device="cpu", jobs=0, progress=progress)
    # The pre-training and the run that starts from it; the other run read other images.
    assert (done.trained, done.reused) == (2, 1)
    assert "stale: digits/unlabeled has changed since 1 trial was made" in out.getvalue()
