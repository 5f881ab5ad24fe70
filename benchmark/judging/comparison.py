"""What moved between two judged reports, or between a recorded baseline and a report.

Seed k is the same trial on both sides. What the earlier side has and the later one lacks (a cell, a
trial, a claim, a table) is a regression. So is a worse word; where versions or processors differ,
an opposite one alone is. What other seeds may give comes from the earlier trials alone: a run
cannot widen its own tolerance. With s their deviation, n and m the numbers of trials of both sides,

* a mean may move by t * s * sqrt(1/n + 1/m), t of Student's t with n - 1 degrees of freedom.
* a deviation s' may not exceed s by more than Fisher's F allows, nor unlike trials become equal.
* the mean over all cells of a method, taken trial by trial, may move as a cell's mean may.

The three questions share `LEVEL`: so often is unchanged code called changed, if trials are normal.
Each divides its third among what it compares (Bonferroni). Below three trials nothing may move.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..errors import FedreproError
from ..metrics import metric, outside
from ..results import CellResult, Provenance, Report
from ..stats.intervals import LEVEL, t_quantile
from .baseline import AUDIT, Recorded, RecordedCell, place_of, recorded

TrialValues = Sequence[float]
ABSENT = "missing"
NOTHING_SHARED = "both sides need tables of one paper and profile; they share none"
_FEWEST = 3
_EXACT = 1e-9
_RANKS = {
    "HOLDS": 3, "PASS": 3, "SEEN": 3, "REPRODUCED": 3, "SAME DIRECTION": 2,
    "OPPOSITE": 0, "FAIL": 0, "NOT SEEN": 0, "DISCREPANT": 0,
}  # fmt: skip
"""Of cells, claims and tables; a lower rank is worse. All other words are between."""
_WORDS = ("verdict", "claim", "table")


@dataclass(frozen=True)
class Movement:
    """One thing that is not the same on both sides.

    `where`: cell `3: CP-CFL|SimCLR @ T = 25`, claim `3: id`, table `3`, or method `methods: fedavg,
    accuracy`. `before`, `after`: word, or number as text; 'missing' where a side lacks it.
    `difference`: of the means, in the cell's unit. `regression`: beyond tolerance, a worse word, or
    something lost."""

    what: Literal[
        "value", "verdict", "claim", "table", "trials", "spread", "method", "failure", "spec"
    ]
    where: str
    before: str
    after: str
    difference: float | None = None
    regression: bool = False
    tolerance: float | None = None

    @property
    def size(self) -> str:
        if self.difference is None or self.tolerance is None:
            return ""
        side = "beyond" if self.regression else "within"
        return f" ({self.difference:+.3g}, {side} the tolerance of {self.tolerance:.3g})"

    @property
    def sentence(self) -> str:
        return f"{self.where}: {self.what} {self.before} -> {self.after}{self.size}"


@dataclass(frozen=True)
class BaselineCheck:
    """One paper against its baseline.

    `compared`: how many cells, tables and claims. `failed`: trials that failed here and not in the
    baseline, a sentence each. `inexact`: why numbers were compared by tolerance although equal ones
    were asked for. `blind`: cells whose mean may fall to the end of its metric unseen. `stored`:
    how the process that made the trials differs from this one."""

    baseline: Recorded
    compared: int
    movements: tuple[Movement, ...]
    failed: tuple[str, ...]
    inexact: str = ""
    blind: tuple[str, ...] = ()
    stored: str = ""

    @property
    def regressions(self) -> tuple[Movement, ...]:
        return tuple(one for one in self.movements if one.regression)

    @property
    def passed(self) -> bool:
        return not self.regressions and not self.failed


def compare(before: Recorded, after: Recorded, report: Report | None = None) -> list[Movement]:
    """What moved; an empty list says that nothing did.

    `report`: the later side in full, so that means over the cells of a method are compared, too.
    Raises `FedreproError` if the sides have no table in common: that would compare nothing."""
    if not before.tables.keys() & after.tables.keys():
        raise FedreproError(NOTHING_SHARED)
    found: list[Movement] = []
    for place in dict.fromkeys((*before.cells, *after.cells)):
        found += _moved(place, before.cells.get(place), after.cells.get(place), before)
    if report is not None:
        found += _of_methods(before, after, report)
    found += _reworded("table", before.tables, after.tables)
    found += _reworded("claim", before.claims, after.claims)
    for one in (one for one in before.failed if one not in after.failed):
        found.append(Movement("failure", one, "failed", "not as recorded"))
    if any(one.spread is None for one in before.cells.values()):
        found.append(Movement("spec", "printed spreads, claims' words", "not recorded", "unknown"))
    for place, then in before.stated.items():
        if then != (now := after.stated.get(place, then)):
            told = place == AUDIT or place.endswith(", says")
            found.append(Movement("spec", place, then, now, regression=not told))
    return found


def check(baseline: Recorded, report: Report, *, exact: bool = False) -> BaselineCheck:
    """A report against its baseline.

    `exact`: whether every changed number is a regression, where versions and processor are those of
    the baseline. Raises `FedreproError` for a baseline of another paper, profile, data set or
    series, without a trained cell of the report, or with values beyond their metric."""
    for name in ("paper", "profile", "on", "series"):
        then, here = getattr(baseline, name), getattr(report, name)
        if then != here:
            raise FedreproError(f"{name} is {then} in the baseline and {here} in this report")
    now = recorded(report)
    if not baseline.trained.keys() & now.cells.keys():
        raise FedreproError("the baseline has no trained cell of this report; record it again")
    for place, cell in _cells(report):
        old = baseline.cells.get(place)
        for value in () if old is None else old.by_seed.values():
            if (problem := outside(value, cell.metric, cell.unit)) is not None:
                raise FedreproError(f"the baseline is damaged: {place}: {problem}")
    moved = compare(baseline, now, report)
    inexact = unlike(baseline, now)
    turned = [one for one in moved if one.what in _WORDS and one.after not in (ABSENT, "NOT RUN")]
    if turned and inexact:
        # Words at a threshold turn by what rounding moves; numbers have their tolerance.
        kept = [x for x in turned if _RANKS.get(x.before, 1) < 2 or _RANKS.get(x.after, 1)]
        moved = [replace(one, regression=False) if one in kept else one for one in moved]
    elif not exact:
        inexact = ""
    elif not inexact:
        moved = [
            replace(one, regression=True, tolerance=0.0) if one.what == "value" else one
            for one in moved
        ]
    cells = baseline.cells.keys() & (baseline.trained.keys() | now.trained.keys())
    return BaselineCheck(
        baseline,
        len(cells) + len(baseline.tables) + len(baseline.claims),
        tuple(moved),
        tuple(one for one in now.failed if one not in baseline.failed),
        inexact,
        blind_cells(baseline, report),
    )


def _cells(report: Report) -> Iterator[tuple[str, CellResult]]:
    for table in (*report.tables, *report.controls):
        for cell in table.cells:
            yield place_of(table.id, cell.row, cell.column), cell


def blind_cells(baseline: Recorded, report: Report) -> tuple[str, ...]:
    """The cells whose recorded trials spread so much that no fall of their mean is a regression.
    Raises `FedreproError` if all are: such a gate measures nothing."""
    compared, trained = baseline.compared, baseline.trained
    blind = dict[str, bool]()
    for place, cell in _cells(report):
        if place not in trained or (known := metric(cell.metric)) is None:
            continue
        old, (low, high) = [*trained[place].by_seed.values()], known.bounds(cell.unit)
        mean, allowed = float(np.mean(old)), mean_tolerance(old, len(old), compared)
        worst = mean + allowed >= high if known.lower_is_better else mean - allowed <= low
        blind[place] = worst and allowed > 0
    if blind and all(blind.values()):
        why = "the recorded trials spread so much that any fall is within the tolerance"
        raise FedreproError(f"no cell can regress: {why}; record more trials, or more rounds")
    return tuple(place for place, is_blind in blind.items() if is_blind)


def unlike(then: Recorded | Provenance, now: Recorded | Provenance) -> str:
    """Why numbers need not be equal to the last bit; empty where they must be."""
    a, b = ({"device": one.device, **one.versions} for one in (then, now))
    return "; ".join(
        f"{name} was {a.get(name, ABSENT)} and is {b.get(name, ABSENT)}"
        for name in sorted(a.keys() | b.keys())
        if name != "fedrepro" and a.get(name) != b.get(name)
    )


def _is_part(cell: RecordedCell, side: Recorded) -> bool:
    """Whether a cell shows single trials of a run; another cell has all, which is compared."""
    own = cell.by_seed.items()
    return 0 < len(own) < 3 and any(
        one.run == cell.run and len(one.by_seed) > 2 and own <= one.by_seed.items()
        for one in side.cells.values()
    )


def _moved(
    place: str, old: RecordedCell | None, new: RecordedCell | None, side: Recorded
) -> Iterator[Movement]:
    """`side`: the earlier one in whole."""
    a, b = (ABSENT if one is None else one.verdict for one in (old, new))
    before, after = ({} if one is None else one.by_seed for one in (old, new))
    is_lost = bool(before) and not after
    if is_lost or a != b:
        yield Movement("verdict", place, a, b, regression=is_lost or _is_worse(a, b))
    if old is None or new is None:
        return
    then, now = (f"{one.published} (margin {one.margin})" for one in (old, new))
    for name in ("metric", "read", "spread"):
        was, here = getattr(old, name), getattr(new, name)
        if was not in (None, here):
            then, now = f"{then}, {name} {was or 'none'}", f"{now}, {name} {here or 'none'}"
    if then != now:
        yield Movement("spec", place, then, now, regression=True)
    if old.run and new.run and old.run != new.run:
        then, now = f"run {old.run[:12]}", f"run {new.run[:12]}, with other settings"
        yield Movement("spec", place, then, now)
    if not before or not after:
        if after and a == b:
            yield Movement("trials", place, "0", str(len(after)))
        return
    if lost := len(before.keys() - after.keys()):
        kept = f"{len(before) - lost} of these"
        yield Movement("trials", place, str(len(before)), kept, regression=True)
    x, y = list(before.values()), list(after.values())
    if before.keys() == after.keys() and np.abs(np.subtract(x, y)).max() <= _EXACT:
        return
    if not _is_part(old, side):
        yield _move("value", place, x, y, side.compared)
    if spread_changed(x, y, side.compared):
        was, now = (f"{np.std(trials, ddof=1):.3g}" for trials in (x, y))
        yield Movement("spread", place, was, now, regression=True)


def _move(
    what: Literal["value", "method"], where: str, old: TrialValues, new: TrialValues, compared: int
) -> Movement:
    """From the mean of old trials to that of new ones; a regression beyond its tolerance."""
    allowed, was, now = mean_tolerance(old, len(new), compared), np.mean(old), np.mean(new)
    difference = float(now - was)
    is_beyond = abs(difference) > max(allowed, _EXACT)
    return Movement(what, where, f"{was:.4g}", f"{now:.4g}", difference, is_beyond, allowed)


def _of_methods(before: Recorded, after: Recorded, report: Report) -> Iterator[Movement]:
    """Methods and metrics whose mean over all their cells left its tolerance. Cells of single
    trials are left out: few seeds would be those of all cells of a method."""
    methods = {run.key: run.config.get("method") for run in report.runs}
    groups = {
        place: f"methods: {method}, {cell.metric}"
        for place, cell in _cells(report)
        if (method := methods.get(cell.run or ""))
    }
    cells: dict[str, dict[tuple[float | None, ...], str]] = {}
    there = after.trained
    for place, old in before.trained.items():
        if place in there and place in groups and not _is_part(old, before):
            cells.setdefault(groups[place], {}).setdefault(old.trials, place)
    for where, distinct in cells.items():
        old_means, new_means = (
            _means_by_trial([side.cells[place].by_seed for place in distinct.values()])
            for side in (before, after)
        )
        if len(distinct) < 2 or len(old_means) < 3 or not new_means:
            continue
        move = _move("method", where, old_means, new_means, len(cells))
        if move.regression:
            yield move


def _reworded(
    what: Literal["claim", "table"], before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Movement]:
    for place in dict.fromkeys((*before, *after)):
        a, b = before.get(place, ABSENT), after.get(place, ABSENT)
        if a != b:
            yield Movement(what, place, a, b, regression=_is_worse(a, b))


def _is_worse(before: str, after: str) -> bool:
    """Whether a word is worse than another; a missing one is worse than any."""
    ranks = _RANKS.get(before, 1), _RANKS.get(after, 1)
    return after == ABSENT or (before != ABSENT and ranks[1] < ranks[0])


def mean_tolerance(old: TrialValues, trials: int, compared: int) -> float:
    """How far the mean of `trials` new trials may be from that of the old ones."""
    n = len(old)
    if n < _FEWEST:
        return 0.0
    t = t_quantile(1 - LEVEL / 3 / compared / 2, n - 1)
    return t * float(np.std(old, ddof=1)) * math.sqrt(1 / n + 1 / trials)


def spread_changed(old: TrialValues, new: TrialValues, compared: int) -> bool:
    """Whether the new trials spread more than the old ones allow, or not at all."""
    from scipy import stats

    if len(old) < _FEWEST or len(new) < 2:
        return False
    before, after = float(np.var(old, ddof=1)), float(np.var(new, ddof=1))
    if not before or not after:
        return before != after
    most = stats.f.isf(LEVEL / 3 / compared, len(new) - 1, len(old) - 1)
    return after / before > float(most)


def _means_by_trial(cells: Sequence[Mapping[int, float]]) -> list[float]:
    seeds = sorted(set.intersection(*map(set, cells)))
    return [sum(cell[seed] for cell in cells) / len(cells) for seed in seeds]
