"""Trains trials in worker processes that live as long as there is work, one trial at a time each.

Workers are single-threaded and write nothing: what they make comes back through a pipe and the
driver stores it. A killed worker loses the one trial that it had, which a fresh worker tries once
more; a worker that takes longer than its trial's limit is ended. Workers die with the driver,
however it ends.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.devices import default_jobs, devices_for
from fedrepro.benchmark.execution.executors._dispatch import Dispatch
from fedrepro.benchmark.execution.executors._work import (
    OverdueError,
    Reporter,
    as_numpy,
    as_torch,
    perform,
)
from fedrepro.benchmark.execution.executors.base import Executor, ExecutorOptions
from fedrepro.benchmark.execution.jobs import Failed, Job
from fedrepro.benchmark.execution.processes import die_with_driver, environment_of_workers
from fedrepro.benchmark.store.store import read_encoder
from fedrepro.methods.state import State

_START_S = 600.0
_STARTS = 3  # how many workers in a row may end before they are ready


class LocalExecutor(Executor):
    """Processes on this machine; with 0 jobs, this very process (without time limits)."""

    def __init__(self, options: ExecutorOptions) -> None:
        super().__init__(options)
        self.devices = devices_for(options.device)
        self.device = self.devices[0]
        self.workers = default_jobs(self.devices) if options.jobs is None else options.jobs

    def train(self, dispatch: Dispatch) -> None:
        if self.workers == 0:
            self._train_here(dispatch)
        else:
            options = self.options
            _Pool(dispatch, self.workers, options.data_dir, self.devices, options.threads).run()

    @property
    def slots(self) -> int:
        return max(self.workers, 1)

    def describe(self) -> list[str]:
        where = "this process"
        if self.workers:
            where = f"{self.workers} worker {'process' if self.workers == 1 else 'processes'} here"
        return [f"{where}, on {', '.join(self.devices)}"]

    def _train_here(self, dispatch: Dispatch) -> None:
        while (job := dispatch.next()) is not None:
            dispatch.listener.started(job)
            report = Reporter(partial(dispatch.listener.advanced, job))
            read = _reader(dispatch.listener.encoder_of(job))
            options = self.options
            result = perform(job, read, options.data_dir, self.device, report, options.threads)
            dispatch.settle(job, result)


def _reader(encoder: Path | None) -> Callable[[], State | None]:
    return partial(read_encoder, encoder) if encoder is not None else lambda: None


# -- processes -----------------------------------------------------------------------------------


@dataclass
class _Worker:
    """A process. deadline: when it counts as hung, on the monotonic clock."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    deadline: float | None
    ready: bool = False
    job: Job | None = None

    def watch(self) -> None:
        """Sets the deadline of the job, from now."""
        limit = None if self.job is None else self.job.limit_s
        self.deadline = None if limit is None else time.monotonic() + limit


@dataclass
class _Pool:
    dispatch: Dispatch
    size: int
    data_dir: Path | None
    devices: tuple[str, ...]
    threads: int
    workers: list[_Worker] = field(default_factory=list)
    stillborn: int = 0

    def run(self) -> None:
        try:
            while True:
                self._hand_out()
                if all(worker.job is None for worker in self.workers):
                    return
                pipes: dict[Any, _Worker] = {worker.pipe: worker for worker in self.workers}
                for pipe in wait(list(pipes), self._patience()):
                    self._hear(pipes[pipe])
                self._end_overdue()
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
            job = self.dispatch.next()
            if job is None:
                return
            if slot >= len(self.workers):
                self.workers.append(self._hire(slot))
            self._give(self.workers[slot], job)

    def _give(self, worker: _Worker, job: Job) -> None:
        worker.job = job
        if worker.ready:
            worker.watch()
        self.dispatch.listener.started(job)
        encoder = self.dispatch.listener.encoder_of(job)
        # A worker that has just died is noticed when its pipe is read.
        try:
            worker.pipe.send((job.config.as_dict(), job.seed, encoder))
        except OSError:
            return

    def _hear(self, worker: _Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        if kind == "ready":
            worker.ready, self.stillborn = True, 0
            worker.watch()
            return
        assert worker.job is not None
        if kind == "progress":
            self.dispatch.listener.advanced(worker.job, *content)
            return
        job, worker.job = worker.job, None
        worker.watch()
        self.dispatch.settle(job, as_torch(content))

    def _bury(self, worker: _Worker) -> None:
        worker.process.join()
        code = worker.process.exitcode
        if not worker.ready:
            self.stillborn += 1
            if self.stillborn == _STARTS:
                raise FedreproError(
                    f"worker processes do not start (exit code {code}); "
                    "train in one process with --jobs 0"
                )
        self._replace(worker)
        if worker.job is not None and worker.ready:
            self.dispatch.killed(worker.job, f"exit code {code}; out of memory?")
        elif worker.job is not None:
            self.dispatch.queue.put_back(worker.job)

    def _replace(self, worker: _Worker) -> None:
        slot = self.workers.index(worker)
        self.workers[slot] = self._hire(slot)

    def _patience(self) -> float | None:
        """Seconds until the next deadline."""
        deadlines = [worker.deadline for worker in self.workers if worker.deadline is not None]
        return max(min(deadlines) - time.monotonic(), 0.0) if deadlines else None

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for worker in list(self.workers):
            if worker.deadline is None or worker.deadline > now:
                continue
            worker.process.kill()
            if not worker.ready:
                self._bury(worker)
                continue
            worker.process.join()
            self._replace(worker)
            if worker.job is not None:
                self.dispatch.settle(worker.job, Failed(str(OverdueError(worker.job))))

    def _hire(self, slot: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        device = self.devices[slot % len(self.devices)]
        process = context.Process(
            target=_work,
            args=(theirs, self.data_dir, device, self.threads),
            daemon=True,
            name=f"fedrepro-{slot}",
        )
        with environment_of_workers():
            process.start()
        theirs.close()
        return _Worker(process, ours, deadline=time.monotonic() + _START_S)


def _work(pipe: Connection, data_dir: Path | None, device: str, threads: int) -> None:
    """A worker's life: receive a trial, train it, send back what came of it."""
    die_with_driver()
    torch.set_num_threads(1)
    pipe.send(("ready", None))
    report = Reporter(lambda done, total: pipe.send(("progress", (done, total))))
    while True:
        try:
            plain, seed, encoder = pipe.recv()
        except EOFError:
            sys.exit(0)
        job = Job(RunConfig.from_dict(plain), seed)
        result = perform(job, _reader(encoder), data_dir, device, report, threads)
        pipe.send(("result", as_numpy(result)))
