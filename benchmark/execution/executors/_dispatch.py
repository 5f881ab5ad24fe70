"""Hands out jobs and settles them: what is tried again, and what fails with what it needs."""

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
    """The jobs of one run of the driver; every executor takes from it and settles with it."""

    queue: Queue
    listener: Listener
    _tried: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def tried_again(self) -> int:
        """How many trials had to be handed out once more, so far."""
        return len(self._tried)

    def next(self) -> Job | None:
        """Takes the heaviest job that may begin now; None if there is none."""
        return self.queue.next()

    def settle(self, job: Job, result: Result) -> None:
        """Passes a result on, with the failure of all that needs it; or has it tried again."""
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
        """Has a job tried once more whose worker is gone; `how` is what is known of its end."""
        self.settle(job, Failed(f"its worker was killed {ATTEMPTS} times ({how})", again=True))
