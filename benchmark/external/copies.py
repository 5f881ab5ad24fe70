"""Trials that are given more than once, for one run or for several, where that is no chance. Whole
numbers, such as counts, are trusted to come out equal."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean

from scipy.stats import poisson

from ..claims.nodes import Values
from ..metrics import MetricRange, metric
from ..planning.plan import PlannedCell
from ..spec.model import CellKey
from .binding import run_of

_RESULTS = 8  # results of one run that are taken to be equally likely, unless rounding leaves fewer
_AGREE = 1 / 32  # how often two runs agree in a trial, at least
_LEVEL = 1e-3  # repeats that chance makes less often than this are copies


def counted_once(trials: Mapping[int, float]) -> Mapping[int, float]:
    """The trials of a run; each value once if chance does not make so few values."""
    first = {value: seed for seed, value in sorted(trials.items(), reverse=True)}
    digits = max(len(f"{value:.6f}".rstrip("0").partition(".")[2]) for value in first)
    likely = min(_RESULTS, round((max(first) - min(first)) * 10**digits) + 1)
    k, n = min(len(first), likely), len(trials)
    is_chance = n < 3 if k == 1 else math.comb(likely, k) * (k / likely) ** n >= _LEVEL
    if is_chance or all(map(float.is_integer, first)):
        return trials
    return {first[value]: value for value in trials.values()}


def equal_runs(given: Values, cells: Sequence[PlannedCell]) -> dict[CellKey, str]:
    """What is said of cells whose trials are those of another run of their table; which of them was
    run is not known. Runs agree by chance as often as trials of one run do, here or among all.
    Values at an end of their metric are no evidence."""
    alike = defaultdict[tuple[object, ...], list[PlannedCell]](list)
    for one in cells:
        cell, trials = one.cell, given.get(one.cell.key, {})
        ends = (metric(cell.metric) or MetricRange()).bounds(cell.unit)
        if len(trials) > 1 and not all(x.is_integer() or x in ends for x in trials.values()):
            alike[cell.table, cell.metric, cell.unit, *trials.items()].append(one)
    found = [
        ([*given[same[0].cell.key].values()], {run_of(one): one.cell.label for one in same}, same)
        for same in alike.values()
    ]
    agree = max(_AGREE, fmean([0.0, *(_ties(values) for values, *_ in found)]))
    copies = [one for one in found if len(one[1]) > 1]
    n = sum(len(labels) - 1 for _, labels, _ in copies)
    chances = [max(agree, _ties(values)) ** len(values) for values, *_ in copies]
    if not n or poisson.sf(n - 1, (len(found) + n) * fmean(chances)) >= _LEVEL:
        return {}
    said = "have the same trials, seed by seed; give them once, for the run that made them"
    found_of = dict[CellKey, str]()
    for _, labels, same in copies:
        first, more = [*labels.values()][:3], len(labels) - 3
        named = " and ".join([*first, f"{more} more"] if more > 0 else first)
        found_of |= {one.cell.key: f"{named} {said}" for one in same}
    return found_of


def _ties(values: Sequence[float]) -> float:
    """Which share of pairs of trials are equal."""
    n = len(values)
    return sum(same * (same - 1) for same in Counter(values).values()) / (n * (n - 1))
