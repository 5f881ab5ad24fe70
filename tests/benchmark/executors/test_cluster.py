import io
import multiprocessing
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.executors import ExecutorOptions
from fedrepro.benchmark.execution.jobs import Done, Failed, Job
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.store.store import Store
from tests.benchmark.executors.test_local import ENDLESS, Heard
from tests.benchmark.runs import carry_out, numbers
from tests.benchmark.small_papers import ROWS, Make, MakePaper

parsl = pytest.importorskip("fedrepro.benchmark.execution.executors.parsl")
pytestmark = [pytest.mark.slow, pytest.mark.cluster]

PATIENCE_S = 300  # for what takes seconds on a machine of its own


@pytest.fixture
def two_workers(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.toml"
    file.write_text(
        f'provider = "local"\nworkers_per_node = 2\nfolder = "{tmp_path / "cluster"}"\n'
        'address = "127.0.0.1"\nheartbeat_s = 8\n'
    )
    return file


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """What the environment of this test's processes carries, and of no others."""
    monkeypatch.setenv("FEDREPRO_TEST_CLUSTER", str(os.getpid()))
    return f"FEDREPRO_TEST_CLUSTER={os.getpid()}".encode()


def of_the_cluster(mark: bytes) -> Iterator[tuple[int, bytes]]:
    """Processes with this mark, but for this one, and their command lines."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes() and int(process.name) != os.getpid():
                yield int(process.name), (process / "cmdline").read_bytes()
        except OSError:
            continue


def test_one_process_and_a_cluster_fill_the_same_store(
    tiny_paper: MakePaper, tmp_path: Path, two_workers: Path
) -> None:
    plan = make_plan(tiny_paper(ROWS, trials=2), "smoke")
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    one, cluster = carry_out(plan, here), carry_out(plan, there, cluster=two_workers)
    assert one.trained == cluster.trained == len(numbers(here)) == len(plan.trials_to_run())
    assert numbers(there) == numbers(here)
    again = carry_out(plan, there, cluster=two_workers)
    assert (again.trained, again.reused) == (0, one.trained)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ('python = "/nowhere/python"\n', "workers of the cluster do not start: .*nowhere/python"),
        ('start_s = 1\n[options]\nworker_init = "exit 0"\n', "no node came|failed to register"),
    ],
)
def test_a_cluster_that_does_not_start_says_so_and_ends(
    tiny_config: Make, two_workers: Path, monkeypatch: pytest.MonkeyPatch, broken: str, said: str
) -> None:
    monkeypatch.setattr(parsl, "_SILENCE_S", 0.5)
    with two_workers.open("a") as file:
        file.write(broken)
    executor = parsl.ParslExecutor(ExecutorOptions(None, "cpu", None, two_workers))
    with pytest.raises(FedreproError, match=said):
        executor.train(Heard([Job(tiny_config(), 0)]))


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds workers in /proc")
def test_a_worker_lost_in_the_middle_of_a_trial_costs_nothing(
    tiny_config: Make, two_workers: Path, mark: bytes
) -> None:
    killed = list[int]()
    jobs = [Job(tiny_config({"training": {"rounds": 1500}}), seed) for seed in range(3)]

    def kill_one_that_trains() -> None:
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            for process, command in of_the_cluster(mark):
                # More than it takes to import torch.
                if b"spawn_main" in command and _cpu_seconds(process) > 7.0:
                    os.kill(process, signal.SIGKILL)
                    killed.append(process)
                    break
            time.sleep(0.05)

    killer = threading.Thread(target=kill_one_that_trains)
    killer.start()
    heard = Heard(jobs)
    parsl.ParslExecutor(ExecutorOptions(None, "cpu", None, two_workers)).train(heard)
    killer.join()
    assert len(killed) == 1
    assert len(heard.starts) == len(jobs) + 1
    assert heard.results.keys() == {job.name for job in jobs}
    assert all(isinstance(result, Done) for result in heard.results.values())


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_hung_trial_is_ended_at_its_limit_and_the_next_goes_on(
    tiny_config: Make, two_workers: Path
) -> None:
    hung = Job(tiny_config(ENDLESS), 0, limit_s=3.0)
    after = Job(tiny_config(), 0)
    executor = parsl.ParslExecutor(ExecutorOptions(None, "cpu", None, two_workers))
    executor.train(heard := Heard([hung, after]))
    ended = heard.results[hung.name]
    assert isinstance(ended, Failed)
    assert "longer than its limit of 3 s" in ended.message
    assert isinstance(heard.results[after.name], Done)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds workers in /proc")
def test_a_killed_driver_leaves_no_process_behind_and_the_next_goes_on(
    tiny_paper: MakePaper, tmp_path: Path, two_workers: Path, mark: bytes
) -> None:
    plan = make_plan(tiny_paper({"a": {"training": {"rounds": 300}}}, trials=3), "smoke")
    root = tmp_path / "store"
    driver = multiprocessing.get_context("spawn").Process(
        target=_drive, args=(plan, root, two_workers)
    )
    driver.start()
    deadline = time.monotonic() + PATIENCE_S
    while not list(root.glob("trials/*/*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    driver.kill()
    driver.join()
    kept = len(list(root.glob("trials/*/*.json")))
    deadline = time.monotonic() + PATIENCE_S
    while _parsl(mark) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert _parsl(mark) == []
    last = carry_out(plan, Store(root), cluster=two_workers)
    assert (last.reused, last.trained) == (kept, 3 - kept)
    assert kept >= 1


def _drive(plan: Plan, root: Path, cluster: Path) -> None:
    carry_out(plan, Store(root), cluster=cluster)


def _parsl(mark: bytes) -> list[bytes]:
    return [command for _, command in of_the_cluster(mark) if b"parsl" in command]


def _nodes() -> str:
    if shutil.which("sinfo") is None:
        return ""
    asked = ["sinfo", "--noheader", "--states=idle,mixed,allocated", "--format=%n"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


@pytest.fixture
def slurm(tmp_path: Path) -> Path:
    file = tmp_path / "cluster.toml"
    checkout = Path(__file__).parents[3]
    file.write_text(
        f'provider = "slurm"\nworkers_per_node = 2\nfolder = "{tmp_path / "cluster"}"\n'
        f'heartbeat_s = 8\n[options]\nwalltime = "00:10:00"\nexclusive = false\n'
        f"worker_init = \"export PYTHONPATH='{checkout}'\"\n"
    )
    return file


@pytest.mark.skipif(not _nodes(), reason="no SLURM with a usable node")
def test_a_batch_job_that_is_cancelled_costs_nothing_and_the_store_is_the_same(
    tiny_paper: MakePaper, tmp_path: Path, slurm: Path
) -> None:
    plan = make_plan(tiny_paper({"a": {"training": {"rounds": 300}}}, trials=6), "smoke")
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    carry_out(plan, here, jobs=2)
    cancelled: list[str] = []

    class Cancelling(Display):
        """Cancels the batch job as soon as a trial has come back from it."""

        def ended(self, name: tuple[str, int], failed: bool) -> None:
            super().ended(name, failed)
            if not cancelled:
                cancelled.extend(_jobs())
                subprocess.run(["scancel", *cancelled], check=True)

    progress = Cancelling(Console(file=io.StringIO()))
    done = execute(plan, there, device="cpu", progress=progress, cluster=slurm)
    assert len(cancelled) == 1
    assert done.trained == 6
    assert numbers(there) == numbers(here)
    deadline = time.monotonic() + PATIENCE_S
    while _jobs() and time.monotonic() < deadline:
        time.sleep(0.5)
    assert _jobs() == []


def _jobs() -> list[str]:
    asked = ["squeue", "--me", "--noheader", "--format=%i %j"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    jobs = map(str.split, found.splitlines())
    return [id for id, name in jobs if name.startswith("parsl.fedrepro")]
