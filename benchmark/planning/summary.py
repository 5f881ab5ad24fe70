"""How much a plan is: runs, the cells that share them, trials, and the time that is left."""

from collections import Counter
from collections.abc import Callable

from ..config import chain
from ..store.store import Store
from .estimate import TrialTimes
from .headroom import data_of, measured
from .plan import Plan, PlannedCell


class Summary:
    """A plan in numbers. `times`: called only if `store` lacks a trial. `missing`: the trials that
    the store lacks. `sharing`: how many cells read each run. `reasons`: why cells have no run, with
    how many each. `cells`: those of the paper, controls left out."""

    def __init__(self, plan: Plan, store: Store, times: Callable[[], TrialTimes]) -> None:
        trials = plan.trials_to_run()
        self.plan, self.root, self._store = plan, store.root, store
        self.trials = len(trials)
        self.missing = [(run, seed) for run, seed in trials if store.find(run, seed) is None]
        self.sharing = plan.sharing()
        self.stored = self.trials - len(self.missing)
        self.cells = [one for one in plan.cells if one not in plan.controls]
        self.measured = sum(one.config is not None for one in self.cells)
        reasons = Counter(one.reason for one in self.cells if one.reason is not None)
        self.reasons = dict(reasons.most_common())
        self.estimate = times().of(self.missing) if self.missing else None

    @property
    def controls(self) -> list[str]:
        """What controls cost, and the headroom that stored trials say; nothing without any."""
        plan = self.plan
        if not plan.controls:
            return []
        others = {run for one in (*self.cells, *plan.drawings) for run in chain(one.config)}
        own = [run for run in plan.runs if run not in others]
        data = ", ".join(dict.fromkeys(filter(None, map(data_of, plan.controls))))
        n = sum(len(table.claims) for table in plan.paper.tables if table.is_control)
        trials = sum(len(plan.seeds(run)) for run in own)
        line = (
            f"{n} {'control' if n == 1 else 'controls'} on {data}: {len(plan.controls)} cells, "
            f"with {len(own)} runs of their own ({trials} trials)"
        )
        room = measured(plan.controls, self._stored, self._stored)
        return [line, *(one.line for one in room.values())]

    def _stored(self, planned: PlannedCell) -> list[float]:
        run, name = planned.config, planned.cell.metric or ""
        found = [self._store.find(run, seed) for seed in self.plan.seeds(run)] if run else []
        scale = 100.0 if planned.cell.unit == "%" else 1.0
        records = [one for one in found if one is not None and name in one.metrics]
        return [scale * one.value(name, planned.read) for one in records]

    def line(self) -> str:
        plan, left = self.plan, self.estimate
        ahead = "nothing is missing" if left is None else left.said
        return (
            f"{plan.paper.id}: {len(self.cells)} cells, {len(plan.runs)} unique runs, "
            f"{self.trials} trials, {self.stored} of them stored; {ahead}"
        )

    def lines(self) -> list[str]:
        plan, shared = self.plan, [n for n in self.sharing.values() if n > 1]
        stages = Counter(run.stage for run in plan.runs).most_common()
        drawn = f"{len(plan.drawings)} runs drawn in figures without printed values"
        lines = [
            f"{plan.paper.id}, profile {plan.profile.name}"
            + (f" on {plan.on}" if plan.on else "")
            + (f", series {plan.profile.series}" if plan.profile.series else "")
            + f": {len(self.cells)} cells, {self.measured} of them measured",
            *([drawn] if plan.drawings else []),
            f"{len(plan.runs)} unique runs ({', '.join(f'{n} {stage}' for stage, n in stages)}); "
            f"{sum(shared)} cells share {len(shared)} of them",
            f"{self.trials} trials, {self.stored} of them in {self.root}",
            *self.controls,
        ]
        if plan.profile.looks:
            looks = ", ".join(map(str, plan.profile.looks))
            more = f"run {plan.paper.id} --profile {plan.profile.name} --until-decided"
            lines.append(f"interim analyses of claims with {looks} trials: `fedrepro {more}`")
        lines += [f"{n} cells without a run: {reason}" for reason, n in self.reasons.items()]
        left = self.estimate
        return [*lines, *(() if left is None else left.lines())]
