"""How much a plan is: runs, the cells that share them, trials, and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.config import RunConfig
from benchmark.estimate import Estimator, elapsed
from benchmark.plan import Plan
from benchmark.progress import duration
from benchmark.store import Store
from benchmark.training import device_name


@dataclass(frozen=True)
class Estimate:
    """Seconds that the missing trials take with `workers` on `device`.

    learned: how many of them are estimated from stored trials; the others from one measured step.
    """

    seconds: float
    learned: int
    workers: int
    device: str


@dataclass(frozen=True)
class Summary:
    """A plan in numbers.

    trials, stored: how many there are, and how many of them the store holds. reasons: why cells
    have no run, with how many each. estimate: None where no trial is missing.
    """

    plan: Plan
    trials: int
    stored: int
    sharing: Mapping[RunConfig, int]
    reasons: Mapping[str, int]
    estimate: Estimate | None
    root: Path

    def lines(self) -> list[str]:
        """For a reader."""
        plan, shared = self.plan, [n for n in self.sharing.values() if n > 1]
        stages = Counter(run.stage for run in plan.runs).most_common()
        lines = [
            f"{plan.paper.id}, profile {plan.profile.name}"
            + (f" on {plan.on}" if plan.on else "")
            + f": {len(plan.cells)} cells, {sum(self.sharing.values())} of them measured",
            f"{len(plan.runs)} unique runs ({', '.join(f'{n} {stage}' for stage, n in stages)}); "
            f"{sum(shared)} cells share {len(shared)} of them",
            f"{self.trials} trials, {self.stored} of them in {self.root}",
        ]
        if plan.drawings:
            lines.insert(1, f"{len(plan.drawings)} runs drawn in figures without printed values")
        lines += [f"{n} cells without a run: {reason}" for reason, n in self.reasons.items()]
        return lines if self.estimate is None else [*lines, _time(self, self.estimate)]

    def as_plain(self) -> dict[str, Any]:
        """For a program: the same, and every run with the cells that read it and its seeds."""
        plan, left = self.plan, self.estimate
        return {
            "paper": plan.paper.id,
            "profile": plan.profile.name,
            "on": plan.on,
            "cells": len(plan.cells),
            "measured": sum(self.sharing.values()),
            "without_run": dict(self.reasons),
            "drawn": len(plan.drawings),
            "trials": self.trials,
            "stored": self.stored,
            "estimate": None if left is None else vars(left),
            "runs": [
                {
                    "key": run.key,
                    "stage": run.stage,
                    "description": run.description,
                    "cells": self.sharing.get(run, 0),
                    "seeds": list(plan.seeds(run)),
                    "start": None if run.start is None else run.start.key,
                }
                for run in plan.runs
            ],
        }


def summarize(
    plan: Plan, store: Store, *, device: str, workers: int, data_dir: Path | None = None
) -> Summary:
    """A plan in numbers; the time is for what `store` lacks, from `benchmark.estimate`."""
    trials = plan.trials_to_run()
    missing = [(run, seed) for run, seed in trials if store.find(run, seed) is None]
    reasons = Counter(one.reason for one in plan.cells if one.reason is not None)
    return Summary(
        plan=plan,
        trials=len(trials),
        stored=len(trials) - len(missing),
        sharing=plan.sharing(),
        reasons=dict(reasons.most_common()),
        estimate=_estimate(missing, store, device, workers, data_dir) if missing else None,
        root=store.root,
    )


def _estimate(
    missing: Sequence[tuple[RunConfig, int]],
    store: Store,
    device: str,
    workers: int,
    data_dir: Path | None,
) -> Estimate:
    known = Estimator(device, device_name(device), store.records(), data_dir)
    return Estimate(
        seconds=elapsed([(run, known.seconds(run)) for run, _ in missing], workers),
        learned=sum(known.has_learned(run) for run, _ in missing),
        workers=workers,
        device=device_name(device),
    )


def _time(summary: Summary, left: Estimate) -> str:
    slots = f"{left.workers} {'process' if left.workers == 1 else 'processes'} on {left.device}"
    return (
        f"about {duration(left.seconds)} for {summary.trials - summary.stored} trials with {slots} "
        f"(rough: {left.learned} by the times of stored trials, the others by one measured step of "
        "their network, which may be off by a factor of two or more)"
    )
