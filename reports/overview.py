"""What a reader must see first: counts over one paper or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.reports.layout import CLAIMS, VERDICTS

_ORDERS = {
    "verdicts": tuple(VERDICTS),
    "claims": tuple(CLAIMS),
    "findings": ("inconsistent", "undecidable"),
}
_JUDGED = {
    "REPRODUCED", "DISCREPANT", "COMPATIBLE", "SHIFTED", "INCONCLUSIVE", "EXACT", "MISPRINT?",
}  # fmt: skip
"""Verdicts that hold a number of ours against the printed one."""


def counts(
    boards: Iterable[Scoreboard], what: Literal["verdicts", "claims", "findings"]
) -> dict[str, int]:
    """How many cells, claims or audit findings carry each word that occurs, in a fixed order.

    A finding that concerns two tables counts once.
    """
    found = Counter[str]()
    for board in boards:
        found.update(getattr(board, what))
    return {word: found[word] for word in _ORDERS[what] if word in found}


def headline(boards: Sequence[Scoreboard]) -> str:
    """The one sentence that a reader must not get wrong."""
    words = Counter(counts(boards, "verdicts"))
    if len(boards) > 1:
        judged = [f"{n} {word}" for word, n in words.items() if word in _JUDGED]
        sentence = (
            f"{len(boards)} papers, {words.total()} printed cells: "
            f"{', '.join(judged) or 'none judged against the print'}."
        )
        if words["SCALED"]:
            sentence += (
                f" {words['SCALED']} SCALED cells come from other data or a shorter protocol: they "
                "are shown for comparison and never count as reproduced."
            )
        return sentence
    [board] = boards
    if board.external:
        return f"{board.external} {_counted_cells(words)}"
    if board.scaled and not words.keys() & {"REPRODUCED", "DISCREPANT", "COMPATIBLE", "SHIFTED"}:
        return (
            f"A {board.profile} run: no published number has been reproduced or refuted here. "
            "Its numbers come from other data or a shorter protocol and are shown for comparison; "
            "what it can judge is whether the paper's comparisons hold."
        )
    return _counted_cells(words)


def _counted_cells(words: Counter[str]) -> str:
    return (
        f"{words['REPRODUCED']} of {words.total()} cells reproduced, "
        f"{words['DISCREPANT']} discrepant, {words['SCALED']} scaled (never judged)."
    )


def name(boards: Sequence[Scoreboard]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.profile for one in boards))
    what = boards[0].paper if len(boards) == 1 else f"{len(boards)} papers"
    return f"{what}, {profiles}"
