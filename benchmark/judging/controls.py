"""What positive controls decide: on data without one that is seen, a small run says nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TypeVar

from ..claims.answer import ClaimResult
from ..data_names import title
from ..planning.headroom import DataHeadroom
from ..results import TableResult

Controls = Mapping[str, Sequence[ClaimResult]] | str
"""The judged controls of a plan, by the data set that they read; or why none is judged."""
TableOrClaim = TypeVar("TableOrClaim", TableResult, ClaimResult)
_SILENT = "The miniature cannot speak on this"


def why_open(controls: Controls, data: Set[str]) -> str | None:
    """Why nothing is said of trials on these data sets; None where something is."""
    if isinstance(controls, str):
        return controls
    for name in sorted(data):
        for one in controls.get(name, ()):
            if one.word != "SEEN":
                how = "run" if one.word == "NOT RUN" else "seen"
                told = one.reason.rstrip(".")
                on = f"control `{one.id}` on {title(name)}"
                return f"{_SILENT}: {on} was not {how} ({told})."
        if name not in controls:
            those = (
                f"`{one.id}` reads {title(other)}" for other in controls for one in controls[other]
            )
            return (
                f"{_SILENT}: no control reads {title(name)}; {', '.join(those) or 'none was run'}."
            )
    return None


def under_controls(controls: Controls, found: TableOrClaim, data: Set[str]) -> TableOrClaim:
    """What trials on these data sets say of a table or claim, as far as controls allow."""
    if (why := why_open(controls, data)) is None or found.word in ("NOT COMPARED", "NOT RUN"):
        return found
    if isinstance(found, ClaimResult):
        answer = replace(found.answer, word="OPEN", reason=why, is_silenced=True)
        return replace(found, answer=answer)
    answers = tuple(replace(one, word="OPEN", reason=why) for one in found.answers)
    return replace(found, word="OPEN", reason=why, answers=answers)


def given(data: Iterable[str], rooms: Mapping[str, DataHeadroom]) -> str:
    """`given 3.1 [2.0, 4.2] points of headroom on digits`, for a claim that rests on headroom."""
    said = [
        rooms[one].said if one in rooms else f"unmeasured headroom on {title(one)}" for one in data
    ]
    return f"given {' and '.join(said)}" if said else ""


def parts(
    judged: Sequence[ClaimResult],
    controlled: Set[str],
    data: Set[str],
    rooms: Iterable[DataHeadroom],
) -> Iterator[str]:
    """`controls: 1 of 2 seen`, `not seen: a`, `pre-training has ... points of headroom on digits`.
    `data`: all that trained cells of tables read."""
    run = [one for one in judged if one.word != "NOT RUN"]
    yield f"controls: {sum(one.word == 'SEEN' for one in run)} of {len(run)} seen"
    for word in dict.fromkeys(one.word for one in judged if one.word != "SEEN"):
        yield f"{word.lower()}: {', '.join(one.id for one in judged if one.word == word)}"
    if lacking := sorted(data - controlled):
        yield f"no control reads {', '.join(map(title, lacking))}"
    yield from (room.line for room in rooms)
