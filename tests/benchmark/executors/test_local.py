from __future__ import annotations

import io
import itertools
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
from fedrepro.benchmark.errors import is_out_of_memory
from fedrepro.benchmark.execution.executors import _pool
from fedrepro.benchmark.execution.executors.base import ExecutorOptions
from fedrepro.benchmark.execution.executors.local import LocalExecutor
from fedrepro.benchmark.execution.jobs import (
    ATTEMPTS,
    Dispatch,
    Done,
    Failed,
    Job,
    Listener,
    Queue,
    Result,
)
from fedrepro.benchmark.execution.progress import Progress
from fedrepro.benchmark.execution.run import Execution, _limit, execute
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store

Make = Callable[..., RunConfig]
MakePaper = Callable[..., Paper]
LONG = {"training": {"rounds": 2000}}
ENDLESS = {"training": {"rounds": 10**6}}
OWN = {"pretraining": {"method": "simclr", "shared": False}}


class Listening:
    """Keeps what a pool says; `on_start` and `on_advance` may interfere."""

    def __init__(self) -> None:
        self.results: dict[tuple[str, int], Result] = {}
        self.starts: list[tuple[str, int]] = []

    def listener(self, on_advance: Callable[[Job, int], None] | None = None) -> Listener:
        def finished(job: Job, result: Result) -> bool:
            assert job.name not in self.results
            self.results[job.name] = result
            return isinstance(result, Done)

        return Listener(
            encoder_of=lambda job: None,
            finished=finished,
            started=lambda job: self.starts.append(job.name),
            advanced=lambda job, done, total: on_advance(job, done) if on_advance else None,
        )


def train(jobs: list[Job], workers: int, listener: Listener) -> None:
    LocalExecutor(ExecutorOptions(None, "cpu", workers)).train(Dispatch(Queue(jobs), listener))


def quiet() -> Progress:
    return Progress(Console(file=io.StringIO(), width=200))


def carry_out(paper: Paper, store: Store, jobs: int = 0) -> tuple[Execution, str]:
    progress = quiet()
    done = execute(make_plan(paper, "smoke"), store, device="cpu", jobs=jobs, progress=progress)
    assert isinstance(progress.console.file, io.StringIO)
    return done, progress.console.file.getvalue()


def test_queue_holds_jobs_back_until_what_they_need_is_done(tiny_config: Make) -> None:
    later = tiny_config(OWN)
    assert later.start is not None
    first, second = Job(later.start, 0, weight=1.0), Job(later, 0, weight=9.0)
    queue = Queue([second, first])
    assert queue.next() == first
    assert queue.next() is None
    queue.done(first)
    assert queue.next() == second
    assert not queue


def test_queue_gives_the_heaviest_first_and_drops_what_needs_a_failed_job(
    tiny_config: Make,
) -> None:
    later = tiny_config(OWN)
    assert later.start is not None
    jobs = [Job(later.start, 0, 1.0), Job(later, 0, 5.0), Job(tiny_config(), 0, 3.0)]
    queue = Queue(jobs)
    assert queue.next() == jobs[2]
    assert queue.next() == jobs[0]
    assert queue.failed(jobs[0]) == [jobs[1]]
    assert not queue


def test_workers_give_the_numbers_that_this_process_gives(
    tiny_paper: MakePaper, tmp_path: Path
) -> None:
    paper = tiny_paper({"a": {}, "b": OWN}, trials=2)
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    assert carry_out(paper, here)[0].trained == 6
    assert carry_out(paper, there, jobs=2)[0].trained == 6
    for one, other in zip(here.records(), there.records(), strict=True):
        assert (one.run, one.seed, one.metrics) == (other.run, other.seed, other.metrics)
        assert (one.counts, one.arrays, one.encoder) == (other.counts, other.arrays, other.encoder)


def test_a_killed_worker_loses_one_trial_which_is_tried_once_more(tiny_config: Make) -> None:
    heard, killed = Listening(), list[int]()

    def kill_once(job: Job, done: int) -> None:
        if not killed and job.config.options["rounds"] == 300:
            # One trial at a time, so the only child is the worker that has it.
            (child,) = multiprocessing.active_children()
            assert child.pid is not None
            killed.append(child.pid)
            os.kill(child.pid, signal.SIGKILL)

    long = Job(tiny_config({"training": {"rounds": 300}}), 0, 2.0)
    short = Job(tiny_config(), 0, 1.0)
    train([long, short], 1, heard.listener(kill_once))
    assert len(killed) == 1
    assert heard.starts == [long.name, long.name, short.name]
    assert all(isinstance(result, Done) for result in heard.results.values())


def test_a_worker_that_is_killed_again_and_again_fails_its_trial(tiny_config: Make) -> None:
    heard = Listening()

    def kill(job: Job, done: int) -> None:
        for child in multiprocessing.active_children():
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)

    job = Job(tiny_config(LONG), 0)
    train([job], 1, heard.listener(kill))
    result = heard.results[job.name]
    assert isinstance(result, Failed)
    assert "killed 2 times" in result.message
    assert heard.starts == [job.name] * ATTEMPTS


def test_an_interrupt_ends_the_workers_at_once(tiny_config: Make) -> None:
    def interrupt(job: Job, done: int) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        train([Job(tiny_config(ENDLESS), 0)], 1, Listening().listener(interrupt))
    assert multiprocessing.active_children() == []
    assert time.monotonic() - began < 60


def test_failures_are_noted_retried_and_never_results(
    tiny_paper: MakePaper, tmp_path: Path
) -> None:
    diverging = {"training": {"learning_rate": 1e38, "optimizer": "sgd"}}
    paper, store = tiny_paper({"a": diverging, "b": {}}), Store(tmp_path)
    for _ in range(2):
        done, said = carry_out(paper, store)
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
    done, said = carry_out(tiny_paper({"a": broken}), Store(tmp_path))
    assert done.trained == 0
    assert done.failed == 2
    assert "the run that it starts from failed (fedavg on digits)" in said


def test_missing_data_are_said_before_training_and_the_rest_goes_on(
    tiny_paper: MakePaper, tmp_path: Path
) -> None:
    paper = tiny_paper({"a": {"clients": {"data": "mnist"}}, "b": {}})
    progress = quiet()
    done = execute(
        make_plan(paper, "smoke"),
        Store(tmp_path / "store"),
        data_dir=tmp_path,
        device="cpu",
        jobs=0,
        progress=progress,
    )
    assert done.trained == 1
    assert [reason.split(":")[0] for reason in done.not_run.values()] == ["mnist"]
    assert isinstance(progress.console.file, io.StringIO)
    assert "NOT RUN: mnist: " in progress.console.file.getvalue()


def test_progress_off_a_terminal_is_clean_lines_with_the_time_left() -> None:
    now = [0.0]
    out = io.StringIO()
    progress = Progress(Console(file=out, width=200), clock=lambda: now[0])
    with progress:
        progress.begin(4, 40.0, workers=2)
        progress.started(("k", 0), "fedavg on digits, trial 0", 10.0)
        assert progress.seconds_left() == 20.0
        now[0] = 5.0
        progress.ended(("k", 0), 10.0, failed=False)
        assert progress.seconds_left() == pytest.approx(15.0)
        progress.started(("k", 1), "fedavg on digits, trial 1", 10.0)
        now[0] = 11.0
        progress.advanced(("k", 1), 1, 2)
    lines = out.getvalue().splitlines()
    assert lines[0] == "0/4 trials · fedavg on digits, trial 0 0/? · about 20 s left"
    # Estimates stand for 1.6 of 40 s of work on two workers; then 5 s of it were done in 6 s.
    assert progress.seconds_left() == pytest.approx(25 * (0.8 + 6) / (1.6 + 5))
    assert lines[-2] == "1/4 trials · fedavg on digits, trial 1 1/2 · about 26 s left"
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
def test_a_wrong_estimate_shows_itself_step_by_step(factor: float) -> None:
    now, total, workers = [0.0], 480.0, 2
    progress = Progress(Console(file=io.StringIO(), width=200), clock=lambda: now[0])
    progress.begin(24, total, workers=workers)
    said, true = list[float](), list[float]()
    for seed in range(24):
        progress.started(("k", seed), "fedavg on digits", 20.0)
        for rounds in range(1, 11):
            now[0] += factor * 2.0 / workers
            progress.advanced(("k", seed), rounds, 10)
            said.append(progress.seconds_left() or 0.0)
            true.append(factor * total / workers - now[0])
        progress.ended(("k", seed), 20.0, failed=False)
    assert said[0] == pytest.approx(total / workers, rel=0.01)
    steps = [abs(after - before) for before, after in itertools.pairwise(said)]
    assert max(steps) <= 0.1 * max(*said, *true)
    assert all(abs(a - b) <= 0.3 * b for a, b in zip(said[96:216], true[96:216], strict=True))


def test_a_hung_trial_is_ended_at_its_limit_and_the_next_goes_on(tiny_config: Make) -> None:
    heard = Listening()
    hung = Job(tiny_config(ENDLESS), 0, 2.0, limit_s=0.5)
    after = Job(tiny_config(), 0, 1.0, limit_s=300.0)
    train([hung, after], 1, heard.listener())
    ended = heard.results[hung.name]
    assert isinstance(ended, Failed)
    assert "longer than its limit" in ended.message
    assert "--time-limit" in ended.message
    assert isinstance(heard.results[after.name], Done)
    assert heard.starts == [hung.name, after.name]


ANSWER = Failed("what a worker of these tests answers")


def _answers_half_a_second_later(pipe: Connection, *rest: object) -> None:
    pipe.send(("ready", None))
    pipe.recv()
    pipe.send(("progress", (1, 2)))
    time.sleep(0.5)
    pipe.send(("result", ANSWER))
    time.sleep(300)


def _closes_its_pipe_and_ends_with_three(pipe: Connection, *rest: object) -> None:
    pipe.send(("ready", None))
    pipe.recv()
    pipe.close()
    time.sleep(0.5)
    os._exit(3)


def pool(jobs: list[Job], heard: Listener, data_dir: Path | None = None) -> None:
    LocalExecutor(ExecutorOptions(data_dir, "cpu", 1)).train(Dispatch(Queue(jobs), heard))


def test_the_exit_code_of_a_worker_that_ended_by_itself_is_said(
    tiny_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pool, "_work", _closes_its_pipe_and_ends_with_three)
    heard, job = Listening(), Job(tiny_config(), 0)
    pool([job], heard.listener())
    failed = heard.results[job.name]
    assert isinstance(failed, Failed)
    assert "exit code 3" in failed.message


def test_workers_import_nothing_from_the_working_folder(
    tiny_config: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("random", "socket", "fedrepro"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'trace')!r}, 'w').close()\n")
    monkeypatch.setattr(_pool, "_work", _answers_half_a_second_later)
    monkeypatch.chdir(tmp_path)
    heard, job = Listening(), Job(tiny_config(), 0)
    pool([job], heard.listener())
    assert heard.results[job.name] == ANSWER
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
    heard, trained = Listening(), list[RunConfig]()

    def full(config: RunConfig, seed: int, **options: Any) -> Any:
        trained.append(config)
        raise error

    monkeypatch.setattr("fedrepro.benchmark.execution.executors._work.train_trial", full)
    job = Job(tiny_config(), 0)
    train([job], 0, heard.listener())
    failed = heard.results[job.name]
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
