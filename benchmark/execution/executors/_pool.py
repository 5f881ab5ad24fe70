"""Worker processes on this machine, and what the driver does with each.

A thread for each worker reads its pipe, so one that is stopped in the middle of a message holds up
nobody. Limits count the time for which driver and worker could both run: Ctrl-Z stops the clock.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue

import torch

from ...config import RunConfig
from ...errors import FedreproError
from ..jobs import Dispatch, Failed, Job
from ..processes import (
    RunningClock,
    end_with,
    environment_of_workers,
    is_stopped,
)
from ._work import (
    OverdueError,
    Reporter,
    as_numpy,
    as_torch,
    perform,
)
from .base import Saving

_LOOK_S = 1.0  # between two looks at the workers; no wait is longer, however far a limit is
_START_S = 600.0  # until a worker is ready for its first trial
_STOPPED_S = 600.0  # for which a worker may be stopped while the driver runs
_EXIT_S = 10.0  # from the end of a worker's pipe until it is killed
_STARTS = 3  # workers in a row that may end before they are ready


@dataclass(eq=False)
class _Worker:
    """A process and the trial that it has.

    limit_s: when it counts as hung, in seconds of the pool's clock; None for never.
    stopped_s: for how long it has been stopped; 0 while it runs.
    """

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    limit_s: float | None
    stopped_s: float = 0.0
    ready: bool = False
    job: Job | None = None


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

    def __post_init__(self) -> None:
        self._heard: SimpleQueue[tuple[_Worker, bytes | None]] = SimpleQueue()
        self._clock = RunningClock(longest_s=2 * _LOOK_S)
        self._looked = self._clock()

    def run(self) -> None:
        """Trains until no job is left; whatever is raised meanwhile ends the workers."""
        try:
            while True:
                self._hand_out()
                if all(worker.job is None for worker in self._workers):
                    return
                with suppress(Empty):
                    self._hear(*self._heard.get(timeout=_LOOK_S))
                self._look()
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
        if worker.ready:
            self._set_limit(worker)
        self.dispatch.listener.started(job)
        encoder = self.dispatch.listener.encoder_of(job)
        # That a worker has just died is noticed when its pipe is read.
        with suppress(OSError):
            worker.pipe.send((job.config.as_dict(), job.seed, encoder))

    def _hear(self, worker: _Worker, message: bytes | None) -> None:
        if worker not in self._workers:
            return  # it was ended, but its last words came first
        if message is None:
            worker.process.join(_EXIT_S)  # a pipe closes a little earlier
            self._replace_dead(worker)
            return
        kind, content = pickle.loads(message)
        if kind == "ready":
            worker.ready, self._failed_starts = True, 0
            self._set_limit(worker)
            return
        assert worker.job is not None
        if kind == "progress":
            self.dispatch.listener.advanced(worker.job, *content)
            return
        if kind == "said":
            self.dispatch.listener.said(worker.job, content)
            return
        job, worker.job = worker.job, None
        self._set_limit(worker)
        self.dispatch.settle(job, as_torch(content))

    def _set_limit(self, worker: _Worker) -> None:
        """Gives a worker the time that its job may take, from now."""
        allowed = None if worker.job is None else worker.job.limit_s
        worker.limit_s = None if allowed is None else self._clock() + allowed

    def _look(self) -> None:
        """Ends workers that are over their limit or were stopped for too long."""
        now = self._clock()
        passed = now - self._looked
        if passed < _LOOK_S:
            return
        self._looked = now
        for worker in list(self._workers):
            if is_stopped(worker.process.pid):
                worker.stopped_s += passed
                worker.limit_s = None if worker.limit_s is None else worker.limit_s + passed
            else:
                worker.stopped_s = 0.0
            if worker.stopped_s > _STOPPED_S:
                self._replace_dead(worker, f"stopped for {worker.stopped_s:.0f} s")
            elif worker.limit_s is not None and worker.limit_s <= now:
                if worker.job is None or not worker.ready:
                    self._replace_dead(worker)
                else:
                    self._replace(worker)
                    self.dispatch.settle(worker.job, Failed(str(OverdueError(worker.job))))

    def _replace_dead(self, worker: _Worker, how: str | None = None) -> None:
        """Has the trial of a worker tried again that is gone, or of no use any more."""
        _end([worker])
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
            self.dispatch.killed(worker.job, how or f"exit code {code}; out of memory?")
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
        worker = _Worker(process, ours, limit_s=self._clock() + _START_S)
        threading.Thread(target=_read, args=(worker, self._heard), daemon=True).start()
        return worker


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.process.kill()
    for worker in workers:
        worker.process.join()


def _read(worker: _Worker, heard: SimpleQueue[tuple[_Worker, bytes | None]]) -> None:
    """Passes on whole messages of a worker, and None when there are no more."""
    with suppress(EOFError, OSError, MemoryError):
        while True:
            heard.put((worker, worker.pipe.recv_bytes()))
    heard.put((worker, None))


def _work(
    pipe: Connection, data_dir: Path | None, device: str, saving: Saving | None, driver: int
) -> None:
    """The loop of a worker: receives a trial, trains it, sends back what came of it."""
    end_with(driver)
    torch.set_num_threads(1)
    pipe.send(("ready", None))
    report = Reporter(lambda done, total: pipe.send(("progress", (done, total))))

    def say(sentence: str) -> None:
        pipe.send(("said", sentence))

    while True:
        try:
            plain, seed, encoder = pipe.recv()
        except EOFError:
            sys.exit(0)
        job = Job(RunConfig.from_dict(plain), seed)
        result = perform(job, encoder, data_dir, device, report, saving, say)
        pipe.send(("result", as_numpy(result)))
