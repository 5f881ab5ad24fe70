"""Trains trials in this process, or in worker processes on this machine.

A worker trains one trial at a time with one thread and sends the result through a pipe. If it is
killed, a fresh one tries its trial once more; if the trial takes longer than its limit, the worker
is ended. Workers end when the driver ends.
"""

from __future__ import annotations

from functools import partial

import torch

from ...errors import FedreproError
from ..jobs import Dispatch
from ..processes import cores
from ._pool import Pool
from ._work import Reporter, perform
from .base import Executor, ExecutorOptions


class LocalExecutor(Executor):
    """Processes on this machine; with 0 jobs, this very process (without time limits)."""

    def __init__(self, options: ExecutorOptions) -> None:
        super().__init__(options)
        self.devices = devices_for(options.device)
        self.device = self.devices[0]
        self.workers = options.jobs
        if self.workers is None:
            self.workers = cores() if self.device == "cpu" else len(self.devices)

    def train(self, dispatch: Dispatch) -> None:
        options = self.options
        if self.workers:
            Pool(dispatch, self.workers, options.data_dir, self.devices, options.saving).run()
            return
        while (job := dispatch.queue.next()) is not None:
            dispatch.listener.started(job)
            report = Reporter(partial(dispatch.listener.advanced, job))
            encoder = dispatch.listener.encoder_of(job)
            said = partial(dispatch.listener.said, job)
            result = perform(
                job, encoder, options.data_dir, self.device, report, options.saving, said
            )
            dispatch.settle(job, result)

    @property
    def slots(self) -> int:
        return self.workers or 1

    def describe(self) -> list[str]:
        where = "this process"
        if self.workers:
            where = f"{self.workers} worker {'process' if self.workers == 1 else 'processes'} here"
        return [f"{where}, on {', '.join(self.devices)}"]


def devices_for(device: str) -> tuple[str, ...]:
    """The devices of this machine that `device` stands for.

    Raises `FedreproError` for a device that this machine lacks.
    """
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
