"""Trials that wait to be trained, what comes of them, and which may begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmark.config import RunConfig
from methods.outcome import Outcome


@dataclass(frozen=True)
class Job:
    """One trial to train. weight: how soon it should begin; larger first."""

    config: RunConfig
    seed: int
    weight: float = 0.0

    @property
    def name(self) -> tuple[str, int]:
        """What tells this job from all others."""
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
    """A trained trial. source: digest of the code that the worker had."""

    outcome: Outcome
    provenance: Mapping[str, Any]
    source: str


@dataclass(frozen=True)
class Failed:
    """A trial without a result: one line for the reader, a traceback for the developer."""

    message: str
    details: str = ""


Result = Done | Failed


class Queue:
    """Jobs in order of weight, each held back until the job that it needs is done."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._waiting = sorted(jobs, key=lambda job: -job.weight)
        self._open = {job.name for job in self._waiting}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def next(self) -> Job | None:
        """Takes the heaviest job that may begin now; None if there is none."""
        for i, job in enumerate(self._waiting):
            if job.needs not in self._open:
                return self._waiting.pop(i)
        return None

    def put_back(self, job: Job) -> None:
        """Gives a job back, to be the next one."""
        self._waiting.insert(0, job)

    def done(self, job: Job) -> None:
        """Lets the jobs begin that need this one."""
        self._open.discard(job.name)

    def failed(self, job: Job) -> list[Job]:
        """Takes out and returns all jobs that need this one, directly or not."""
        lost = [other for other in self._waiting if other.needs == job.name]
        self._waiting = [other for other in self._waiting if other.needs != job.name]
        for other in list(lost):
            lost += self.failed(other)
        self._open.discard(job.name)
        return lost
