"""How much a plan is: runs, the cells that share them, trials, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..config import RunConfig
from ..store.store import Store
from .estimate import Kind, TrialTimes, kind_of
from .plan import Plan

Trial = tuple[RunConfig, int]
"""A run and a seed."""


@dataclass(frozen=True)
class Estimate:
    """How long the missing trials take with `workers` on `device`.

    seconds: of the trials of whose kind something has been measured.
    trials: how many are missing. own: those estimated from stored trials of the same run.
    unmeasured: by kind of run, those that no stored trial says anything about.
    longest: the run with the longest trial, and its seconds; None where nothing is measured.
    """

    seconds: float
    trials: int
    own: int
    unmeasured: Mapping[Kind, int]
    workers: int
    device: str
    longest: tuple[RunConfig, float] | None

    @property
    def left(self) -> int:
        """Trials of unmeasured kinds."""
        return sum(self.unmeasured.values())

    @property
    def said(self) -> str:
        """In a few words."""
        if self.longest is None:
            return "no time has been measured yet"
        more = f", and {self.left} trials of unmeasured kinds" if self.left else ""
        return f"about {duration(self.seconds)}{more}"

    def lines(self) -> list[str]:
        """For a reader: the time, what it is made from, and the longest trial."""
        slots = f"{self.workers} {'process' if self.workers == 1 else 'processes'} on {self.device}"
        lines = []
        if self.longest is not None:
            run, seconds = self.longest
            known = self.trials - self.left
            lines = [
                f"about {duration(self.seconds)} for {known} trials with {slots}: {self.own} by "
                f"stored trials of the same run, {known - self.own} by those of their kind, "
                "scaled by multiply-adds (expect a factor of up to 3)",
                f"longest trial: about {duration(seconds)}, {run.key} ({run.description})",
            ]
        if self.left:
            lines.append(
                f"no time for {self.left} trials of {len(self.unmeasured)} kinds: nothing like "
                f"them is stored that ran on {self.device}; `--measure` trains short trials of each"
            )
        return lines

    def as_plain(self) -> dict[str, Any]:
        """For a program."""
        names = ("seconds", "trials", "own", "workers", "device")
        longest = self.longest and {"key": self.longest[0].key, "seconds": self.longest[1]}
        return {
            **{name: getattr(self, name) for name in names},
            "unmeasured": self.left,
            "longest": longest,
        }


@dataclass(frozen=True)
class TimeEstimator:
    """Estimates how long trials take with `workers` on `device`."""

    of_one: TrialTimes
    device: str
    workers: int

    def of(self, missing: Iterable[Trial]) -> Estimate | None:
        """The time for trials, each counted once; None where there are none."""
        runs = [run for run, _ in dict.fromkeys(missing)]
        if not runs:
            return None
        each = {run: self.of_one.seconds(run) for run in dict.fromkeys(runs)}
        known = {run: seconds for run, seconds in each.items() if seconds is not None}
        return Estimate(
            seconds=elapsed([(run, known[run]) for run in runs if run in known], self.workers),
            trials=len(runs),
            own=sum(self.of_one.source(run) == "own trials" for run in runs),
            unmeasured=Counter(kind_of(run) for run in runs if run not in known),
            workers=self.workers,
            device=self.device,
            longest=max(known.items(), key=lambda one: one[1], default=None),
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
        ahead = "nothing is missing" if left is None else left.said
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
        return lines if left is None else [*lines, *left.lines()]

    def as_plain(self, of_one: TrialTimes) -> dict[str, Any]:
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
                    "estimate": of_one.as_plain(run),
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
