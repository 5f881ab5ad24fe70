import io
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError, is_out_of_memory
from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.executors import ExecutorOptions, _work, local
from fedrepro.benchmark.execution.executors.local import LocalExecutor
from fedrepro.benchmark.execution.jobs import (
    ATTEMPTS,
    Dispatch,
    Done,
    Execution,
    Failed,
    Job,
    Result,
)
from fedrepro.benchmark.execution.run import _limit
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from tests.benchmark.runs import carry_out, numbers, quiet
from tests.benchmark.small_papers import OWN, Make, MakePaper

LONG = {"training": {"rounds": 2000}}
ENDLESS = {"training": {"rounds": 10**6}}


class Heard(Dispatch):
    """Keeps what a pool says; `on_advance` may interfere."""

    def __init__(
        self, jobs: list[Job], on_advance: Callable[[Job], None] = lambda job: None
    ) -> None:
        self.results: dict[tuple[str, int], Result] = {}
        self.starts: list[tuple[str, int]] = []
        shown, by_name = quiet(), {job.name: job for job in jobs}
        shown.started = lambda name, label: self.starts.append(name)  # type: ignore[method-assign]
        shown.advanced = lambda name, *done: on_advance(by_name[name])  # type: ignore[method-assign]
        super().__init__(jobs, shown, Store("nothing"), Execution())

    def keep(self, job: Job, result: Result) -> bool:
        assert job.name not in self.results
        self.results[job.name] = result
        return isinstance(result, Done)


def train(jobs: list[Job], workers: int, *on_advance: Callable[[Job], None]) -> Heard:
    heard = Heard(jobs, *on_advance)
    LocalExecutor(ExecutorOptions(None, "cpu", workers)).train(heard)
    return heard


def carried_out(paper: Paper, store: Store, **options: Any) -> tuple[Execution, str]:
    done = carry_out(make_plan(paper, "smoke"), store, said := io.StringIO(), **options)
    return done, said.getvalue()


def test_jobs_come_in_order_but_after_what_they_need(tiny_config: Make) -> None:
    later = tiny_config(OWN)
    assert later.init_from is not None
    second, other, first = Job(later, 0), Job(tiny_config(), 0), Job(later.init_from, 0)
    jobs = Heard([second, other, first])
    assert [jobs.next(), jobs.next(), jobs.next()] == [other, first, None]
    jobs.put_back(first)
    jobs.put_back(other)
    assert [jobs.next(), jobs.next()] == [other, first]
    jobs.settle(first, Done(None, {}, ""))  # type: ignore[arg-type]
    assert [jobs.next(), jobs.next()] == [second, None]


def test_workers_give_the_numbers_of_this_process(tiny_paper: MakePaper, tmp_path: Path) -> None:
    paper = tiny_paper({"a": {}, "b": OWN}, trials=2)
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    assert carried_out(paper, here)[0].trained == 6
    assert carried_out(paper, there, jobs=2)[0].trained == 6
    assert numbers(here) == numbers(there)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forked: a spawned one takes seconds to import torch."""
    fork = multiprocessing.get_context("fork")
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: fork)


def kill_workers(job: Job) -> None:
    for child in multiprocessing.active_children():
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)


@pytest.mark.usefixtures("forked")
def test_a_killed_worker_loses_one_trial_which_is_tried_once_more(tiny_config: Make) -> None:
    killed = list[Job]()
    long, short = Job(tiny_config({"training": {"rounds": 300}}), 0), Job(tiny_config(), 0)

    def kill_once(job: Job) -> None:
        if not killed and job == long:
            killed.append(job)
            kill_workers(job)

    heard = train([long, short], 1, kill_once)
    assert heard.starts == [long.name, long.name, short.name]
    assert all(isinstance(result, Done) for result in heard.results.values())


@pytest.mark.usefixtures("forked")
def test_a_worker_that_is_killed_again_and_again_fails_its_trial(tiny_config: Make) -> None:
    job = Job(tiny_config(LONG), 0)
    heard = train([job], 1, kill_workers)
    result = heard.results[job.name]
    assert isinstance(result, Failed)
    assert "killed 2 times (exit code -9" in result.message
    assert heard.starts == [job.name] * ATTEMPTS


@pytest.mark.usefixtures("forked")
def test_an_interrupt_ends_the_workers_at_once(tiny_config: Make) -> None:
    def interrupt(job: Job) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        train([Job(tiny_config(ENDLESS), 0)], 1, interrupt)
    assert multiprocessing.active_children() == []
    assert time.monotonic() - began < 60


def test_failures_are_noted_retried_and_no_results(tiny_paper: MakePaper, tmp_path: Path) -> None:
    diverging = {"training": {"learning_rate": 1e38, "optimizer": "sgd"}}
    paper, store = tiny_paper({"a": diverging, "b": {}}), Store(tmp_path)
    for _ in range(2):
        done, said = carried_out(paper, store)
        assert done.failed == 1
        assert "ERROR: fedavg on digits, trial 0: diverged at round 1" in said
    run = next(run for run in make_plan(paper, "smoke").runs if run.options["optimizer"] == "sgd")
    assert store.find(run, 0) is None
    told = "diverged at round 1: upload.weights.encoder.conv0.weight is not finite"
    assert store.error(run, 0) == told
    assert (done.trained, done.reused) == (0, 1)


def test_what_starts_from_a_failed_run_fails_with_it(tiny_paper: MakePaper, tmp_path: Path) -> None:
    broken = {
        "method": "ifca",
        "pretraining": {"method": "fedavg"},
        "training": {"learning_rate": 1e38, "optimizer": "sgd"},
    }
    done, said = carried_out(tiny_paper({"a": broken}), Store(tmp_path))
    assert done.trained == 0
    assert done.failed == 2
    assert "the run that it starts from failed (fedavg on digits)" in said


def test_missing_data_are_said_before_training_and_the_rest_goes_on(
    tiny_paper: MakePaper, tmp_path: Path
) -> None:
    paper = tiny_paper({"a": {"clients": {"data": "mnist"}}, "b": {}})
    done, said = carried_out(paper, Store(tmp_path / "store"), data_dir=tmp_path)
    assert done.trained == 1
    assert [reason.split(":")[0] for reason in done.not_run.values()] == ["mnist"]
    assert "NOT RUN: mnist: " in said


def test_progress_off_a_terminal_is_clean_lines_with_the_time_left() -> None:
    now = [0.0]
    out = io.StringIO()
    progress = Display(Console(file=out, width=200), clock=lambda: now[0])
    with progress:
        progress.begin({("k", seed): 10.0 for seed in range(4)})
        progress.started(("k", 0), "fedavg on digits, trial 0")
        assert progress.seconds_left() is None
        now[0] = 5.0
        progress.ended(("k", 0), failed=False)
        assert progress.seconds_left() == 15.0
        progress.started(("k", 1), "fedavg on digits, trial 1")
        now[0] = 11.0
        progress.advanced(("k", 1), 1, 2)
    lines = out.getvalue().splitlines()
    assert lines[0] == "0/4 trials · fedavg on digits, trial 0 0/?"
    assert progress.seconds_left() == pytest.approx(25 * 11 / 15)
    assert lines[-2] == "1/4 trials · fedavg on digits, trial 1 1/2 · about 18 s left"
    assert "\x1b" not in out.getvalue()


@pytest.mark.usefixtures("forked")
def test_a_hung_trial_is_ended_at_its_limit_and_the_next_goes_on(tiny_config: Make) -> None:
    hung, after = Job(tiny_config(ENDLESS), 0, limit_s=0.5), Job(tiny_config(), 0, limit_s=300.0)
    heard = train([hung, after], 1)
    ended = heard.results[hung.name]
    assert isinstance(ended, Failed)
    assert "longer than its limit" in ended.message
    assert "--time-limit" in ended.message
    assert isinstance(heard.results[after.name], Done)
    assert heard.starts == [hung.name, after.name]


def _never_comes_back_to_python(job: Job) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    with _work.ended_at(job):
        time.sleep(60)


def test_a_trial_that_hangs_in_a_library_ends_with_its_process(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_work, "_GRACE_S", 0.1)
    job = Job(tiny_config(), 0, limit_s=0.1)
    process = multiprocessing.get_context("fork").Process(
        target=_never_comes_back_to_python, args=(job,)
    )
    process.start()
    process.join(30)
    assert process.exitcode == 1


ANSWER = Failed("what a worker of these tests answers")


def _answers(pipe: Connection, *rest: object) -> None:
    pipe.send(("ready",))
    pipe.recv()
    pipe.send(("result", ANSWER))
    time.sleep(300)


def _does_not_start(pipe: Connection, *rest: object) -> None:
    os._exit(3)


@pytest.mark.usefixtures("forked")
def test_workers_that_do_not_start_are_one_line(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_work", _does_not_start)
    with pytest.raises(FedreproError, match=r"do not start \(exit code 3\)"):
        train([Job(tiny_config(), 0)], 1)


def test_workers_import_nothing_from_the_working_folder(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("random", "socket", "fedrepro"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    monkeypatch.setattr(local, "_work", _answers)
    monkeypatch.chdir(tmp_path)
    job = Job(tiny_config(), 0)
    assert train([job], 1).results[job.name] == ANSWER
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] err == 0. DefaultCPUAllocator: can't allocate "
            "memory: you tried to allocate 4000000000000 bytes. Error code 12"
        ),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 4 bytes."),
    ],
)
def test_memory_that_runs_out_is_tried_once_more_as_it_is_and_then_said(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    trained = list[RunConfig]()

    def full(config: RunConfig, seed: int, **options: Any) -> Any:
        trained.append(config)
        raise error

    monkeypatch.setattr("fedrepro.benchmark.execution.executors._work.train_trial", full)
    job = Job(tiny_config(), 0)
    failed = train([job], 0).results[job.name]
    assert isinstance(failed, Failed)
    assert "out of " in failed.message
    assert "--jobs" in failed.message
    # The very same config: a smaller batch would be another run under the first one's key.
    assert trained == [job.config] * ATTEMPTS


def test_what_torch_raises_where_the_host_has_no_memory_is_recognised() -> None:
    with pytest.raises(RuntimeError) as raised:
        torch.empty(2**50, dtype=torch.float64)
    assert is_out_of_memory(raised.value)
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_limits_follow_the_longest_trial_of_a_kind_unless_they_are_given() -> None:
    assert _limit(None, None) is None
    assert _limit(None, 5.0) == 5.0
    assert _limit(1.0, None) == 1800.0
    assert _limit(3600.0, None) == 72_000.0
    assert _limit(3600.0, 5.0) == 5.0
    assert _limit(3600.0, 0.0) is None
    assert _limit(1e300, None) == _limit(1.0, 1e300) == 1e8
