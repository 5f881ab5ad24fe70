"""What can be judged at the published protocol with the data at hand, and in which order it is run.

A number is judged only if its run departs in nothing from the paper, data included: of a set that
is missing or is not the release, the cells say so and are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..claims.nodes import CellKey, key_of
from ..config import RunConfig
from ..planning.looks_reached import with_starts
from ..planning.plan import Plan, PlannedCell
from ..planning.summary import Trial
from ..store.published import Name
from .data_availability import DataAvailability
from .progress import Progress

FIRST = 3
"""Trials of a cell that are made before the next cell is begun: the fewest that tell a spread from
two trials' luck (two have one degree of freedom, docs/verdicts.md)."""
IsThere = Callable[[RunConfig, int], bool]
"""Whether a trial is finished."""


@dataclass(frozen=True)
class Judgeable:
    """What of one plan can be judged here.

    cells: by run that can be trained here, the cells that read it.
    left: why every other printed number is left alone.
    """

    plan: Plan
    cells: Mapping[RunConfig, Sequence[CellKey]]
    left: Mapping[CellKey, str]


def judgeable(plan: Plan, available: DataAvailability) -> Judgeable:
    """Sorts out the printed numbers of a plan that training could judge."""
    cells: dict[RunConfig, list[CellKey]] = {}
    left: dict[CellKey, str] = {}
    for one in plan.cells:
        if one.cell.kind != "empirical" or one.cell.printed.value is None:
            continue
        reason = _reason(plan, one, available)
        if reason is None and one.config is not None:
            cells.setdefault(one.config, []).append(key_of(one.cell))
        else:
            left[key_of(one.cell)] = reason or "no run is bound to this cell"
    return Judgeable(plan, cells, left)


def _reason(plan: Plan, planned: PlannedCell, available: DataAvailability) -> str | None:
    """Why a cell cannot be judged here, or None."""
    if planned.config is None:
        return planned.reason
    if planned.departures:
        settings = dict.fromkeys(one.setting for one in planned.departures)
        return f"its run departs from the paper in {', '.join(settings)}"
    if plan.paper.table(planned.cell.table).margin_of(planned.cell) is None:
        return "the spec gives no margin to judge by"
    for run, _ in with_starts(planned.config, 0):
        reason = available.problem(run) or available.unreleased(run)
        if reason is not None:
            return reason
    return None


@dataclass(frozen=True)
class Wanted:
    """A run whose cells can be judged. seeds: its planned trials."""

    run: RunConfig
    seeds: Sequence[int]


def in_order(
    wanted: Sequence[Wanted],
    is_done: IsThere,
    has_weights: IsThere,
    seconds: Callable[[RunConfig], float],
) -> list[Trial]:
    """The trials to train, each after those that it starts from.

    Run by run the cheapest first, and of each run its first trials (`FIRST`); then, run by run
    again, the others that are planned. What a run starts from counts as its own cost, unless a
    cheaper run has brought it.

    is_done: whether a trial is finished. has_weights: whether others can start from a trial.
    seconds: of one trial of a run, estimated.
    """
    chosen: dict[Name, Trial] = {}
    for first, last in ((0, FIRST), (FIRST, None)):
        parts = [Wanted(one.run, one.seeds[first:last]) for one in wanted]
        # Looked up once: each look may read a file of the store.
        left = [list(_lacking(one, is_done, has_weights)) for one in parts]
        while left:
            left = [[one for one in trials if _name(one) not in chosen] for trials in left]
            costs = [sum(seconds(run) for run, _ in trials) for trials in left]
            cheapest = min(range(len(left)), key=lambda i: (costs[i], i))
            chosen |= {_name(trial): trial for trial in left.pop(cheapest)}
    return list(chosen.values())


def _lacking(wanted: Wanted, is_done: IsThere, has_weights: IsThere) -> Iterator[Trial]:
    """Seed by seed, what there is to train: each trial once, after what it starts from."""
    found: dict[Name, Trial] = {}
    for seed in wanted.seeds:
        if not is_done(wanted.run, seed):
            *starts, own = with_starts(wanted.run, seed)
            needed = [trial for trial in starts if not has_weights(*trial)]
            found |= {_name(trial): trial for trial in (*needed, own)}
    yield from found.values()


def _name(trial: Trial) -> Name:
    return trial[0].key, trial[1]


@dataclass
class Watched(Progress):
    """Progress that remembers which trials were begun, by name their labels."""

    begun: dict[Name, str] = field(default_factory=dict)

    def started(self, name: Name, label: str, weight: float) -> None:
        self.begun[name] = label
        super().started(name, label, weight)
