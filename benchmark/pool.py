"""Trains trials in worker processes that live as long as there is work, one trial at a time each.

Workers are single-threaded and write nothing: what they make comes back through a pipe and the
driver stores it. A killed worker loses the one trial that it had, which a fresh worker tries once
more. Workers die with the driver, however it ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from benchmark import sources
from benchmark.config import RunConfig
from benchmark.errors import FedreproError
from benchmark.jobs import Done, Failed, Job, Queue, Result
from benchmark.store import read_encoder
from benchmark.training import train_trial
from methods.federated.base import Progress
from methods.outcome import DivergedError

ATTEMPTS = 2
"""How often a trial is tried when its worker is killed."""

_REPORT_EVERY_S = 0.2
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class Setting:
    """What is the same for every trial of a pool. devices: one worker after the other takes one."""

    data_dir: Path | None
    devices: Sequence[str] = ("cpu",)


@dataclass(frozen=True)
class Listener:
    """What the driver does meanwhile.

    encoder_of: the file of the weights that a job starts from. started: a job began. advanced: so
    many of so many rounds are done. finished: a result came; called once for every job, and says
    whether there is a trial now that others can start from.
    """

    encoder_of: Callable[[Job], Path | None]
    finished: Callable[[Job, Result], bool]
    started: Callable[[Job], None] = lambda job: None
    advanced: Callable[[Job, int, int], None] = lambda job, done, total: None


def train_all(jobs: Iterable[Job], workers: int, setting: Setting, listener: Listener) -> None:
    """Trains every job, with 0 `workers` in this process.

    Jobs that need a failed one fail with it. Whatever is raised meanwhile, Ctrl-C included, ends
    the workers at once.

    Raises `FedreproError` if worker processes cannot be started.
    """
    queue = Queue(jobs)
    if workers == 0:
        _train_here(queue, setting, listener)
    else:
        _Pool(queue, workers, setting, listener).run()


def _settle(queue: Queue, listener: Listener, job: Job, result: Result) -> None:
    if listener.finished(job, result):
        queue.done(job)
        return
    for lost in queue.failed(job):
        start = lost.config.start
        assert start is not None
        listener.finished(lost, Failed(f"the run that it starts from failed ({start.description})"))


def _train_here(queue: Queue, setting: Setting, listener: Listener) -> None:
    while (job := queue.next()) is not None:
        listener.started(job)
        report = _Reporter(partial(listener.advanced, job))
        result = _perform(job, listener.encoder_of(job), setting, 0, report)
        _settle(queue, listener, job, result)


class _Reporter:
    """Passes progress on, but not more often than anyone can read."""

    def __init__(self, tell: Progress) -> None:
        self.tell, self.last = tell, 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= _REPORT_EVERY_S or done == total:
            self.last = now
            self.tell(done, total)


def _perform(
    job: Job,
    encoder: Path | None,
    setting: Setting,
    slot: int,
    progress: Callable[[int, int], None],
) -> Result:
    try:
        outcome, provenance = train_trial(
            job.config,
            job.seed,
            data_dir=setting.data_dir,
            device=setting.devices[slot % len(setting.devices)],
            encoder=None if encoder is None else read_encoder(encoder),
            progress=progress,
        )
        return Done(outcome, provenance, sources.digest(sources.source_of(job.config)))
    except Exception as error:
        return Failed(_one_line(error), traceback.format_exc())


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, (DivergedError, FedreproError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# -- processes -----------------------------------------------------------------------------------


@dataclass
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    ready: bool = False
    job: Job | None = None


@dataclass
class _Pool:
    queue: Queue
    size: int
    setting: Setting
    listener: Listener
    workers: list[_Worker] = field(default_factory=list)
    killed: dict[tuple[str, int], int] = field(default_factory=dict)
    hired: int = 0

    def run(self) -> None:
        try:
            while True:
                self._hand_out()
                busy = [worker for worker in self.workers if worker.job is not None]
                if not busy:
                    return
                pipes: dict[Any, _Worker] = {worker.pipe: worker for worker in self.workers}
                for pipe in wait(list(pipes)):
                    self._hear(pipes[pipe])
        finally:
            for worker in self.workers:
                worker.process.kill()
            for worker in self.workers:
                worker.process.join()

    def _hand_out(self) -> None:
        for slot in range(self.size):
            idle = slot >= len(self.workers) or self.workers[slot].job is None
            if not idle:
                continue
            job = self.queue.next()
            if job is None:
                return
            if slot >= len(self.workers):
                self.workers.append(self._hire(slot))
            self._give(self.workers[slot], job)

    def _give(self, worker: _Worker, job: Job) -> None:
        worker.job = job
        self.listener.started(job)
        # A worker that has just died is noticed when its pipe is read.
        try:
            worker.pipe.send((job.config.as_dict(), job.seed, self.listener.encoder_of(job)))
        except OSError:
            return

    def _hear(self, worker: _Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if kind == "ready":
            worker.ready = True
            return
        assert worker.job is not None
        if kind == "progress":
            self.listener.advanced(worker.job, *content)
            return
        job, worker.job = worker.job, None
        _settle(self.queue, self.listener, job, _as_torch(content))

    def _bury(self, worker: _Worker) -> None:
        worker.process.join()
        slot = self.workers.index(worker)
        if not worker.ready:
            raise FedreproError(
                f"worker processes do not start (exit code {worker.process.exitcode}); "
                "train in one process with --jobs 0"
            )
        self.workers[slot] = self._hire(slot)
        job = worker.job
        if job is None:
            return
        self.killed[job.name] = self.killed.get(job.name, 0) + 1
        if self.killed[job.name] < ATTEMPTS:
            self.queue.put_back(job)
            return
        code = worker.process.exitcode
        reason = f"its worker was killed {ATTEMPTS} times (exit code {code}; out of memory?)"
        _settle(self.queue, self.listener, job, Failed(reason))

    def _hire(self, slot: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_work, args=(theirs, self.setting, slot), daemon=True, name=f"fedrepro-{slot}"
        )
        with _environment_of_workers():
            process.start()
        theirs.close()
        return _Worker(process, ours)


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """One thread each, set before torch is imported; Ctrl-C is for the driver alone.

    A blocked signal stays blocked in the children and only waits in the driver.
    """
    wanted = dict.fromkeys(_THREAD_VARIABLES, "1") | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
    before = {name: os.environ.get(name) for name in wanted}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _work(pipe: Connection, setting: Setting, slot: int) -> None:
    """A worker's life: receive a trial, train it, send back what came of it."""
    threading.Thread(target=_die_with_driver, daemon=True).start()
    torch.set_num_threads(1)
    pipe.send(("ready", None))
    report = _Reporter(lambda done, total: pipe.send(("progress", (done, total))))
    while True:
        try:
            plain, seed, encoder = pipe.recv()
        except EOFError:
            sys.exit(0)
        job = Job(RunConfig.from_dict(plain), seed)
        pipe.send(("result", _as_numpy(_perform(job, encoder, setting, slot, report))))


def _die_with_driver() -> None:
    """Ends this process as soon as the driver is gone, in the middle of a trial if need be."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


def _as_numpy(result: Result) -> Result:
    """Weights as plain arrays: a tensor would travel by shared memory of a process that may die."""
    if isinstance(result, Failed) or result.outcome.encoder is None:
        return result
    weights: Any = {k: v.detach().cpu().numpy() for k, v in result.outcome.encoder.items()}
    return replace(result, outcome=replace(result.outcome, encoder=weights))


def _as_torch(result: Result) -> Result:
    if isinstance(result, Failed) or result.outcome.encoder is None:
        return result
    weights: Any = {k: torch.as_tensor(v) for k, v in result.outcome.encoder.items()}
    return replace(result, outcome=replace(result.outcome, encoder=weights))
