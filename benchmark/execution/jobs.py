"""Trials to train, their results, and which may begin, are tried again or cannot be trained."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from pathlib import Path
from typing import Any, Self

from ...methods.outcome import Outcome
from ..config import RunConfig
from ..errors import StoreError
from ..store import fingerprint
from ..store.store import Store
from .display import Display, TrialName

ATTEMPTS = 2
"""How often a trial is tried if killed or out of memory, counted from when it last saved itself."""


@dataclass(frozen=True)
class Job:
    """One trial to train. `limit_s`: seconds after which it counts as hung; None for never."""

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
        if self.config.init_from is None:
            return None
        start = self.config.init_trial
        return self.config.init_from.key, self.seed if start is None else start


@dataclass(frozen=True)
class Done:
    """A trained trial. `source`: digest of the code that the worker ran."""

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


@dataclass
class Execution:
    """What carrying out a plan came to: numbers of trials, and seconds in all. `not_run`: by run
    key, why nothing was tried. `errors`: by run key and seed, why a trial failed."""

    trained: int = 0
    reused: int = 0
    wall_s: float = 0.0
    not_run: dict[str, str] = field(default_factory=dict)
    errors: dict[tuple[str, int], str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        return len(self.errors)

    def add(self, other: Self) -> None:
        self.trained += other.trained
        self.reused += other.reused
        self.wall_s += other.wall_s
        self.not_run |= other.not_run
        self.errors |= other.errors

    @property
    def summary(self) -> str:
        words = [f"{self.trained} trained", f"{self.reused} reused"]
        if self.failed:
            words.append(f"{self.failed} failed")
        if self.not_run:
            words.append(f"{len(self.not_run)} runs NOT RUN")
        return f"trials: {', '.join(words)} in {self.wall_s:.0f} s"


@dataclass(eq=False)
class Dispatch:
    """The jobs of one run: an executor takes them from here, and what becomes of them is stored.
    Jobs come in the order given, each held back until the one that it needs is done. What an
    executor has to say of a job, it says to `display`."""

    _jobs: Sequence[Job]
    display: Display
    _store: Store
    _execution: Execution
    _verbose: bool = False

    def __post_init__(self) -> None:
        self._place = {job.name: i for i, job in enumerate(self._jobs)}
        self._held: dict[TrialName, list[int]] = defaultdict(list)
        self._ready: list[int] = []
        self._tried = Counter[tuple[TrialName, float | None]]()
        for i, job in enumerate(self._jobs):
            if job.needs in self._place:
                self._held[job.needs].append(i)
            else:
                heappush(self._ready, i)

    def next(self) -> Job | None:
        """Takes the first job that may begin now; None if there is none."""
        return self._jobs[heappop(self._ready)] if self._ready else None

    def put_back(self, job: Job) -> None:
        heappush(self._ready, self._place[job.name] - len(self._jobs))  # indexes from the end

    def settle(self, job: Job, result: Result) -> None:
        """Keeps a result, and the failure of all that needs it; or has the job tried again."""
        if isinstance(result, Failed) and result.again:
            tried = job.name, self._store.saved_at(job.config, job.seed)
            self._tried[tried] += 1
            if self._tried[tried] < ATTEMPTS:
                self.put_back(job)
                return
        held = self._held.pop(job.name, [])
        if self.keep(job, result):
            for place in held:
                heappush(self._ready, place)
            return
        reason = f"the run that it starts from failed ({job.config.description})"
        for place in held:
            self.settle(self._jobs[place], Failed(reason))

    def killed(self, job: Job, how: str) -> None:
        """Settles a job whose worker is gone; `how` says what is known of the worker's end."""
        self.settle(job, Failed(f"its worker was killed {ATTEMPTS} times ({how})", again=True))

    def keep(self, job: Job, result: Result) -> bool:
        """Stores a result, once for every job; says whether other trials can start from it."""
        failed = self._save(job, result) if isinstance(result, Done) else result
        if failed is None:
            self._execution.trained += 1
        else:
            self._execution.errors[job.name] = failed.message
            self._store.save_error(job.config, job.seed, failed.message, failed.details)
            details = f"\n{failed.details}" if self._verbose else ""
            self.display.say(f"ERROR: {job.label}: {failed.message}{details}")
        self.display.ended(job.name, failed=failed is not None)
        return failed is None

    def _save(self, job: Job, result: Done) -> Failed | None:
        if result.source != fingerprint.digest(self._store.source_of(job.config)):
            return Failed("its source was edited while it was trained; run again")
        try:
            self._store.save(job.config, job.seed, result.outcome, result.provenance)
        except ValueError as error:
            return Failed(str(error))
        return None

    def encoder_of(self, job: Job) -> Path | None:
        if job.config.init_from is None or job.needs is None:
            return None
        record = self._store.find(job.config.init_from, job.needs[1])
        if record is None:
            said = f"the trial that {job.config.description} starts from is gone from the store"
            raise StoreError(f"{said}; the same command trains it again")
        return self._store.encoder_path(record)
