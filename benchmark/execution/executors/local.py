"""Trains trials in this process, or in worker processes on this machine: one trial at a time each,
with one thread. If a worker is killed, a fresh one tries its trial again."""

import multiprocessing
import os
import pickle
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection, wait

import torch

from ...errors import FedreproError
from ..jobs import Dispatch, Job
from ..processes import cores, end_with, environment_of_workers
from . import ExecutorOptions
from ._work import perform

_EXIT_S = 10.0  # from the end of a worker's pipe until it is killed
_STARTS = 3  # workers in a row that may end before they are ready


class LocalExecutor:
    """Processes on this machine; with 0 jobs, this very process (without time limits)."""

    def __init__(self, options: ExecutorOptions) -> None:
        self.options = options
        self.devices = devices_for(options.device)
        self.device = self.devices[0]
        usual = cores() if self.device == "cpu" else len(self.devices)
        self.workers = usual if options.jobs is None else options.jobs

    def train(self, dispatch: Dispatch) -> None:
        if self.workers:
            _Pool(dispatch, self.options, self.workers, self.devices).run()
            return
        while (job := dispatch.next()) is not None:
            shown, encoder = dispatch.display, dispatch.encoder_of(job)
            shown.started(job.name, job.label)
            tell = partial(shown.advanced, job.name), partial(shown.said, job.name)
            # A budget has this process's one timer.
            endless = replace(job, limit_s=None)
            dispatch.settle(job, perform(endless, encoder, self.options, self.device, *tell))


def devices_for(device: str) -> tuple[str, ...]:
    """The devices that `device` stands for; raises `FedreproError` for one that is not here."""
    n_gpus = torch.cuda.device_count()
    if device == "auto":
        device = "cuda" if n_gpus else "cpu"
    if device == "cuda" and n_gpus:
        return tuple(f"cuda:{i}" for i in range(n_gpus))
    try:
        # Read back: the device 'meta' would take numbers, but never give one.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise FedreproError(f"device '{device}' is not available here; try cpu or auto") from error
    return (device,)


@dataclass(eq=False)
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: Connection
    device: str
    job: Job | None = None
    ready: bool = False

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


@dataclass
class _Pool:
    """Up to `size` processes spread over `devices`; raises `FedreproError` if none starts."""

    dispatch: Dispatch
    options: ExecutorOptions
    size: int
    devices: tuple[str, ...]
    workers: list[_Worker] = field(default_factory=list)
    failed_starts: int = 0

    def run(self) -> None:
        try:
            self._hand_out()
            while busy := {one.pipe: one for one in self.workers if one.job is not None}:
                for pipe in wait(list(busy)):
                    self._hear(busy[pipe])  # type: ignore[index]
                self._hand_out()
        finally:
            for worker in self.workers:
                worker.end()

    def _hand_out(self) -> None:
        idle = [worker for worker in self.workers if worker.job is None]
        while (idle or len(self.workers) < self.size) and (job := self.dispatch.next()) is not None:
            worker = idle.pop(0) if idle else self._start()
            worker.job = job
            self.dispatch.display.started(job.name, job.label)
            # That a worker has just died is noticed when its pipe is read.
            with suppress(OSError):
                worker.pipe.send((job, self.dispatch.encoder_of(job)))

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        taken = [worker.device for worker in self.workers]
        device = min(self.devices, key=taken.count)
        given = theirs, self.options, device, os.getpid()
        process = context.Process(target=_work, args=given, daemon=True)
        with environment_of_workers():
            process.start()
        theirs.close()
        self.workers.append(_Worker(process, ours, device))
        return self.workers[-1]

    def _hear(self, worker: _Worker) -> None:
        assert worker.job is not None
        try:
            kind, *content = worker.pipe.recv()
        except (EOFError, OSError):
            self._bury(worker, worker.job)
            return
        if kind == "ready":
            worker.ready, self.failed_starts = True, 0
        elif kind == "result":
            job, worker.job = worker.job, None
            self.dispatch.settle(job, *content)
        else:
            getattr(self.dispatch.display, kind)(worker.job.name, *content)

    def _bury(self, worker: _Worker, job: Job) -> None:
        worker.process.join(_EXIT_S)  # a pipe closes a little earlier
        code = worker.process.exitcode
        self.workers.remove(worker)
        worker.end()
        if worker.ready:
            self.dispatch.killed(job, f"exit code {code}; out of memory?")
            return
        self.failed_starts += 1
        if self.failed_starts == _STARTS:
            said = f"worker processes do not start (exit code {code})"
            raise FedreproError(f"{said}; train in one process with --jobs 0")
        self.dispatch.put_back(job)


def _work(pipe: Connection, options: ExecutorOptions, device: str, driver: int) -> None:
    """The loop of a worker: receives a trial, trains it, sends back what came of it."""
    end_with(driver)
    torch.set_num_threads(1)

    def send(*message: object) -> None:
        # Not `send`, which would leave tensors in the shared memory of a process that may end.
        pipe.send_bytes(pickle.dumps(message))

    with suppress(EOFError, BrokenPipeError):  # the driver is gone
        send("ready")
        while True:
            job, encoder = pipe.recv()
            tell = partial(send, "advanced"), partial(send, "said")
            send("result", perform(job, encoder, options, device, *tell))
