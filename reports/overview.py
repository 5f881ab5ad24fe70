"""What a reader must see first: counts over one paper or several."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from ..benchmark.judging.scoreboard import Scoreboard
from .layout import CLAIMS, TABLES, VERDICTS

_ORDERS = {
    "verdicts": tuple(VERDICTS),
    "claims": tuple(CLAIMS),
    "tables": tuple(TABLES),
    "findings": ("inconsistent", "undecidable"),
}


Counted = Literal["verdicts", "claims", "tables", "findings"]


def counts(boards: Iterable[Scoreboard], what: Counted) -> dict[str, int]:
    """How many cells, claims or audit findings (each once) carry each word, in a fixed order."""
    found = Counter[str]()
    for board in boards:
        found.update(getattr(board, what))
    return {word: found[word] for word in _ORDERS[what] if word in found}


def caution(boards: Sequence[Scoreboard]) -> str:
    """What a reader must not get wrong beside the answer; empty where there is nothing."""
    scaled = [one for one in boards if one.report.scaled and not one.external]
    told = [one.external for one in boards] + [one.earlier for one in boards]
    told += [one.unprotected for one in boards]
    if scaled:
        told.insert(
            0,
            "Other data or a shorter protocol: no published number is reproduced or refuted here.",
        )
    return " ".join(dict.fromkeys(filter(None, told)))


def name(boards: Sequence[Scoreboard]) -> str:
    """'cpcfl, reduced' or '5 papers, reduced'."""
    profiles = ", ".join(dict.fromkeys(one.report.profile for one in boards))
    what = boards[0].report.paper if len(boards) == 1 else f"{len(boards)} papers"
    return f"{what}, {profiles}"
