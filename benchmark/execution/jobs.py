"""Trials to train, their results, and which may begin, are tried again or cannot be trained."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

from ...methods.outcome import Outcome
from ..config import RunConfig
from .display import Display, TrialName

ATTEMPTS = 2
"""How often a trial is tried when its worker is killed or memory runs out; anew for each time that
it has saved itself since."""


@dataclass(frozen=True)
class Job:
    """One trial to train. limit_s: seconds after which it counts as hung; None for never."""

    config: RunConfig
    seed: int
    limit_s: float | None = None

    @property
    def name(self) -> TrialName:
        return self.config.key, self.seed

    @property
    def label(self) -> str:
        return f"{self.config.description}, trial {self.seed}"

    @property
    def needs(self) -> TrialName | None:
        """The job whose encoder this one starts from."""
        if self.config.start is None:
            return None
        start = self.config.start_trial
        return self.config.start.key, self.seed if start is None else start


@dataclass(frozen=True)
class Done:
    """A trained trial. source: digest of the code that the worker ran."""

    outcome: Outcome
    provenance: dict[str, Any]
    source: str


@dataclass(frozen=True)
class Failed:
    """No result: a line, a developer's traceback, and whether it may succeed if tried `again`."""

    message: str
    details: str = ""
    again: bool = False


Result = Done | Failed


class Dispatch:
    """The jobs of one run: an executor takes them from here and tells what becomes of them.

    Jobs come in the order given, each held back until the one that it needs is done. What an
    executor has to say of a job, it says to `display`.
    """

    def __init__(self, jobs: Sequence[Job], display: Display) -> None:
        self._jobs, self.display = jobs, display
        self._place = {job.name: i for i, job in enumerate(jobs)}
        self._held: dict[TrialName, list[int]] = defaultdict(list)
        self._ready: list[int] = []
        self._tried = Counter[tuple[TrialName, float | None]]()
        for i, job in enumerate(jobs):
            if job.needs in self._place:
                self._held[job.needs].append(i)
            else:
                heappush(self._ready, i)

    def next(self) -> Job | None:
        """Takes the first job that may begin now; None if there is none."""
        return self._jobs[heappop(self._ready)] if self._ready else None

    def put_back(self, job: Job) -> None:
        heappush(self._ready, self._place[job.name] - len(self._jobs))  # indexes from the end

    def done(self, job: Job) -> None:
        """Lets the jobs begin that need this one."""
        for held in self._held.pop(job.name, ()):
            heappush(self._ready, held)

    def settle(self, job: Job, result: Result) -> None:
        """Keeps a result, and the failure of all that needs it; or has the job tried again."""
        if isinstance(result, Failed) and result.again:
            tried = job.name, self.saved_at(job)
            self._tried[tried] += 1
            if self._tried[tried] < ATTEMPTS:
                self.put_back(job)
                return
        if self.keep(job, result):
            self.done(job)
            return
        reason = f"the run that it starts from failed ({job.config.description})"
        for held in self._held.pop(job.name, ()):
            self.settle(self._jobs[held], Failed(reason))

    def killed(self, job: Job, how: str) -> None:
        """Settles a job whose worker is gone; `how` says what is known of the worker's end."""
        self.settle(job, Failed(f"its worker was killed {ATTEMPTS} times ({how})", again=True))

    def keep(self, job: Job, result: Result) -> bool:
        """Takes a result, once for every job; says whether other trials can start from it."""
        return isinstance(result, Done)

    def encoder_of(self, job: Job) -> Path | None:
        """The file of the weights that a job starts from."""
        return None

    def saved_at(self, job: Job) -> float | None:
        """When a job saved itself last, in any measure of time; None for never."""
        return None
