"""The verdict of every cell of a table, whether its number is held against the print or not."""

from collections.abc import Sequence
from dataclasses import replace

from ..analytic import judge_analytic
from ..planning.plan import PlannedCell
from ..results import Verdict
from ..spec.model import Cell, CellKey, Margin, Table
from ..stats.intervals import describe
from .evidence import Evidence
from .published_value import published_values_of
from .verdicts import JudgedCell, judge_table

TOO_FEW = "Fewer trials than planned decide nothing."


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
            verdicts[cell.key] = _noted(verdict, _lacking(cell, evidence))
    sides = published_values_of(evidence.plan.paper, table) if judged else {}
    held = [
        JudgedCell(
            sides[cell.key],
            _counted(cell, evidence),
            margin.value,
            limit=100.0 if cell.unit == "%" else None,
        )
        for cell, margin in judged
    ]
    words = judge_table(held, " points" if table.unit == "%" else "")
    for (cell, margin), one, word in zip(judged, held, words, strict=True):
        there, counted = len(evidence.cells[cell.key].values), len(one.trials)
        more = f"Of {there} trials the first {counted} count: so many are declared."
        covered = _also_covered(table, cell, margin)
        verdicts[cell.key] = _noted(word, more if there > counted else "", covered)
    return verdicts


def _without_judging(table: Table, planned: PlannedCell, evidence: Evidence) -> Verdict | Margin:
    """The margin of a cell whose number is held against the print, else its verdict."""
    cell, trials = planned.cell, evidence.cells[planned.cell.key]
    if cell.kind == "analytic" and cell.skip is None:
        return judge_analytic(cell, trials.found[0] if trials.found else None)
    if cell.kind == "descriptive":
        return Verdict("DESCRIPTIVE", "Shown as printed; it is not a measurement of ours.")
    if cell.skip is None and cell.printed.is_dash:
        return Verdict("DESCRIPTIVE", "The paper prints a dash here.")
    if not trials.found:
        return Verdict("ERROR" if trials.is_error else "NOT RUN", _sentence(trials.missing or ""))
    value, sample = cell.printed.value, describe(trials.found)
    difference = None if value is None or sample is None else sample.mean - float(value)
    settings = list(dict.fromkeys(one.setting for one in evidence.departures(planned)))
    if settings:
        more = f" and {len(settings) - 4} more" if len(settings) > 4 else ""
        where = f"{', '.join(settings[:4])}{more}"
        why = f"Not judged: the run departs from the paper in {where}."
        return Verdict("SCALED", why, difference)
    if value is None:
        return Verdict("DESCRIPTIVE", "The paper prints no value here; a claim needs ours.")
    margin, last = table.margin_of(cell), evidence.plan.profile.last_look
    if last is not None and len(_counted(cell, evidence)) < last:
        once = f"a cell is judged once, with the {last} of the last interim analysis."
        why = f"{len(trials.found)} trials: {once}"
    elif last is None and trials.incomplete is not None:
        why = TOO_FEW
    elif margin is None:
        in_this = "" if table.margin is None else " in this unit"
        why = f"The spec gives no margin{in_this} to judge by."
    elif cell.printed.sd is not None and (table.sd.runs or 0) < 2:
        why = "The paper does not say of how many runs the printed spread is."
    else:
        return margin
    return Verdict("INCONCLUSIVE", why, difference)


def _counted(cell: Cell, evidence: Evidence) -> tuple[float, ...]:
    """The trials that a cell is judged with: no look at more than were declared."""
    seeds = evidence.cells[cell.key].values[: evidence.plan.profile.last_look]
    return tuple(value for value in seeds if value is not None)


def _also_covered(table: Table, cell: Cell, margin: Margin) -> str:
    """How many other rows of its column a wide margin covers; empty for one that tells them apart.

    A margin is wide if it exceeds half of the spread of the column's printed values.
    """
    own = cell.printed.value
    others = [
        one.printed.value
        for one in table.cells
        if (one.column, one.metric) == (cell.column, cell.metric)
        and one.row != cell.row
        and one.printed.value is not None
    ]
    if own is None or not others:
        return ""
    if margin.value <= float(max(own, *others) - min(own, *others)) / 2:
        return ""
    covered = sum(abs(float(other - own)) <= margin.value for other in others)
    return f"This margin also covers {covered} of {len(others)} other rows."


def _lacking(cell: Cell, evidence: Evidence) -> str:
    trials = evidence.cells[cell.key]
    if trials.incomplete is None and cell.kind == "analytic" and trials.failed:
        return _sentence(f"The count failed: {trials.missing}")
    return _sentence(trials.incomplete or "")


def _noted(verdict: Verdict, *more: str) -> Verdict:
    return replace(verdict, reason=" ".join(filter(None, (verdict.reason, *more))))


def _sentence(text: str) -> str:
    return text if text.endswith(".") or not text else f"{text}."
