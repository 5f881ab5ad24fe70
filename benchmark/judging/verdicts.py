"""Verdicts: what may be said about a printed number, given our trials and a margin.

Pure functions over numbers; `docs/verdicts.md` defines the words. Choices made here:

* Rounding counts against whatever is claimed: equivalence must hold for the farthest value that
  prints like the published one, discrepancy for the nearest.
* Where the paper prints no spread for the experiment, its value is one more draw from the
  distribution of our trials: SE = s * sqrt(1 + 1/n), n - 1 degrees of freedom. That is right only
  if it spreads as ours do, so the verdict says up to which ratio of the spreads it stands. No ratio
  is demanded: none has a source, and the sentence with its ratio keeps 5 % whatever the truth is
  (see `Assessment.stands_to`).
* A spread from another table (`judging.published_value`) may be larger or smaller than ours: both
  must allow what is said.
* Our own deviations are not pooled: cells of a table share seeds, so their errors are dependent.
* The test behind DISCREPANT counts both tails (`stats.spread.p_beyond`).
* Trials that all gave one value leave their spread unknown, and decide nothing.

`tests/benchmark/test_verdict_error_rates.py` simulates the error rates.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..analytic import judge_analytic
from ..planning.plan import PlannedCell
from ..results import Detail, Verdict
from ..spec.model import Cell, CellKey, Margin, Table
from ..stats.intervals import LEVEL, Sample, describe, t_quantile
from ..stats.spread import holm, p_beyond, p_equivalent, p_text, standard_errors
from .evidence import Evidence
from .published_value import PublishedValue, published_values_of


@dataclass(frozen=True)
class JudgedCell:
    """What a verdict rests on, in the table's unit."""

    published: PublishedValue
    trials: tuple[float, ...]
    margin: float


@dataclass(frozen=True)
class Assessment:
    """The numbers behind one verdict.

    `nearest`, `farthest`: the smallest and the largest |difference| that rounding allows. `errors`:
    of the difference, with degrees of freedom. `p_beyond`: `judge_table` corrects it over the
    table."""

    ours: Sample
    margin: float
    difference: float
    nearest: float
    farthest: float
    errors: Sequence[tuple[float, float]]
    p_equivalent: float
    p_beyond: float

    def half_width(self, level: float) -> float:
        """Of the interval of the difference whose bounds hold at this one-sided level each."""
        return max(t_quantile(level, df) * error for error, df in self.errors)

    @property
    def word(self) -> Detail:
        # Half the width of the interval in which a replication's mean falls with 95 % probability.
        replication = self.half_width(0.975)
        rounding = self.farthest - abs(self.difference)
        if self.p_equivalent < LEVEL:
            return "REPRODUCED"
        if self.p_beyond < LEVEL:
            return "DISCREPANT"
        if self.nearest > replication:
            return "SHIFTED"
        if self.farthest <= replication and replication + rounding <= self.margin:
            return "COMPATIBLE"
        return "INCONCLUSIVE"

    @property
    def stands_to(self) -> float:
        """The largest ratio of the paper's spread to ours at which the cell is still REPRODUCED.

        From farthest + t * s * sqrt(1/n + r^2) = margin. If r is the true ratio, the answer is at
        least r exactly when the test at r rejects. So "REPRODUCED up to this ratio" is wrong in at
        most 5 % of cases for every r."""
        t = t_quantile(1 - LEVEL, self.ours.n - 1)
        reach = (self.margin - self.farthest) / (t * self.ours.sd)
        return math.sqrt(max(1.0, reach**2 - 1 / self.ours.n))


def assess(cell: JudgedCell) -> Assessment | None:
    """The numbers behind a verdict, None for trials without spread."""
    trials, published = describe(cell.trials), cell.published
    if trials is None or trials.n < 2 or trials.flat:
        return None
    mean = trials.mean
    nearest = max(0.0, published.low - mean, mean - published.high)
    farthest = max(abs(mean - published.low), abs(mean - published.high))
    errors = standard_errors(trials.sd, trials.n, published.spread)
    return Assessment(
        ours=trials,
        margin=cell.margin,
        difference=mean - published.value,
        nearest=nearest,
        farthest=farthest,
        errors=errors,
        p_equivalent=max(p_equivalent(farthest, *one, cell.margin) for one in errors),
        p_beyond=max(p_beyond(nearest, *one, cell.margin) for one in errors),
    )


def judge_table(cells: Sequence[JudgedCell], suffix: str = "") -> list[Verdict]:
    """Verdicts of the judged cells of one table, DISCREPANT corrected over all of them (Holm).
    `suffix`: follows a number in the reasons, such as " points"."""
    assessed = [assess(cell) for cell in cells]
    adjusted = iter(holm([one.p_beyond for one in assessed if one is not None]))
    return [
        _undecided(cell)
        if one is None
        else _verdict(cell.published, replace(one, p_beyond=next(adjusted)), suffix)
        for cell, one in zip(cells, assessed, strict=True)
    ]


def _undecided(cell: JudgedCell) -> Verdict:
    n = len(cell.trials)
    difference = float(np.mean(cell.trials)) - cell.published.value if n else None
    reason = f"All {n} trials gave the same value, so their spread is not known."
    if n < 2:
        reason = f"{n} trial{'s' if n != 1 else ''}: a spread needs at least two."
    return Verdict("INCONCLUSIVE", reason, difference)


_REASONS: Mapping[Detail, str] = {
    "REPRODUCED": "The {shown} and its 90 % interval, rounding included, lie within {margin} "
    "({equivalent}).",
    "DISCREPANT": "The {shown} lies beyond {margin} ({beyond} after Holm's correction over the "
    "table).",
    "SHIFTED": "The {shown} is outside the {within}, but not shown to be beyond {margin}.",
    "COMPATIBLE": "The {shown} is inside the {within}; equivalence within {margin} is not shown.",
    "INCONCLUSIVE": "The {shown} with standard error {error} is neither shown to be within "
    "{margin} nor beyond.",
}


def _verdict(published: PublishedValue, one: Assessment, suffix: str) -> Verdict:
    half, word = one.half_width(1 - LEVEL), one.word
    reason = _REASONS[word].format(
        shown=f"difference {one.difference:+.3g}{suffix}".replace("-", "−"),
        margin=f"±{one.margin:.3g}{suffix}",
        within=f"±{one.half_width(0.975):.3g}{suffix} in which 95 % of replications fall",
        error=f"{max(error for error, _ in one.errors):.3g}{suffix}",
        equivalent=p_text(one.p_equivalent),
        beyond=p_text(one.p_beyond),
    )
    interval = (one.difference - half, one.difference + half)
    verdict = _noted(Verdict(word, reason, one.difference, interval), published.note)
    if published.spread is not None:
        return verdict
    if word != "REPRODUCED":
        return _noted(verdict, "The paper's spread is not printed and taken to be ours.")
    # With one decimal, never rounded up.
    most = f"{math.floor(one.stands_to * 10) / 10:.1f}" if one.stands_to < 100 else "100"
    more = "This stands as long as the paper's spread, which it does not print, is at most "
    return _noted(replace(verdict, stands_to=one.stands_to), f"{more}{most} times ours.")


def cell_verdicts(
    table: Table, cells: Sequence[PlannedCell], evidence: Evidence
) -> dict[CellKey, Verdict]:
    """The verdict of every planned cell of a table, each of which says which trials it lacks."""
    verdicts: dict[CellKey, Verdict] = {}
    judged: list[tuple[Cell, Margin]] = []
    for planned in cells:
        cell, verdict = planned.cell, _without_judging(table, planned, evidence)
        if isinstance(verdict, Margin):
            judged.append((cell, verdict))
        else:
            trials = evidence.cells[cell.key]
            lacking = trials.incomplete
            if lacking is None and cell.kind == "analytic" and trials.failed:
                lacking = f"The count failed: {trials.missing}"
            verdicts[cell.key] = _noted(verdict, _sentence(lacking))
    sides = published_values_of(evidence.plan.paper, table) if judged else {}
    held = [
        JudgedCell(sides[cell.key], _counted(cell, evidence), margin.value)
        for cell, margin in judged
    ]
    words = judge_table(held, " points" if table.unit == "%" else "")
    for (cell, margin), one, word in zip(judged, held, words, strict=True):
        there, counted = len(evidence.cells[cell.key].found), len(one.trials)
        more = f"Of {there} trials the first {counted} count: so many are declared."
        covered = _also_covered(table, cell, margin)
        verdicts[cell.key] = _noted(word, more if there > counted else "", covered)
    return verdicts


def _without_judging(table: Table, planned: PlannedCell, evidence: Evidence) -> Verdict | Margin:
    """The margin of a cell that is compared with its published value, else its verdict."""
    cell, trials = planned.cell, evidence.cells[planned.cell.key]
    if cell.kind == "analytic" and cell.skip is None:
        return judge_analytic(cell, trials.found[0] if trials.found else None)
    if cell.kind == "descriptive":
        return Verdict("DESCRIPTIVE", "Shown as printed; it is not a measurement of ours.")
    if cell.skip is None and cell.printed.is_dash:
        return Verdict("DESCRIPTIVE", "The paper prints a dash here.")
    if not trials.found:
        return Verdict("ERROR" if trials.is_error else "NOT RUN", _sentence(trials.missing))
    value, sample = cell.printed.value, describe(trials.found)
    difference = None if value is None or sample is None else sample.mean - float(value)
    settings = list(dict.fromkeys(one.setting for one in evidence.departures(planned)))
    if settings:
        more = f" and {len(settings) - 4} more" if len(settings) > 4 else ""
        why = f"Not judged: the run departs from the paper in {', '.join(settings[:4])}{more}."
        return Verdict("SCALED", why, difference)
    if value is None:
        return Verdict("DESCRIPTIVE", "The paper prints no value here; a claim needs ours.")
    margin, last = table.margin_of(cell), evidence.plan.profile.last_look
    if last is not None and len(_counted(cell, evidence)) < last:
        once = f"a cell is judged once, with the {last} of the last interim analysis."
        why = f"{len(trials.found)} trials: {once}"
    elif last is None and trials.incomplete is not None:
        why = "Fewer trials than planned decide nothing."
    elif margin is None:
        in_this = "" if table.margin is None else " in this unit"
        why = f"The spec gives no margin{in_this} to judge by."
    elif cell.printed.sd is not None and (table.sd.runs or 0) < 2:
        why = "Of how many runs the printed spread is, the spec does not say (`runs` under `[sd]`)."
    else:
        return margin
    return Verdict("INCONCLUSIVE", why, difference)


def _counted(cell: Cell, evidence: Evidence) -> tuple[float, ...]:
    """The trials that a cell is judged with: never more than were declared."""
    values = [*evidence.cells[cell.key].trials.values()][: evidence.plan.profile.last_look]
    return tuple(value for value in values if value is not None)


def _also_covered(table: Table, cell: Cell, margin: Margin) -> str:
    """How many other rows of its column a wide margin covers; empty for one that tells them apart.
    A margin is wide if it exceeds half of the spread of the column's printed values."""
    column = (one for one in table.cells if (one.column, one.metric) == (cell.column, cell.metric))
    values = {one.row: one.printed.value for one in column if one.printed.value is not None}
    own = values.pop(cell.row, None)
    others = values.values()
    if not others or own is None or 2 * margin.value <= max(own, *others) - min(own, *others):
        return ""
    covered = sum(abs(float(other - own)) <= margin.value for other in others)
    return f"This margin also covers {covered} of {len(others)} other rows."


def _noted(verdict: Verdict, *more: str) -> Verdict:
    return replace(verdict, reason=" ".join(filter(None, (verdict.reason, *more))))


def _sentence(text: str | None) -> str:
    return f"{text}." if text and not text.endswith(".") else text or ""
