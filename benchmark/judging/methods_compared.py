"""Which methods a paper compares on which tasks, and how they come out over all of them.

A task is a column of a table: rows are its methods, by their labels. Columns that read the same
runs (at other rounds, in other metrics, in single trials) are one task, in the paper's commonest
metric. Tables name the same methods, so their tasks are judged together: the methods and tasks of
one metric that make the largest full rectangle, then the largest among the tasks that are left. It
counts as a comparison of methods where it has two tasks or more and its rows train with two
federated methods or more: rows that are settings of one method are an ablation.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..claims.nodes import key_of
from ..compared import Improvement, MethodRank, MethodsCompared
from ..config import RunConfig
from ..planning.plan import PlannedCell
from ..spec.model import Label
from ..stats import over_tasks
from ..stats.t_tests import holm
from .evidence import Evidence

_LARGER = (
    "accuracy", "novel_accuracy", "f1_", "auroc_", "nmi", "ari", "clustering_accuracy",
)  # fmt: skip
"""Metrics, or what begins them, of which more is better."""
_SMALLER = ("accuracy_sd", "accuracy_variance", "novel_accuracy_sd", "novel_accuracy_variance")
"""Of which less is better. Others (spreads of representations, ...) rank no methods."""


def direction(metric: str) -> int:
    """1 where more of a metric is better, -1 where less is, 0 where neither can be said."""
    if metric in _SMALLER:
        return -1
    return int(any(metric == one or (one[-1] == "_" and metric.startswith(one)) for one in _LARGER))


@dataclass(frozen=True)
class Task:
    """A column of a table in one metric: its cells by their rows."""

    table: str
    column: Label
    metric: str
    unit: str | None
    cells: Mapping[Label, PlannedCell]

    @property
    def kind(self) -> tuple[str, str | None]:
        return self.metric, self.unit

    @property
    def name(self) -> str:
        return f"table {self.table}, {'|'.join(self.column)}"

    @property
    def place(self) -> tuple[bool, float]:
        """How well it stands for its runs: rather all trials than one, and the latest round."""
        first = next(iter(self.cells.values()))
        at = first.read.at
        late = math.inf if at == "final" else -1.0 if at == "best" else float(at)
        return first.cell.trial is not None, -late

    def repeats(self, other: Task) -> bool:
        """Whether all rows that two columns share, two or more, read the same runs."""
        shared = self.cells.keys() & other.cells.keys()
        return len(shared) > 1 and all(
            self.cells[row].config == other.cells[row].config for row in shared
        )


@dataclass(frozen=True)
class Family:
    """Methods and the tasks that all of them share."""

    methods: tuple[Label, ...]
    tasks: tuple[Task, ...]

    @property
    def area(self) -> int:
        return len(self.methods) * len(self.tasks)

    @property
    def compares(self) -> bool:
        """Whether it says anything: two tasks, and methods that are more than settings of one."""
        trained = {_trained_by(self.tasks[0].cells[one].config) for one in self.methods}
        return len(self.tasks) > 1 and len(trained) > 1


def families(cells: Sequence[PlannedCell]) -> Iterator[Family]:
    """The comparisons of methods among planned cells, each task in one at most."""
    tasks = _tasks(cells)
    for kind in dict.fromkeys(task.kind for task in tasks):
        left = [task for task in tasks if task.kind == kind]
        while (found := _largest(left)) is not None:
            yield found
            left = [task for task in left if task not in found.tasks]


def compare(evidence: Evidence) -> tuple[MethodsCompared, ...]:
    """The comparisons of the plan's methods that have trials; without any, none."""
    found = (_compared(one, evidence) for one in families(evidence.plan.cells))
    return tuple(one for one in found if one is not None)


def _tasks(cells: Sequence[PlannedCell]) -> list[Task]:
    """The columns that compare rows, the commonest metric first; those of the same runs as one."""
    columns: dict[tuple[str, Label, str, str | None, str], dict[Label, PlannedCell]] = {}
    for one in cells:
        cell, config = one.cell, one.config
        if config is None or cell.metric is None or cell.kind != "empirical":
            continue
        if direction(cell.metric):
            place = (cell.table, cell.column, cell.metric, cell.unit, str(config.data["name"]))
            columns.setdefault(place, {})[cell.row] = one
    found = [Task(*place[:4], rows) for place, rows in columns.items() if len(rows) > 1]
    common = Counter(kind for task in found for kind in [task.kind] * len(task.cells))
    tasks: list[Task] = []
    for task in sorted(found, key=lambda task: (-common[task.kind], task.place)):
        same = next((i for i, other in enumerate(tasks) if task.repeats(other)), None)
        if same is None:
            tasks.append(task)
        elif task.kind == tasks[same].kind:
            tasks[same] = replace(tasks[same], cells={**task.cells, **tasks[same].cells})
    order = {place[:2]: i for i, place in enumerate(columns)}
    return sorted(tasks, key=lambda task: (-common[task.kind], order[task.table, task.column]))


def _largest(tasks: Sequence[Task]) -> Family | None:
    """The comparison with most cells; of several the first."""
    found = (
        Family(methods, tuple(task for task in tasks if task.cells.keys() >= set(methods)))
        for methods in _shared(tasks)
    )
    return max((one for one in found if one.compares), key=lambda one: one.area, default=None)


def _shared(tasks: Sequence[Task]) -> list[tuple[Label, ...]]:
    """Every set of two methods or more that some tasks have in common, in the tables' order."""
    order = tuple(dict.fromkeys(row for task in tasks for row in task.cells))
    sets: dict[frozenset[Label], None] = {}
    for task in tasks:
        own = frozenset(task.cells)
        sets |= dict.fromkeys([own, *(own & other for other in sets)])
    return [tuple(row for row in order if row in rows) for rows in sets if len(rows) > 1]


def _compared(family: Family, evidence: Evidence) -> MethodsCompared | None:
    """A comparison in numbers; None without two tasks and two trials that all methods have."""
    lacking = {task.name: why for task in family.tasks if (why := _lacks(task, family, evidence))}
    tasks = [task for task in family.tasks if task.name not in lacking]
    cells = [[task.cells[one] for one in family.methods] for task in tasks]
    found = [[evidence.cells[key_of(one.cell)].by_seed for one in row] for row in cells]
    seeds = set.intersection(*(set(one) for row in found for one in row)) if found else set()
    if len(tasks) < 2 or len(seeds) < 2:
        return None
    trials = sorted(seeds)
    values = np.array([[[one[seed] for seed in trials] for one in row] for row in found])
    values *= direction(tasks[0].metric)
    won = over_tasks.wins(values)
    by_trial, means = over_tasks.ranks(won), values.mean(axis=2)
    best_first = np.argsort(by_trial.mean(axis=1), kind="stable")
    pairs = list(itertools.combinations(map(int, best_first), 2))
    p_values = holm([over_tasks.signed_ranks(means[:, i] - means[:, j]) for i, j in pairs])
    n, tie = len(tasks), (len(family.methods) + 1) / 2
    return MethodsCompared(
        tasks=tuple((one.table, one.column, one.metric) for one in tasks),
        trials=len(trials),
        methods=tuple(
            MethodRank(
                method=family.methods[i],
                rank=float(by_trial[i].mean()),
                rank_interval=over_tasks.interval(
                    by_trial[i], tasks=n, tie=tie, low=1.0, high=len(family.methods)
                ),
            )
            for i in best_first
        ),
        pairs=tuple(
            Improvement(
                better=family.methods[i],
                other=family.methods[j],
                probability=float(won[i, j].mean()),
                interval=over_tasks.interval(won[i, j], tasks=n, tie=0.5, low=0.0, high=1.0),
                tasks_better=int((means[:, i] > means[:, j]).sum()),
                tasks_worse=int((means[:, i] < means[:, j]).sum()),
                p=p,
            )
            for (i, j), p in zip(pairs, p_values, strict=True)
        ),
        friedman_p=over_tasks.friedman(means),
        left_out=tuple(f"{name}: {why}" for name, why in lacking.items()),
        scaled=any(evidence.departures(one) for row in cells for one in row),
    )


def _trained_by(config: RunConfig | None) -> str | None:
    """The federated method behind a run, which may evaluate what another one trained."""
    while config is not None and config.stage == "measurement":
        config = config.start
    return None if config is None else config.method


def _lacks(task: Task, family: Family, evidence: Evidence) -> str | None:
    """Why a task cannot be compared: a method without any trial, or with one that failed."""
    for method in family.methods:
        trials = evidence.cells[key_of(task.cells[method].cell)]
        why = trials.missing or "; ".join(trials.failed)
        if why or not trials.found:
            return f"{'|'.join(method)}: {why or 'no trial'}"
    return None
