"""The first lines of a report: what was found, on what, how surely, and what it rests on.

The sentence is made by rule from the headline claims of the spec, whose table, column and metric
are fixed there. It never picks a weaker baseline, a better round or a better metric.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..claims.answer import AnswerWord, ClaimAnswer
from ..stats.intervals import Interval
from .leads import Lead
from .table_answer import TableAnswer, TableWord, bare_label

_SENTENCES: Mapping[AnswerWord, str] = {
    "HOLDS": "{clause}",
    "SAME DIRECTION": "{clause}, in the same direction as published",
    "OPPOSITE": "the opposite of “{clause}” is seen",
    "ABSENT": "at most a quarter is seen of what is published for “{clause}”",
    "OPEN": "whether {clause} is open",
    "NOT COMPARED": "“{clause}” is not compared",
    "NOT RUN": "“{clause}” was not run",
}
LARGER = 2.0
"""A ratio above this is more than published, not as published."""
_SHORT: Mapping[AnswerWord, str] = {
    "HOLDS": "yes",
    "SAME DIRECTION": "same direction",
    "OPPOSITE": "opposite",
    "ABSENT": "absent",
    "OPEN": "open",
    "NOT COMPARED": "not compared",
    "NOT RUN": "not run",
}
_CLAIMS: Mapping[AnswerWord, tuple[str, str]] = {
    "HOLDS": ("holds", "hold"),
    "SAME DIRECTION": ("goes the same way", "go the same way"),
    "OPPOSITE": ("is opposite", "are opposite"),
    "ABSENT": ("is absent", "are absent"),
    "OPEN": ("is open", "are open"),
    "NOT COMPARED": ("is not compared", "are not compared"),
    "NOT RUN": ("was not run", "were not run"),
}


@dataclass(frozen=True)
class Headline:
    """A headline claim with its answer.

    Attributes:
        table: the id of its table.
        clause: what it says, such as `it beats FedAvg`.
        answer: of our trials.
        points: whether its values are percentages.
    """

    table: str
    clause: str
    answer: ClaimAnswer
    points: bool


@dataclass(frozen=True)
class TableLine:
    """A table in the first lines.

    Attributes:
        id: of the table.
        word: of the table.
        answer: by its first metric, None where nothing was compared.
        leads: of the own methods.
        points: whether its values are percentages.
    """

    id: str
    word: TableWord
    answer: TableAnswer | None
    leads: tuple[Lead, ...]
    points: bool


@dataclass(frozen=True)
class FirstLines:
    """What a report says first.

    Attributes:
        sentence: what was found.
        run_on: what it was run on.
        evidence: the numbers behind the sentence.
        totals: how many tables and claims came out how.
    """

    sentence: str = ""
    run_on: str = ""
    evidence: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()


def sentence(name: str, headlines: Sequence[Headline], has_others: bool = False) -> str:
    """What was found, in one sentence.

    Args:
        name: of the paper, as it calls its method.
        headlines: in the order of the spec.
        has_others: whether the spec has headline claims that are not shown.
    """
    if not headlines:
        if has_others:
            return f"{name}: its headline claims are about tables that are not shown."
        return f"{name}: its spec marks no headline claim."
    if all(one.answer.word == "NOT RUN" for one in headlines):
        return f"{name}: not all was run that its headline claims need."
    return f"{name}: {'; '.join(map(_clause, headlines))}."


def _clause(one: Headline) -> str:
    """What was found of one headline claim; beside what is printed, where that says the same."""
    answer = one.answer
    said = _SENTENCES[answer.word].format(clause=one.clause)
    if answer.word == "HOLDS" and answer.ratio is not None:
        return (
            f"{said}, by more than published"
            if answer.ratio.mean > LARGER
            else f"{said}, as printed"
        )
    if answer.word == "SAME DIRECTION" and answer.kind == "direction":
        against = (
            "no number is published"
            if answer.printed is None
            else "the published numbers do not say so"
        )
        return f"{one.clause} here, where {against}"
    return said


def evidence(headlines: Sequence[Headline], tables: Sequence[TableLine]) -> Iterator[str]:
    """The numbers behind the sentence: each headline claim, and the lead in its table."""
    for claim in headlines:
        yield f"{claim.clause} (table {claim.table}): {_answered(claim)}"
    named = {one.table for one in headlines}
    for table in tables:
        for one in table.leads if table.id in named else ():
            said = _led(one, table.points)
            yield f"table {table.id}, {one.own} against the best baseline: {said}"


def totals(
    tables: Sequence[TableLine],
    claims: Sequence[ClaimAnswer],
    contradictions: int | None,
    pooled: TableAnswer | None,
    failed: int = 0,
) -> Iterator[str]:
    """How many tables and claims came out how, of all that there are.

    Args:
        tables: of the report.
        claims: all there are.
        contradictions: among printed numbers, None where they were not looked for.
        pooled: all tables of the first metric together, None where they share no two trials.
        failed: cells' trials that failed.
    """
    if failed:
        yield f"trials failed behind cells: {failed}"
    words = Counter(one.word for one in tables)
    shown = [f"{words[word]} {word.lower()}" for word in ("PASS", "FAIL", "OPEN")]
    shown += [f"{words[w]} {w.lower()}" for w in ("NOT COMPARED", "NOT RUN") if words[w]]
    yield f"tables: {', '.join(shown)}"
    if pooled is not None:
        without = ""
        if pooled.rests_on is not None:
            without = f", {pooled.without_it:.2f} without {bare_label(pooled.rests_on)}"
        yield f"differences {pooled.retention.mean:.2f} times the printed{without}"
    elif any(one.answer is not None for one in tables):
        yield "differences of all tables together: fewer than two trials are common to all"
    said = Counter(one.word for one in claims)
    counted = sum(one.word == "HOLDS" and one.kind == "counted" for one in claims)
    parts = [
        f"{n} {_CLAIMS[word][n != 1]}" for word in _CLAIMS if (n := said[word]) or word == "HOLDS"
    ]
    if counted:
        parts[0] += f" ({counted} of them counted)"
    noun = "claim" if len(claims) == 1 else "claims"
    yield f"of {len(claims)} {noun} {', '.join(parts)}"
    if contradictions is not None:
        noun = "contradiction" if contradictions == 1 else "contradictions"
        yield f"audit: {contradictions} {noun} among printed numbers"


def _answered(one: Headline) -> str:
    answer, word = one.answer, _SHORT[one.answer.word]
    if answer.ours is None:
        return f"{word} ({answer.reason.rstrip('.')})"
    if answer.kind == "closeness":
        return f"{word}, {interval(answer.ours, one.points)}"
    printed = "not printed"
    if answer.printed is not None:
        printed = f"printed {_number(answer.printed, one.points)}"
    trials = f"{answer.trials_ahead} of {answer.trials} trials"
    return f"{word}, {interval(answer.ours, one.points)}, {trials} ({printed})"


def _led(lead: Lead, points: bool) -> str:
    ours = interval(lead.ours, points)
    word = "open"
    if lead.ours.lies_above(0) or lead.ours.lies_below(0):
        word = "ahead" if lead.ours.mean > 0 else "behind"
    printed = _number(lead.printed, points)
    said = f"{word}, {ours}, {lead.ahead} of {lead.trials} trials (printed {printed})"
    if word == "open" and lead.shown_in_80 is not None:
        said += f"; {lead.trials} trials show {_size(lead.shown_in_80, points)}"
    if lead.baselines_ahead:
        said += f"; ahead here: {', '.join(lead.baselines_ahead)}"
    return said


def interval(one: Interval, points: bool) -> str:
    """`+37.2 [29.3, 45.1]`; three significant digits where values are no percentages."""
    if one.low is None or one.high is None:
        return _number(one.mean, points)
    ends = (f"{end:.1f}" if points else f"{end:.3g}" for end in (one.low, one.high))
    return f"{_number(one.mean, points)} [{', '.join(ends)}]".replace("-", "−")


def _number(value: float, points: bool) -> str:
    return (f"{value:+.1f}" if points else f"{value:+.3g}").replace("-", "−")


def _size(value: float, points: bool) -> str:
    return f"{value:.1f} points" if points else f"{value:.3g}"
