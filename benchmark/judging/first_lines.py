"""The first lines of a report: what was found, on what, how surely, and what it rests on.

The sentence is made by rule from the headline claims of the spec, whose table, column and metric
are fixed there. It never picks a weaker baseline, a better round or a better metric.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..claims.answer import ClaimResult
from ..results import TableResult
from ..stats.intervals import Interval
from .answers import Lead
from .table_answer import TableAnswer, bare_label

_SAID: Mapping[str, tuple[str, str, str, str]] = {
    "HOLDS": ("{}", "yes", "holds", "hold"),
    "SAME DIRECTION": (
        "{}, in the same direction as published",
        "same direction",
        "goes the same way",
        "go the same way",
    ),
    "OPPOSITE": ("the opposite of “{}” is seen", "opposite", "is opposite", "are opposite"),
    "ABSENT": (
        "at most a quarter is seen of what is published for “{}”",
        "absent",
        "is absent",
        "are absent",
    ),
    "OPEN": ("whether {} is open", "open", "is open", "are open"),
    "NOT COMPARED": ("“{}” is not compared", "not compared", "is not compared", "are not compared"),
    "NOT RUN": ("“{}” was not run in full", "not run", "was not run", "were not run"),
}
"""By word: of a clause in the sentence, before its numbers, of one claim and of several."""
LARGER = 2.0
"""A ratio above this is more than published, not as published."""


def run_on(profile: str, tables: Sequence[TableResult]) -> str:
    """The profile, and what the first table with a headline claim was run on, or the first."""
    shown = [one for one in tables if one.run_on]
    named = [one for one in shown if any(claim.headline for claim in one.claims)]
    return ": ".join((profile, *(one.run_on for one in (named or shown)[:1])))


def sentence(name: str, claims: Sequence[ClaimResult], has_others: bool = False) -> str:
    """What was found, in one sentence.

    name: of the paper, as it calls its method. has_others: whether the spec has headline claims
    that are not shown.
    """
    headlines = [one for one in claims if one.headline]
    if not headlines:
        if has_others:
            return f"{name}: its headline claims are about tables that are not shown."
        return f"{name}: its spec marks no headline claim."
    if all(one.word == "NOT RUN" for one in headlines):
        return f"{name}: not all was run that its headline claims need."
    against = {"contradicted": ", although the published numbers contradict it"}
    return f"{name}: {'; '.join(_found(one) + against.get(one.support, '') for one in headlines)}."


def _found(claim: ClaimResult) -> str:
    answer, clause = claim.answer, claim.headline
    said = _SAID[answer.word][0].format(clause)
    of = f"of {answer.comparisons} comparisons"
    if answer.is_silenced:
        return f"{said}, since no control is seen on its data"
    if answer.kind == "counted":
        return f"{said}, by calculation"
    if answer.word == "SAME DIRECTION" and answer.behind:
        return f"{clause} on average, but not in {answer.behind} {of}"
    if answer.word == "OPEN" and answer.opposite:
        return f"{said}, and {answer.opposite} {of} are shown opposite"
    if answer.word == "HOLDS" and answer.ratio is not None:
        how = "by more than published" if answer.ratio.mean > LARGER else "as printed"
        return f"{said}, {how}"
    if answer.word == "SAME DIRECTION" and answer.kind == "direction":
        if answer.printed is None:
            return f"{clause} here, where no number is published"
        return f"{clause} here, where the published numbers do not say so"
    return said


def evidence(tables: Sequence[TableResult]) -> Iterator[str]:
    """The numbers behind the sentence: each headline claim, and the lead in its table."""
    for table in tables:
        for claim in table.claims:
            if claim.headline:
                yield f"{claim.headline} ({_place(table)}): {_answered(claim)}"
    for table in tables:
        for lead in table.leads if any(one.headline for one in table.claims) else ():
            is_silenced = any(one.answer.is_silenced for one in table.claims)
            said = _led(lead, table.unit == "%", is_silenced)
            where = f", mean of {lead.columns} columns" if lead.columns > 1 else ""
            yield f"{_place(table)}, {lead.own} against the baselines printed best{where}: {said}"


def would_show(tables: Sequence[TableResult]) -> Iterator[str]:
    """The difference of two rows that would be seen, in the first table with a headline claim."""
    answered = [one for one in tables if one.answers and one.answers[0].shown_in_80 is not None]
    named = [one for one in answered if any(claim.headline for claim in one.claims)]
    for one in (named or answered)[:1]:
        size = _size(one.answers[0].shown_in_80 or 0.0, one.unit == "%")
        yield f"a difference of {size} between two rows would be seen in four of five such runs"


def _place(table: TableResult) -> str:
    return table.id.replace("-", " ") if table.id.startswith("figure") else f"table {table.id}"


def totals(
    tables: Sequence[TableResult],
    contradictions: int | None,
    pooled: TableAnswer | None,
    failed: int = 0,
) -> Iterator[str]:
    """How many tables and claims came out how, of all that there are.

    contradictions: among printed numbers, None where they were not looked for. pooled: all tables
    of the first metric together, None where they share no two trials.
    """
    if failed:
        yield f"trials failed behind cells: {failed}"
    words = Counter(one.word for one in tables)
    shown = [f"{words[word]} {word.lower()}" for word in ("PASS", "FAIL", "OPEN")]
    shown += [f"{words[w]} {w.lower()}" for w in ("NOT COMPARED", "NOT RUN") if words[w]]
    figures = " and figures" if any(one.id.startswith("figure") for one in tables) else ""
    yield f"tables{figures}: {', '.join(shown)}"
    if pooled is not None:
        without = ""
        if pooled.rests_on is not None and pooled.without_it is not None:
            without = f", {_times(pooled.without_it)} without {bare_label(pooled.rests_on)}"
        retained = _times(pooled.retention)
        yield f"all tables together: differences {retained} times the printed{without}"
    elif any(one.answers for one in tables):
        yield "all tables together: fewer than two trials are common to all"
    claims = [claim for table in tables for claim in table.claims]
    noun = "claim" if len(claims) == 1 else "claims"
    yield f"of {len(claims)} {noun} {_counts(claims)}"
    if resting := [one for one in claims if one.rests_on is not None]:
        rest = "1 rests" if len(resting) == 1 else f"{len(resting)} rest"
        yield f"of these, {rest} on pre-training: {_counts(resting)}"
    if contradictions is not None:
        noun = "contradiction" if contradictions == 1 else "contradictions"
        yield f"audit: {contradictions} {noun} among the paper's own numbers"


def _counts(claims: Sequence[ClaimResult]) -> str:
    """`3 hold (1 of them calculated), 1 is open`."""
    said = Counter[str](one.word for one in claims)
    counted = sum(one.word == "HOLDS" and one.answer.kind == "counted" for one in claims)
    parts = [
        f"{n} {several if n != 1 else one}"
        for word, (_, _, one, several) in _SAID.items()
        if (n := said[word]) or word == "HOLDS"
    ]
    if counted:
        parts[0] += f" ({counted} of them calculated)"
    return ", ".join(parts)


def _answered(claim: ClaimResult) -> str:
    answer, points = claim.answer, claim.unit == "%"
    word = _SAID[answer.word][1]
    if answer.ours is None:
        return f"{word} ({answer.reason.rstrip('.')})"
    if answer.kind == "closeness":
        return f"{word}, {interval(answer.ours, points)}"
    printed = "not printed"
    if answer.printed is not None:
        printed = f"printed {_number(answer.printed, points)}"
    trials = f"{answer.trials_ahead} of {answer.trials} trials"
    if answer.comparisons > 1:
        trials = f"all {answer.comparisons} comparisons in {trials}"
    given = f", {claim.given}" if claim.given else ""
    return f"{word}, {interval(answer.ours, points)}, {trials} ({printed}){given}"


def _led(lead: Lead, points: bool, is_silenced: bool) -> str:
    ours = interval(lead.ours, points)
    word = "open"
    if not is_silenced and (lead.ours.lies_above(0) or lead.ours.lies_below(0)):
        word = "ahead" if lead.ours.mean > 0 else "behind"
    printed = _number(lead.printed, points)
    said = f"{word}, {ours}, ahead in {lead.ahead} of {lead.trials} trials (printed {printed})"
    if word == "open" and not is_silenced and lead.shown_in_80 is not None:
        said += (
            f"; a lead of {_size(lead.shown_in_80, points)} would be seen in four of five such runs"
        )
    if lead.baselines_ahead:
        said += f"; shown ahead of it: {', '.join(lead.baselines_ahead)}"
    return said


def interval(one: Interval, points: bool) -> str:
    """`+37.2 [29.3, 45.1]`; three significant digits where values are no percentages."""
    if one.low is None or one.high is None:
        return _number(one.mean, points)
    ends = (f"{end:.1f}" if points else f"{end:.3g}" for end in (one.low, one.high))
    return f"{_number(one.mean, points)} [{', '.join(ends)}]".replace("-", "−")


def _times(one: Interval) -> str:
    ends = "" if one.low is None else f" [{one.low:.2f}, {one.high:.2f}]"
    return f"{one.mean:.2f}{ends}".replace("-", "−")


def _number(value: float, points: bool) -> str:
    return (f"{value:+.1f}" if points else f"{value:+.3g}").replace("-", "−")


def _size(value: float, points: bool) -> str:
    return f"{value:.1f} points" if points else f"{value:.3g}"
