"""Trials to train, their results, and which may begin, are tried again or cannot be trained."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ...methods.outcome import Outcome
from ..config import RunConfig

ATTEMPTS = 2
"""How often a trial is tried when its worker is killed or memory runs out; anew for each time that
it has saved itself since."""


@dataclass(frozen=True)
class Job:
    """One trial to train.

    rank: how soon it should begin; smaller first.
    weight: the same among equal ranks; larger first.
    limit_s: seconds of running after which its worker counts as hung; None for no limit.
    """

    config: RunConfig
    seed: int
    weight: float = 0.0
    limit_s: float | None = None
    rank: int = 0

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
        self._ready: list[tuple[tuple[float, float], int, Job]] = []
        self._held: dict[tuple[str, int], list[Job]] = defaultdict(list)
        self._pushed = count()
        open_names = {job.name for job in jobs}
        for job in jobs:
            if job.needs in open_names:
                assert job.needs is not None
                self._held[job.needs].append(job)
            else:
                self._push((job.rank, -job.weight), job)

    def __bool__(self) -> bool:
        return bool(self._ready or self._held)

    def next(self) -> Job | None:
        """Takes the first job that may begin now; None if there is none."""
        return heapq.heappop(self._ready)[2] if self._ready else None

    def put_back(self, job: Job) -> None:
        """Gives a job back, to be the next one."""
        self._push((float("-inf"), 0.0), job)

    def done(self, job: Job) -> None:
        """Lets the jobs begin that need this one."""
        for held in self._held.pop(job.name, ()):
            self._push((held.rank, -held.weight), held)

    def failed(self, job: Job) -> list[Job]:
        """Takes out and returns all jobs that need this one, directly or not."""
        lost = self._held.pop(job.name, [])
        return lost + [further for other in lost for further in self.failed(other)]

    def _push(self, order: tuple[float, float], job: Job) -> None:
        # The number breaks ties in the order of coming, so that jobs are never compared.
        heapq.heappush(self._ready, (order, next(self._pushed), job))


@dataclass(frozen=True)
class Listener:
    """What an executor calls while it trains.

    encoder_of: gives the file of the weights that a job starts from.
    finished: takes a result, once for every job; says whether other trials can start from it.
    started: a job began.
    advanced: so many of so many rounds are done.
    said: a job has something to say in one sentence.
    saved: when a job saved itself last, in any measure of time; None for never.
    waiting: takes the reason why nothing is trained now.
    """

    encoder_of: Callable[[Job], Path | None]
    finished: Callable[[Job, Result], bool]
    started: Callable[[Job], None] = lambda job: None
    advanced: Callable[[Job, int, int], None] = lambda job, done, total: None
    said: Callable[[Job, str], None] = lambda job, sentence: None
    saved: Callable[[Job], float | None] = lambda job: None
    waiting: Callable[[str], None] = lambda why: None


@dataclass
class Dispatch:
    """The jobs of one run; every executor takes jobs from it and gives results to it."""

    queue: Queue
    listener: Listener
    _tried: Counter[tuple[tuple[str, int], float | None]] = field(default_factory=Counter)

    def settle(self, job: Job, result: Result) -> None:
        """Reports a result, and the failure of all that needs it; or queues the job again."""
        if isinstance(result, Failed) and result.again:
            tried = job.name, self.listener.saved(job)
            self._tried[tried] += 1
            if self._tried[tried] < ATTEMPTS:
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
