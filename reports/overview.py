"""What a reader must see first: counts over one paper or several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from ..benchmark.judging.scoreboard import Scoreboard
from .layout import CLAIMS, VERDICTS

_ORDERS = {
    "verdicts": tuple(VERDICTS),
    "claims": tuple(CLAIMS),
    "findings": ("inconsistent", "undecidable"),
}
_MEASURED = {"REPRODUCED", "DISCREPANT", "COMPATIBLE", "SHIFTED"}
"""Verdicts that hold a mean of ours against the printed number."""


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
    """What a reader must not get wrong beside the answer, whose counts it does not repeat.

    Empty where there is nothing.
    """
    words = Counter(counts(boards, "verdicts"))
    n = words["SCALED"]
    scaled = (
        f"{n} SCALED cell{'s come' if n > 1 else ' comes'} from other data or a shorter protocol, "
        "shown for comparison and never counted as reproduced."
        if n
        else ""
    )
    told: tuple[str, ...]
    if len(boards) > 1:
        earlier = ", ".join(one.paper for one in boards if one.earlier)
        told = (
            f"{len(boards)} papers, {words.total()} printed cells.",
            scaled,
            f"Trials of earlier code are shown of {earlier}." if earlier else "",
            next((one.unprotected for one in boards if one.unprotected), ""),
        )
    elif boards[0].external or words.keys() & _MEASURED or not boards[0].scaled:
        told = (boards[0].external, scaled, boards[0].earlier, boards[0].unprotected)
    else:
        own = (
            f"A {boards[0].profile} run: no published number has been reproduced or refuted here. "
            "Its numbers come from other data or a shorter protocol and are shown for comparison; "
            "what it can judge is whether the paper's comparisons hold."
        )
        told = (own, boards[0].earlier, boards[0].unprotected)
    return " ".join(filter(None, told))


def name(boards: Sequence[Scoreboard]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.profile for one in boards))
    what = boards[0].paper if len(boards) == 1 else f"{len(boards)} papers"
    return f"{what}, {profiles}"
