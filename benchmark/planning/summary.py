"""How much a plan is: runs, the cells that share them, trials, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..config import RunConfig
from ..store.store import Store
from .plan import Plan

if TYPE_CHECKING:
    # What a plan without missing trials does not need.
    from .estimate import TrialTimeEstimator

Trial = tuple[RunConfig, int]
"""A run and a seed."""


UNCERTAINTY = (
    "of 36 trials that were measured, 24 were within a factor of 1.5 of their estimate and 34 "
    "within 2, in processor time"
)
"""What `docs/estimates.md` shows."""


@dataclass(frozen=True)
class Estimate:
    """Seconds that the missing trials take with `workers` on `device`.

    trials: how many are missing.
    learned: how many of them are estimated from stored trials, the others from counted operations.
    longest: the missing run with the longest trial. memory: the most bytes that a trial needs.
    """

    seconds: float
    trials: int
    learned: int
    workers: int
    device: str
    longest: RunConfig
    longest_s: float
    memory: int

    def line(self) -> str:
        """For a reader."""
        slots = f"{self.workers} {'process' if self.workers == 1 else 'processes'} on {self.device}"
        return (
            f"about {duration(self.seconds)} for {self.trials} trials with {slots} "
            f"({self.learned} by the times of stored trials, the others by counted operations and "
            f"this device's speed: {UNCERTAINTY}; what else the machine does comes on top)"
        )

    def longest_line(self) -> str:
        """The longest trial and the memory of a trial, for a reader."""
        run = self.longest
        return (
            f"longest trial: about {duration(self.longest_s)}, {run.key} ({run.description}); "
            f"a trial needs up to about {self.memory / 2**20:,.0f} MiB"
        )

    def as_plain(self) -> dict[str, Any]:
        """For a program."""
        names = ("seconds", "trials", "learned", "workers", "device")
        longest = {"key": self.longest.key, "seconds": self.longest_s}
        return {
            **{name: getattr(self, name) for name in names},
            "longest": longest,
            "memory": self.memory,
        }


@dataclass(frozen=True)
class TimeEstimator:
    """Estimates how long trials take with `workers` on `device`."""

    of_one: TrialTimeEstimator
    device: str
    workers: int

    def of(self, missing: Iterable[Trial]) -> Estimate | None:
        """The time for trials, each counted once; None where there are none."""
        runs = [run for run, _ in dict.fromkeys(missing)]
        if not runs:
            return None
        each = {run: self.of_one.of(run) for run in dict.fromkeys(runs)}
        longest = max(each, key=lambda run: each[run].seconds)
        return Estimate(
            seconds=elapsed([(run, each[run].seconds) for run in runs], self.workers),
            trials=len(runs),
            learned=sum(each[run].source != "calibrated" for run in runs),
            workers=self.workers,
            device=self.device,
            longest=longest,
            longest_s=each[longest].seconds,
            memory=max(one.memory.total for one in each.values()),
        )


@dataclass(frozen=True)
class Summary:
    """A plan in numbers.

    trials: how many there are.
    missing: those that the store lacks.
    reasons: why cells have no run, with how many each.
    estimate: None where no trial is missing.
    """

    plan: Plan
    trials: int
    missing: tuple[Trial, ...]
    sharing: Mapping[RunConfig, int]
    reasons: Mapping[str, int]
    estimate: Estimate | None
    root: Path

    @property
    def stored(self) -> int:
        return self.trials - len(self.missing)

    def line(self) -> str:
        """One among those of several papers."""
        plan, left = self.plan, self.estimate
        ahead = "nothing is missing" if left is None else f"about {duration(left.seconds)}"
        return (
            f"{plan.paper.id}: {len(plan.cells)} cells, {len(plan.runs)} unique runs, "
            f"{self.trials} trials, {self.stored} of them stored; {ahead}"
        )

    def lines(self) -> list[str]:
        """For a reader."""
        plan, shared = self.plan, [n for n in self.sharing.values() if n > 1]
        stages = Counter(run.stage for run in plan.runs).most_common()
        lines = [
            f"{plan.paper.id}, profile {plan.profile.name}"
            + (f" on {plan.on}" if plan.on else "")
            + (f", series {plan.profile.series}" if plan.profile.series else "")
            + f": {len(plan.cells)} cells, {sum(self.sharing.values())} of them measured",
            f"{len(plan.runs)} unique runs ({', '.join(f'{n} {stage}' for stage, n in stages)}); "
            f"{sum(shared)} cells share {len(shared)} of them",
            f"{self.trials} trials, {self.stored} of them in {self.root}",
        ]
        if plan.drawings:
            lines.insert(1, f"{len(plan.drawings)} runs drawn in figures without printed values")
        if plan.profile.looks:
            looks = ", ".join(map(str, plan.profile.looks))
            more = f"run {plan.paper.id} --profile {plan.profile.name} --until-decided"
            lines.append(f"claims may be looked at with {looks} trials: `fedrepro {more}`")
        lines += [f"{n} cells without a run: {reason}" for reason, n in self.reasons.items()]
        left = self.estimate
        return lines if left is None else [*lines, left.line(), left.longest_line()]

    def as_plain(self, of_one: TrialTimeEstimator) -> dict[str, Any]:
        """For a program: the same, and every run with its cells, seeds, config and estimate."""
        plan, left = self.plan, self.estimate
        return {
            "paper": plan.paper.id,
            "profile": plan.profile.name,
            "on": plan.on,
            "series": plan.profile.series,
            "looks": list(plan.profile.looks),
            "cells": len(plan.cells),
            "measured": sum(self.sharing.values()),
            "without_run": dict(self.reasons),
            "drawn": len(plan.drawings),
            "trials": self.trials,
            "stored": self.stored,
            "estimate": None if left is None else left.as_plain(),
            "runs": [
                {
                    "key": run.key,
                    "stage": run.stage,
                    "description": run.description,
                    "cells": self.sharing.get(run, 0),
                    "seeds": list(plan.seeds(run)),
                    "start": None if run.start is None else run.start.key,
                    "estimate": of_one.of(run).as_plain(),
                    "config": run.as_dict(),
                }
                for run in plan.runs
            ],
        }


def summarize(plan: Plan, store: Store, estimator: Callable[[], TimeEstimator]) -> Summary:
    """A plan in numbers; `estimator` is called only if `store` lacks a trial."""
    trials = plan.trials_to_run()
    missing = tuple((run, seed) for run, seed in trials if store.find(run, seed) is None)
    reasons = Counter(one.reason for one in plan.cells if one.reason is not None)
    return Summary(
        plan=plan,
        trials=len(trials),
        missing=missing,
        sharing=plan.sharing(),
        reasons=dict(reasons.most_common()),
        estimate=estimator().of(missing) if missing else None,
        root=store.root,
    )


def elapsed(trials: Sequence[tuple[RunConfig, float]], workers: int) -> float:
    """Wall seconds of trials (run, seconds) on `workers` processes: at least the longest chain."""
    own = dict(trials)

    def chain(config: RunConfig | None) -> float:
        return 0.0 if config is None else own.get(config, 0.0) + chain(config.start)

    longest = max((chain(config) for config in own), default=0.0)
    return max(sum(seconds for _, seconds in trials) / max(workers, 1), longest)


def duration(seconds: float) -> str:
    """Seconds as people say them: '8 s', '7 min', '2.5 h', '3 days'."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
