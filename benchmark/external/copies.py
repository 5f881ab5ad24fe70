"""Trials that are given more than once, under other seeds or for another run.

By chance, two trials of a run lie within d with probability (2 d + step) / (2 sqrt(pi) SD), as of
normal ones, with steps of their digits. Whole percents are often alike by chance, so copies among
them do not show; nor do those of trials without spread, which decide nothing anyway.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import chi2, poisson

from ..claims.nodes import Values
from ..metrics import MetricRange, metric
from ..planning.plan import PlannedCell
from ..spec.model import CellKey
from .binding import run_of

_LEVEL = 1e-3  # what chance makes less often are copies
_NEAR = 0.02  # how near, in SDs of its run, a value with noise is to its copy
_RESULTS = 16  # results of one run that are equally likely, at most
_UNITS = 5  # of the last digit are a step, as it may be of few test images
_COMPARED = 50  # runs that a run is compared with, those with the nearest values
_SORTED = 5  # trials of a run from which on their order says something


@dataclass(frozen=True, eq=False)
class _Run:
    """Trials by seed of one run of a table, as cells show them; without values at an end of their
    metric, since many trials reach it."""

    cells: Sequence[PlannedCell]
    trials: Mapping[int, float]

    @cached_property
    def values(self) -> np.ndarray:
        return np.sort([*self.trials.values()])

    @cached_property
    def sd(self) -> float:
        """Of the trials on the larger side of a wide gap that differ, since some may collapse."""
        gaps = np.append(np.diff(self.values), 0.0)
        sides = np.split(self.values, [int(gaps.argmax()) + 1])
        most = max(sides, key=lambda side: (len({*side}) > 1, len(side)))
        is_apart = 2 * gaps.max() > np.ptp(self.values) and np.ptp(most) > 0
        values = most if is_apart else self.values
        return float(np.std(values, ddof=1)) if np.ptp(values) > 0 else 0.0

    @cached_property
    def unit(self) -> float:
        """Of the last digit that any value has."""
        texts = (f"{one:.6f}".rstrip("0") for one in self.values)
        return 10.0 ** -max(len(text.partition(".")[2]) for text in texts)

    @cached_property
    def near(self) -> float:
        return max(_NEAR * self.sd, self.unit / 2) + 1e-9

    def few(self, sd: float) -> float:
        """How often chance makes so few values that are apart, where most are there twice or more.
        A run that sometimes collapses has one such value. `sd`: of a typical run."""
        gaps = np.diff(self.values)
        is_near = gaps <= self.near
        n, k = len(self.values), len(self.values) - int(is_near.sum())
        places = (is_near & ~np.append(False, is_near[:-1])).sum()
        within, step = float(gaps[is_near].max(initial=0.0)), _UNITS * self.unit
        likely = 1 / _by_chance(min(sd, self.sd), within, step)
        if 2 * k > n + 1 or 2 * places <= k or likely <= k:
            return 1.0
        ways = math.lgamma(likely + 1) - math.lgamma(k + 1) - math.lgamma(likely - k + 1)
        return math.exp(min(0.0, ways + n * math.log(k / likely)))


def _by_chance(sd: float, within: float, step: float) -> float:
    """How often two trials are so near each other."""
    return min(1.0, (2 * within + step) / (2 * math.sqrt(math.pi) * sd)) if sd else 1.0


def _typical_sd(runs: Sequence[_Run]) -> float:
    return float(np.median([one.sd for one in runs if one.sd] or [0.0]))


def _runs(cells: Iterable[PlannedCell], values: Values) -> list[_Run]:
    found = defaultdict[tuple[object, ...], list[PlannedCell]](list)
    for one in cells:
        cell = one.cell
        found[cell.table, cell.metric, cell.unit, one.read, run_of(one)].append(one)
    runs = []
    for same in found.values():
        cell = same[0].cell
        ends = (metric(cell.metric) or MetricRange()).bounds(cell.unit)
        trials = values.get(cell.key, {}).items()
        runs.append(_Run(same, {seed: value for seed, value in trials if value not in ends}))
    return [one for one in runs if one.trials]


def distinct_runs(cells: Iterable[PlannedCell], values: Values) -> list[Mapping[int, float]]:
    """The trials of each run of one table by seed, by its first cell."""
    found = reversed(_runs(cells, values))
    return [*{run_of(one.cells[0]): one.trials for one in found}.values()]


def copied_seeds(runs: Sequence[Mapping[int, float]]) -> dict[int, int]:
    """By seed that repeats an earlier one in all runs, two or more, that one; none by chance."""
    first: dict[tuple[float | None, ...], int] = {}
    copies, agreeing = dict[int, int](), len(runs)
    known = [_Run((), run) for run in runs if run]
    sd = _typical_sd(known)
    chances = (_by_chance(sd, 0.0, _UNITS * one.unit) for one in known if sd)
    equal = max([1 / _RESULTS, *chances])
    seeds = sorted({seed for run in runs for seed in run})
    for seed in seeds:
        trial = tuple(run.get(seed) for run in runs)
        if first.setdefault(trial, seed) != seed:
            copies[seed] = first[trial]
            agreeing = min(agreeing, sum(value is not None for value in trial))
    by_chance = math.comb(len(seeds), 2) * equal**agreeing
    shown = agreeing > 1 and poisson.sf(len(copies) - 1, by_chance) < _LEVEL / 10
    return copies if shown else {}


def said_of_copies(cells: Iterable[PlannedCell], given: Values) -> dict[CellKey, str]:
    """What is said of cells whose given trials are no trials of their own."""
    runs = [one for one in _runs(cells, given) if one.sd > 0]
    said, sd = dict[CellKey, str](), _typical_sd(runs)
    chances = [max(one.few(sd), 1e-30) for one in runs]
    in_all = chi2.sf(-2 * sum(map(math.log, chances)), 2 * len(runs))
    for run, chance in zip(runs, chances, strict=True):
        if chance < 1 and min(len(runs) * chance, in_all) < _LEVEL:
            values = " or ".join(f"{one:g}" for one in np.unique(run.values)[:3])
            told = f"its {len(run.trials)} trials are copies of few, or nearly ({values}, ...)"
            said |= {one.cell.key: told for one in run.cells}
    for run, others in _alike(runs).items():
        first, more = [one.cells[0].cell.label for one in (run, *others[:2])], len(others) - 2
        named = " and ".join([*first, f"{more} more"] if more > 0 else first)
        told = f"{named} have the same trials, or nearly; give them for the run that made them"
        said |= {one.cell.key: told for one in run.cells}
    return said


def _alike(runs: Sequence[_Run]) -> dict[_Run, list[_Run]]:
    """By run the others that have its trials. Which of them was run is not known."""
    fine = [one for one in runs if len(np.unique(one.values)) > 2]
    fine.sort(key=lambda one: (len(one.values), one.values[0]))
    sd, level = _typical_sd(runs), math.log(_LEVEL / max(1, math.comb(len(runs), 2)))
    ties = float(np.mean([(np.diff(one.values) == 0).mean() for one in fine] or [0.0]))
    found = defaultdict[_Run, list[_Run]](list)
    for a, b in ((one, each) for i, one in enumerate(fine) for each in fine[i + 1 : i + _COMPARED]):
        if _log_chance(a, b, sd, ties) < level:
            found[a] += (b,)
            found[b] += (a,)
    return found


def _log_chance(a: _Run, b: _Run, sd: float, ties: float) -> float:
    """Logarithm of how often all trials of two runs are near each other by chance, seed by seed or
    in another order. `ties`: how often those of one run are."""
    if len(a.values) != len(b.values) or run_of(a.cells[0]) == run_of(b.cells[0]):
        return 0.0
    near, n = max(a.near, b.near), len(a.values)
    by_seed = max(abs(one - b.trials.get(seed, math.inf)) for seed, one in a.trials.items())
    within = min(by_seed, float(abs(a.values - b.values).max()))
    equal = _by_chance(min(sd, a.sd, b.sd), within, max(a.unit, b.unit))
    orders = math.lgamma(n + 1) if by_seed > near else 0.0
    return orders + n * math.log(max(ties, equal)) if within <= near else 0.0


def hides_copies(cells: Iterable[PlannedCell], given: Values) -> bool:
    """Whether a run has so few digits that all its values may be equal by chance."""
    runs = (one for one in _runs(cells, given) if one.sd > 0)
    return any(_by_chance(one.sd, 0.0, _UNITS * one.unit) == 1 for one in runs)


def sorted_runs(cells: Iterable[PlannedCell], given: Values) -> int:
    """How many runs there are, if the values of all rise with the seed, or of all fall."""
    runs = [one for one in _runs(cells, given) if len(one.trials) >= _SORTED and one.sd > 0]
    steps = [np.diff([one.trials[seed] for seed in sorted(one.trials)]) for one in runs]
    is_sorted = any(all((sign * step >= 0).all() for step in steps) for sign in (1, -1))
    return len(runs) if is_sorted and len(runs) > 1 else 0
