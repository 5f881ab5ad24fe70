"""What a reader must see first: counts over one paper or several, and why cells were not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmark.results import CellResult, Report, TableResult
from reports import layout

STATUSES = ("inconsistent", "undecidable")
"""Statuses of the audit findings that a report holds, worst first."""


def cells(reports: Iterable[Report]) -> list[CellResult]:
    """Every cell of every report."""
    return [cell for one in reports for table in one.tables for cell in table.cells]


def verdicts(reports: Sequence[Report]) -> dict[str, int]:
    """How many cells carry each verdict that occurs, in the order of a scoreboard."""
    return _ordered(layout.VERDICTS, (cell.verdict.word for cell in cells(reports)))


def claims(reports: Sequence[Report]) -> dict[str, int]:
    """How many claims carry each word that occurs."""
    words = (claim.word for one in reports for _, claim in layout.all_claims(one))
    return _ordered(layout.CLAIMS, words)


def findings(reports: Sequence[Report]) -> dict[str, int]:
    """How many audit findings have each status; one that concerns two tables counts once."""
    found = {
        one.id: one.status
        for report in reports
        for table in report.tables
        for one in table.findings
    }
    return _ordered(dict.fromkeys(STATUSES, ""), found.values())


def reasons(tables: Iterable[TableResult]) -> list[tuple[str, int]]:
    """Why cells were not run, with how many each, the commonest first."""
    why = Counter(
        cell.verdict.reason
        for table in tables
        for cell in table.cells
        if cell.verdict.word == "NOT RUN"
    )
    return why.most_common()


def headline(reports: Sequence[Report]) -> str:
    """The one sentence that a reader must not get wrong, over all reports."""
    if len(reports) == 1:
        return layout.headline(reports[0])
    counts = verdicts(reports)
    total = sum(counts.values())
    scaled = counts.get("SCALED", 0)
    judged = [f"{n} {word}" for word, n in counts.items() if word in layout.JUDGED]
    sentence = (
        f"{len(reports)} papers, {total} printed cells: "
        f"{', '.join(judged) or 'none judged against the print'}."
    )
    if scaled:
        sentence += (
            f" {scaled} SCALED cells come from other data or a shorter protocol: they are shown "
            "for comparison and never count as reproduced."
        )
    return sentence


def name(reports: Sequence[Report]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.profile for one in reports))
    what = reports[0].paper if len(reports) == 1 else f"{len(reports)} papers"
    return f"{what}, {profiles}"


def _ordered(order: Mapping[str, str], words: Iterable[str]) -> dict[str, int]:
    counts = Counter(words)
    return {word: counts[word] for word in order if word in counts}
