"""How a driver ends, and what makes finished trials stale; `test_kills.py` kills by the dozen."""

import io
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.store.files import sealed
from fedrepro.benchmark.store.store import Store, checkpoint_path
from tests.benchmark.runs import carry_out
from tests.benchmark.small_papers import OWN, ROWS, MakePaper


@pytest.fixture
def plan(tiny_paper: MakePaper) -> Plan:
    return make_plan(tiny_paper(ROWS, trials=2), "smoke")


def _drive(plan: Plan, root: Path) -> None:
    carry_out(plan, Store(root), jobs=1)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="reads processes from /proc")
def test_workers_die_with_a_killed_driver(plan: Plan, tmp_path: Path) -> None:
    # Forked, as importing torch takes seconds.
    context, args = multiprocessing.get_context("fork"), (plan, tmp_path / "store")
    driver = context.Process(target=_drive, args=args)
    driver.start()
    children = Path(f"/proc/{driver.pid}/task/{driver.pid}/children")
    while not (worker := children.read_text().split()):
        time.sleep(0.05)
    while not list((tmp_path / "store").glob("trials/*/*.json")) and driver.is_alive():
        time.sleep(0.05)
    driver.kill()
    driver.join()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{one}").exists() for one in worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{one}").exists() for one in worker)


def test_a_checkpoint_left_of_a_finished_trial_is_removed(plan: Plan, tmp_path: Path) -> None:
    carry_out(plan, Store(tmp_path))
    run, seed = next(iter(plan.trials_to_run()))
    left = checkpoint_path(tmp_path, run.key, seed)
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(b"of a driver that was killed between its record and this file")
    assert carry_out(plan, Store(tmp_path)).trained == 0
    assert not left.exists()


def test_an_edit_makes_results_stale_and_says_which_file(plan: Plan, tmp_path: Path) -> None:
    old = {"methods/state.py": "old", "methods/seeds.py": "same"}
    new = {"methods/state.py": "new", "methods/seeds.py": "same"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedrepro.benchmark.store.fingerprint.source_of", lambda config: old)
        trials = carry_out(plan, Store(tmp_path, lambda config: old)).trained
        patch.setattr("fedrepro.benchmark.store.fingerprint.source_of", lambda config: new)
        done = carry_out(plan, Store(tmp_path, lambda config: new), said := io.StringIO())
    assert (done.reused, done.trained) == (0, trials)
    told = f"stale: methods/state.py has changed since {trials} trials were made"
    assert told in said.getvalue()
    assert "seeds.py" not in said.getvalue()


def test_other_data_of_one_name_make_results_stale(tiny_paper: MakePaper, tmp_path: Path) -> None:
    plan = make_plan(tiny_paper({"a": OWN, "b": {}}), "smoke")
    store = Store(tmp_path)
    assert carry_out(plan, store).trained == 3
    pretrained = next(run for run in plan.runs if run.stage == "pretraining")
    record = store.find(pretrained, 0)
    assert record is not None
    file = next(tmp_path.glob(f"trials/{record.run}/*.json"))
    plain = record.as_dict()
    plain["provenance"]["data"]["digits/unlabeled"]["checksum"] = "0" * 64
    file.write_bytes(sealed(plain))
    done = carry_out(plan, Store(tmp_path), out := io.StringIO())
    # The pre-training and the run that starts from it; the other run read other images.
    assert (done.trained, done.reused) == (2, 1)
    assert "stale: digits/unlabeled has changed since 1 trial was made" in out.getvalue()


@pytest.mark.parametrize(("jobs", "signals", "code"), [(1, (2, 2), 130), (0, (15,), 143)])
def test_signals_end_a_run_in_one_line(
    tmp_path: Path, jobs: int, signals: tuple[int, ...], code: int
) -> None:
    where = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "fedrepro", "run", "cpcfl", "--profile", "smoke", *where]
    process = subprocess.Popen([*command, "--jobs", str(jobs)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "trials to train" not in process.stderr.readline():
        assert process.poll() is None
    for number in signals:
        process.send_signal(number)
        time.sleep(0.01)
    *shown, last = process.stderr.read().splitlines()
    assert process.wait() == code
    assert (
        last == "fedrepro: interrupted; finished trials are stored, and the same command continues"
    )
    assert not any("Traceback" in line for line in shown)
