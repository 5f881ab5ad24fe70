"""Hands out jobs and takes results: tries some again, and fails what needs a failed job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedrepro.benchmark.execution.jobs import Failed, Job, Queue, Result

if TYPE_CHECKING:
    from fedrepro.benchmark.execution.executors.base import Listener

ATTEMPTS = 2
"""How often a trial is tried when its worker is killed or memory runs out."""


@dataclass
class Dispatch:
    """The jobs of one run; every executor takes jobs from it and gives results to it."""

    queue: Queue
    listener: Listener
    _tried: Counter[tuple[str, int]] = field(default_factory=Counter)

    def next(self) -> Job | None:
        """Takes the heaviest job that may begin now; None if there is none."""
        return self.queue.next()

    def settle(self, job: Job, result: Result) -> None:
        """Reports a result, and the failure of all that needs it; or queues the job again."""
        if isinstance(result, Failed) and result.again:
            self._tried[job.name] += 1
            if self._tried[job.name] < ATTEMPTS:
                self.queue.put_back(job)
                return
        if self.listener.finished(job, result):
            self.queue.done(job)
            return
        for lost in self.queue.failed(job):
            start = lost.config.start
            assert start is not None
            reason = f"the run that it starts from failed ({start.description})"
            self.listener.finished(lost, Failed(reason))

    def killed(self, job: Job, how: str) -> None:
        """Queues a job again whose worker is gone; `how` says what is known of the worker's end."""
        self.settle(job, Failed(f"its worker was killed {ATTEMPTS} times ({how})", again=True))
