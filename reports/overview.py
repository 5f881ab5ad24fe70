"""What a reader must see first: counts over one paper or several, and why cells were not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.reports import layout

STATUSES = ("inconsistent", "undecidable")
"""Statuses of the audit findings that a report holds, worst first."""


def verdicts(boards: Iterable[Scoreboard]) -> dict[str, int]:
    """How many cells carry each verdict that occurs, in the order of a scoreboard."""
    return _added(layout.VERDICTS, (board.verdicts for board in boards))


def claims(boards: Iterable[Scoreboard]) -> dict[str, int]:
    """How many claims carry each word that occurs."""
    return _added(layout.CLAIMS, (board.claims for board in boards))


def findings(boards: Iterable[Scoreboard]) -> dict[str, int]:
    """How many audit findings have each status; one that concerns two tables counts once."""
    return _added(STATUSES, (board.findings for board in boards))


def headline(boards: Sequence[Scoreboard]) -> str:
    """The one sentence that a reader must not get wrong, over all papers."""
    if len(boards) == 1:
        return layout.headline(boards[0])
    counts = verdicts(boards)
    total = sum(counts.values())
    scaled = counts.get("SCALED", 0)
    judged = [f"{n} {word}" for word, n in counts.items() if word in layout.JUDGED]
    sentence = (
        f"{len(boards)} papers, {total} printed cells: "
        f"{', '.join(judged) or 'none judged against the print'}."
    )
    if scaled:
        sentence += (
            f" {scaled} SCALED cells come from other data or a shorter protocol: they are shown "
            "for comparison and never count as reproduced."
        )
    return sentence


def name(boards: Sequence[Scoreboard]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.profile for one in boards))
    what = boards[0].paper if len(boards) == 1 else f"{len(boards)} papers"
    return f"{what}, {profiles}"


def _added(order: Iterable[str], counted: Iterable[Mapping[str, int]]) -> dict[str, int]:
    counts = Counter[str]()
    for one in counted:
        counts.update(one)
    return {word: counts[word] for word in order if word in counts}
