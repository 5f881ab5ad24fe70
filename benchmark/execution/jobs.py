"""Trials to train, their results, and the queue that says which may begin."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fedrepro.benchmark.config import RunConfig
from fedrepro.methods.outcome import Outcome


@dataclass(frozen=True)
class Job:
    """One trial to train.

    weight: how soon it should begin; larger first.
    limit_s: seconds of running after which its worker counts as hung; None for no limit.
    """

    config: RunConfig
    seed: int
    weight: float = 0.0
    limit_s: float | None = None

    @property
    def name(self) -> tuple[str, int]:
        """Run and seed; no two jobs share them."""
        return self.config.key, self.seed

    @property
    def needs(self) -> tuple[str, int] | None:
        """The job whose encoder this one starts from."""
        if self.config.start is None:
            return None
        start = self.config.start_trial
        return self.config.start.key, self.seed if start is None else start


@dataclass(frozen=True)
class Done:
    """A trained trial. source: digest of the code that the worker ran."""

    outcome: Outcome
    provenance: Mapping[str, Any]
    source: str


@dataclass(frozen=True)
class Failed:
    """A trial without a result.

    message: one line for the reader.
    details: a traceback for the developer.
    again: whether the same trial, unchanged, may succeed when it is tried once more.
    """

    message: str
    details: str = ""
    again: bool = False


Result = Done | Failed


class Queue:
    """Jobs in order of weight, each held back until the job that it needs is done.

    Every operation takes logarithmic time: 50,000 trials are queued in a second.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        jobs = list(jobs)
        self._ready: list[tuple[float, int, Job]] = []
        self._held: dict[tuple[str, int], list[Job]] = defaultdict(list)
        self._pushed = 0
        open_names = {job.name for job in jobs}
        for job in jobs:
            if job.needs in open_names:
                assert job.needs is not None
                self._held[job.needs].append(job)
            else:
                self._push(-job.weight, job)

    def __bool__(self) -> bool:
        return bool(self._ready or self._held)

    def next(self) -> Job | None:
        """Takes the heaviest job that may begin now; None if there is none."""
        return heapq.heappop(self._ready)[2] if self._ready else None

    def put_back(self, job: Job) -> None:
        """Gives a job back, to be the next one."""
        self._push(float("-inf"), job)

    def done(self, job: Job) -> None:
        """Lets the jobs begin that need this one."""
        for held in self._held.pop(job.name, ()):
            self._push(-held.weight, held)

    def failed(self, job: Job) -> list[Job]:
        """Takes out and returns all jobs that need this one, directly or not."""
        lost = self._held.pop(job.name, [])
        return lost + [further for other in lost for further in self.failed(other)]

    def _push(self, rank: float, job: Job) -> None:
        # The number breaks ties in the order of coming, so that jobs are never compared.
        heapq.heappush(self._ready, (rank, self._pushed, job))
        self._pushed += 1
