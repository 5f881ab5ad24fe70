"""Headline claims on other data, as `tools.headroom` recorded a paper's profile `headroom`."""

from collections import Counter
from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from ..claims.answer import ClaimAnswer, ClaimResult
from ..errors import SpecError
from ..planning.plan import Plan
from ..results import OnOtherData, TableResult
from . import first_lines

FILE, PROFILE = "headroom.json", "headroom"
_WHERE = {
    "fashion-excerpt": "On an excerpt of Fashion-MNIST",  # photographs, not drawn for a purpose
    "noise": "From encoders that learnt from noise",
}
_UNTRAINED = ("NOT RUN", "NOT COMPARED")
MOST = 4  # so many claims are named in the first sentence at most
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


def elsewhere(tables: Sequence[TableResult], records: Sequence[OnOtherData]) -> Iterator[str]:
    """`On an excerpt of Fashion-MNIST: it beats FedAvg, +39.3 [35.7, 42.9] points; ...`, and the
    same with a placebo. Of more than four claims it is counted how many have another answer.
    Left out are claims that were not run here, and those that no trial answers."""
    claims = [(table.id, claim) for table in tables for claim in table.claims]
    for data, where in _WHERE.items():
        there = {(one.table, one.claim): one.answer for one in records if one.data == data}
        both = [
            (claim, answer)
            for table, claim in claims
            if (answer := there.get((table, claim.id))) and claim.word not in _UNTRAINED
            if answer.kind != "counted"
        ]
        words = Counter(answer.word.lower() for claim, answer in both if claim.word != answer.word)
        if len(both) > MOST:
            counts = ", ".join(f"{n} {word}" for word, n in words.items()) or "none"
            differ = f"{words.total()} of {len(both)} headline claims have another status there"
            yield f"{where}: {differ}: {counts}."
        elif both:
            said = "; ".join(first_lines.clause(*one) + _numbers(*one) for one in both)
            yield f"{where}: {said}."


def _numbers(claim: ClaimResult, answer: ClaimAnswer) -> str:
    ours = answer.ours
    return "" if ours is None else f", {first_lines.interval(ours, claim.unit == '%')}"
