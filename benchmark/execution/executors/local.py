"""Trains trials in this process, or in worker processes on this machine.

Workers live as long as there is work and train one trial at a time each. They use one thread and
write nothing: a result comes back through a pipe, and the driver stores it. The trial of a worker
that was killed is tried once more by a fresh worker. A worker that takes longer than its trial's
limit is ended. Workers end when the driver ends.
"""

from __future__ import annotations

from functools import partial

from fedrepro.benchmark.execution.devices import default_jobs, devices_for
from fedrepro.benchmark.execution.executors._dispatch import Dispatch
from fedrepro.benchmark.execution.executors._pool import Pool
from fedrepro.benchmark.execution.executors._work import Reporter, encoder_reader, perform
from fedrepro.benchmark.execution.executors.base import Executor, ExecutorOptions


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
            Pool(dispatch, self.workers, options.data_dir, self.devices).run()

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
            read = encoder_reader(dispatch.listener.encoder_of(job))
            options = self.options
            result = perform(job, read, options.data_dir, self.device, report)
            dispatch.settle(job, result)
