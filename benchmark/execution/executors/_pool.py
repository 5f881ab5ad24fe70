"""Worker processes on this machine, and what the driver does with each."""

from __future__ import annotations

import multiprocessing
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

import torch

from ...config import RunConfig
from ...errors import FedreproError
from ..jobs import Dispatch, Failed, Job
from ..processes import end_with, environment_of_workers
from ._work import OverdueError, Reporter, as_numpy, as_torch, perform
from .base import Saving

_LOOK_S = 1.0  # between two looks at the limits; no wait is longer, however far a limit is
_EXIT_S = 10.0  # from the end of a worker's pipe until it is killed
_STARTS = 3  # workers in a row that may end before they are ready


@dataclass(eq=False)
class _Worker:
    """A process and the trial that it has.

    Attributes:
        deadline: when it counts as hung, by `time.monotonic`; None for never.
        ready: whether it has started.
    """

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    deadline: float | None = None
    ready: bool = False
    job: Job | None = None

    def set_deadline(self) -> None:
        """Gives it the time that its job may take, from now; none before it has started."""
        limit_s = self.job.limit_s if self.job is not None and self.ready else None
        self.deadline = None if limit_s is None else time.monotonic() + limit_s


@dataclass
class Pool:
    """Trains the jobs of `dispatch` in `size` processes, on `devices` in turn.

    Raises `FedreproError` if workers do not start.
    """

    dispatch: Dispatch
    size: int
    data_dir: Path | None
    devices: tuple[str, ...]
    saving: Saving | None = None
    _workers: list[_Worker] = field(default_factory=list, init=False)
    _failed_starts: int = field(default=0, init=False)

    def run(self) -> None:
        """Trains until no job is left; whatever is raised meanwhile ends the workers."""
        try:
            while True:
                self._hand_out()
                if all(worker.job is None for worker in self._workers):
                    return
                by_pipe = {worker.pipe: worker for worker in self._workers}
                for pipe in wait(list(by_pipe), _LOOK_S):
                    self._hear(by_pipe[pipe])  # type: ignore[index]
                self._end_overdue()
        finally:
            _end(self._workers)

    def _hand_out(self) -> None:
        for slot in range(self.size):
            if slot < len(self._workers) and self._workers[slot].job is not None:
                continue
            job = self.dispatch.queue.next()
            if job is None:
                return
            if slot >= len(self._workers):
                self._workers.append(self._start(slot))
            self._give(self._workers[slot], job)

    def _give(self, worker: _Worker, job: Job) -> None:
        worker.job = job
        worker.set_deadline()
        self.dispatch.listener.started(job)
        encoder = self.dispatch.listener.encoder_of(job)
        # That a worker has just died is noticed when its pipe is read.
        with suppress(OSError):
            worker.pipe.send((job.config.as_dict(), job.seed, encoder))

    def _hear(self, worker: _Worker) -> None:
        try:
            kind, content = worker.pipe.recv()
        except (EOFError, OSError):
            self._replace_dead(worker)
            return
        if kind == "ready":
            worker.ready, self._failed_starts = True, 0
            worker.set_deadline()
            return
        assert worker.job is not None
        if kind == "progress":
            self.dispatch.listener.advanced(worker.job, *content)
        elif kind == "said":
            self.dispatch.listener.said(worker.job, content)
        else:
            job, worker.job = worker.job, None
            worker.set_deadline()
            self.dispatch.settle(job, as_torch(content))

    def _end_overdue(self) -> None:
        """Ends workers that are over their limit."""
        for worker in list(self._workers):
            if worker.deadline is not None and worker.deadline <= time.monotonic():
                assert worker.job is not None
                self._replace(worker)
                self.dispatch.settle(worker.job, Failed(str(OverdueError(worker.job))))

    def _replace_dead(self, worker: _Worker) -> None:
        """Has the trial of a worker tried again that is gone."""
        worker.process.join(_EXIT_S)  # a pipe closes a little earlier
        code = worker.process.exitcode
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == _STARTS:
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
        _end([worker])
        slot = self._workers.index(worker)
        self._workers[slot] = self._start(slot)

    def _start(self, slot: int) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        device = self.devices[slot % len(self.devices)]
        process = context.Process(
            target=_work,
            args=(theirs, self.data_dir, device, self.saving, os.getpid()),
            daemon=True,
        )
        with environment_of_workers():
            process.start()
        theirs.close()
        return _Worker(process, ours)


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join()
        worker.pipe.close()


def _work(
    pipe: Connection, data_dir: Path | None, device: str, saving: Saving | None, driver: int
) -> None:
    """The loop of a worker: receives a trial, trains it, sends back what came of it."""
    end_with(driver)
    torch.set_num_threads(1)
    report = Reporter(lambda done, total: pipe.send(("progress", (done, total))))

    def say(sentence: str) -> None:
        pipe.send(("said", sentence))

    with suppress(EOFError, BrokenPipeError):  # the driver is gone
        pipe.send(("ready", None))
        while True:
            plain, seed, encoder = pipe.recv()
            job = Job(RunConfig.from_dict(plain), seed)
            result = perform(job, encoder, data_dir, device, report, saving, say)
            pipe.send(("result", as_numpy(result)))
