"""How much a plan is: runs, the cells that share them, trials, and the time that is left."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from ..store.store import Store
from .estimate import TrialTimes
from .plan import Plan


class Summary:
    """A plan in numbers.

    times: called only if `store` lacks a trial, or for a program.
    missing: the trials that the store lacks.
    sharing: how many cells read each run.
    reasons: why cells have no run, with how many each.
    """

    def __init__(self, plan: Plan, store: Store, times: Callable[[], TrialTimes]) -> None:
        trials = plan.trials_to_run()
        self.plan, self.root, self._times = plan, store.root, times
        self.trials = len(trials)
        self.missing = [(run, seed) for run, seed in trials if store.find(run, seed) is None]
        self.sharing = plan.sharing()
        reasons = Counter(one.reason for one in plan.cells if one.reason is not None)
        self.reasons = dict(reasons.most_common())
        self.estimate = times().of(self.missing) if self.missing else None

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

    def as_plain(self) -> dict[str, Any]:
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
                    "estimate": self._times().as_plain(run),
                    "config": run.as_dict(),
                }
                for run in plan.runs
            ],
        }
