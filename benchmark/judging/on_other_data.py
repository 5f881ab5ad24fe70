"""Headline claims on other data, as `tools.headroom` recorded a paper's profile `headroom`."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from ..claims.answer import ClaimAnswer, ClaimResult
from ..data_names import title
from ..errors import SpecError
from ..planning.plan import Plan
from ..printable import plural
from ..results import OnOtherData, TableResult
from . import first_lines

FILE, PROFILE = "headroom.json", "headroom"
REAL = "fashion-excerpt"  # photographs: what letters were drawn for is seen there or not
MOST = 3  # so many claims are named in the first sentence at most
RECORDS = TypeAdapter(tuple[OnOtherData, ...])


def recorded(plan: Plan) -> tuple[OnOtherData, ...]:
    """What is recorded of a plan's profile; nothing of one with data or settings of the user's.
    Raises `SpecError` for a file that holds anything else."""
    paper, profile = plan.paper, plan.profile
    of_headroom = paper.profiles.get(PROFILE)
    file = paper.file.parent / FILE
    is_of_profile = of_headroom is not None and of_headroom.like == profile.name
    if not is_of_profile or plan.on or plan.sets or paper.readings or not file.exists():
        return ()
    try:
        found = RECORDS.validate_json(file.read_bytes())
    except ValueError as wrong:
        raise SpecError(f"{file} is no record of `tools.headroom`: {wrong}") from wrong
    return tuple(one for one in found if one.table in plan.tables)


def otherwise(tables: Iterable[TableResult], records: Sequence[OnOtherData]) -> str:
    """`On ... whether it beats IFCA is open, +4.6 [−0.5, 9.7] points; 1 other alike.`: the headline
    claims that real images answer otherwise. More than three are counted. Empty where nothing is
    recorded on real images. A claim that was not run here has no other answer there."""
    there = {(one.table, one.claim): one.answer for one in records if one.data == REAL}
    both = [
        (claim, answer)
        for table in tables
        for claim in table.claims
        if (answer := there.get((table.id, claim.id))) and claim.word != "NOT RUN"
    ]
    found = [(claim, answer) for claim, answer in both if claim.word != answer.word]
    if len(found) > MOST:
        counts = Counter(answer.word for _, answer in found).items()
        words = ", ".join(f"{n} {word.lower()}" for word, n in counts)
        said = f"{len(found)} of {len(there)} headline claims are answered otherwise: {words}"
    else:
        parts = [first_lines.clause(*one) + _numbers(*one) for one in found]
        alike = len(both) - len(found)
        rest = plural(alike, "other") if found else "all headline claims"
        parts += [f"{rest} alike"] if alike else []
        said = "; ".join(parts)
    return f" On {title(REAL)}: {said}." if said else ""


def _numbers(claim: ClaimResult, answer: ClaimAnswer) -> str:
    ours = answer.ours
    return "" if ours is None else f", {first_lines.interval(ours, claim.unit == '%')}"
