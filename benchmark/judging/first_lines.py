"""The first lines of a report: what was found, on what, how surely, and what it rests on.

The sentence is made by rule from the headline claims of the spec, whose table, column and metric
are fixed there. It never picks a weaker baseline, a better round or a better metric.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from ..claims.answer import ClaimAnswer, ClaimResult
from ..printable import plural
from ..results import TableResult, named_inside
from ..stats.intervals import Interval
from .answers import Lead, TableAnswer, TableWord, bare_label

_SAID: Mapping[str, tuple[str, str, str, str]] = {
    "HOLDS": ("{}", "yes", "holds", "hold"),
    "SAME DIRECTION": ("{}", "same direction", "goes the same way", "go the same way"),
    "OPPOSITE": ("the opposite of {} is seen", "opposite", "is opposite", "are opposite"),
    "ABSENT": ("at most a quarter is seen of what is published for {}", "absent", "is absent",
               "are absent"),
    "OPEN": ("whether {} {be} open", "open", "is open", "are open"),
    "NOT COMPARED": ("{} {be} not compared", "not compared", "is not compared", "are not compared"),
    "NOT RUN": ("{} {was} not run in full", "not run", "was not run", "were not run"),
}  # fmt: skip
"""By word: of clauses in the sentence, before a claim's numbers, of one claim and of several."""
_UNSAID = "the published numbers do not say so"
_SILENCED = "controls of {} allow no answer"
_FORMAT = {True: ".1f", False: ".3g"}  # of points and of other values
LARGER = 2.0  # a ratio above this is more than published, not as published


def run_on(profile: str, tables: Sequence[TableResult]) -> str:
    """The profile, and what the first table with a headline claim was run on, or the first."""
    shown = leading([one for one in tables if one.run_on])
    return ": ".join((profile, *(one.run_on for one in shown)))


def leading(tables: Sequence[TableResult]) -> Sequence[TableResult]:
    """The first table with a headline claim, or without any the first; none of none."""
    headed = [one for one in tables if any(claim.headline for claim in one.claims)]
    return (headed or tables)[:1]


def sentence(
    name: str, claims: Sequence[ClaimResult], others: Sequence[str] = (), data: str = ""
) -> str:
    """What was found, in one sentence, about a paper that calls its method `name`. `others`: the
    tables of headline claims in the spec, shown or not. `data`: other than the paper's."""
    headlines = [one for one in claims if one.headline]
    if not headlines:
        if others:
            said = f"table{'s' * (len(others) > 1)} {listed(others)}"
            return f"{name}: its headline claims are about {said}, not shown here."
        return f"{name}: its spec marks no headline claim."
    if all(one.word == "NOT RUN" for one in headlines):
        return f"{name}: not all was run that its headline claims need."
    words = dict.fromkeys(one.word for one in headlines)
    parts = (_joined(word, [one for one in headlines if one.word == word]) for word in words)
    return f"{name}{f', on {data}' if data else ''}: {'; '.join(parts)}."


def clause(claim: ClaimResult, answer: ClaimAnswer | None = None) -> str:
    """What the sentence would say of a headline claim, or of this answer to it, alone."""
    claim = claim if answer is None else replace(claim, answer=answer)
    return _joined(claim.word, [claim])


def _joined(word: str, claims: Sequence[ClaimResult]) -> str:
    """Claims of one word as one part of the sentence; a control that all lack is named once."""
    said = _SAID[word][0]
    is_shared = len(claims) > 1 and all(one.answer.is_silenced for one in claims)
    clauses = [_clause(one, names_control=not is_shared) for one in claims]
    if said == "{}":
        return "; ".join(clauses)
    be, was = ("are", "were") if len(clauses) > 1 else ("is", "was")
    joined = listed(clauses, ", whether " if word == "OPEN" else ", ")
    shared = f" ({_SILENCED.format('their tables')})" if is_shared else ""
    return said.format(joined, be=be, was=was) + shared


def listed(parts: Sequence[str], comma: str = ", ") -> str:
    """`a, b and c`."""
    *first, last = parts
    return f"{comma.join(first)} and{comma.removeprefix(',')}{last}" if first else last


def _clause(claim: ClaimResult, names_control: bool) -> str:
    """What a headline claim says, with what must be known of its answer."""
    answer, word = claim.answer, claim.word
    of, notes, how = f"of {answer.comparisons} comparisons", list[str](), ""
    if answer.is_silenced and names_control:
        notes.append(_SILENCED.format("its table"))
    if word == "OPEN" and answer.opposite:
        notes.append(f"opposite in {answer.opposite} {of}")
    if answer.kind == "counted":
        notes.append("calculated")
    elif word == "SAME DIRECTION" and answer.behind:
        notes.append(f"on average alone: not in {answer.behind} {of}")
    elif word == "SAME DIRECTION" and answer.kind == "direction":
        is_blank = answer.printed is None
        how = f" here, where {'no number is published' if is_blank else _UNSAID}"
    elif word == "SAME DIRECTION":
        how = ", in the same direction as published"
        if answer.shown < answer.comparisons:
            notes.append(f"shown in {answer.shown} {of}")
    elif word == "HOLDS" and answer.ratio is not None:
        how = ", by more than published" if answer.ratio.mean > LARGER else ", as published"
    if answer.left_out:
        made = answer.comparisons + answer.left_out
        what = "" if any(" comparisons" in one for one in notes) else "comparisons "
        notes.append(f"{answer.left_out} of {made} {what}not run")
    if claim.support == "contradicted":
        notes.append("published numbers contradict the claim")
    is_claimed = word in ("HOLDS", "SAME DIRECTION", "OPEN")
    said = f"{claim.headline}{how}" if is_claimed else f"“{claim.headline}”"
    return f"{said} ({', '.join(notes)})" if notes else said


def evidence(tables: Sequence[TableResult]) -> Iterator[str]:
    """The numbers behind the sentence: each headline claim, and the lead in its table."""
    headed = [one for one in tables if any(claim.headline for claim in one.claims)]
    without: dict[tuple[str, str], list[str]] = {}
    for table, claim in ((one, claim) for one in headed for claim in one.claims if claim.headline):
        if claim.answer.ours is not None or claim.answer.kind == "counted":
            yield f"{claim.headline} ({named_inside(table.id)}): {_answered(claim)}"
        else:
            why = (claim.reason.partition(": ")[2] or claim.reason).rstrip(".")
            about = f"{claim.headline} ({named_inside(table.id)})"
            without.setdefault((_SAID[claim.word][1], why), []).append(about)
    yield from _at_odds(headed)
    for (word, why), headlines in without.items():
        yield f"{listed(headlines)}: {word}: {why}"
    for table, lead in ((one, lead) for one in headed for lead in one.leads):
        silence = max(map(_silence, table.claims), default="")
        said = _led(lead, table.unit == "%", silence)
        place = named_inside(table.id) + f", {lead.columns} columns" * (lead.columns > 1)
        yield f"{bare_label(lead.own)} against the best published baselines ({place}): {said}"


def _at_odds(tables: Sequence[TableResult]) -> Iterator[str]:
    """What tables say that pass where a headline claim fails, or the other way round."""
    of_word = {"FAIL": ("HOLDS", "SAME DIRECTION"), "PASS": ("OPPOSITE", "ABSENT")}
    for table in tables:
        claims = [one for one in table.claims if one.headline and not one.answer.is_silenced]
        if table.answers and any(one.word in of_word.get(table.word, ()) for one in claims):
            [answer, *_] = table.answers
            said = f"{table.word}, over its {answer.rows} rows differences are {_retained(answer)}"
            yield f"{named_inside(table.id)} as a whole: {said}"


def would_show(tables: Sequence[TableResult]) -> Iterator[str]:
    """The difference of two rows that would be seen, in the first table with a headline claim."""
    answered = [one for one in tables if one.answers and one.answers[0].shown_in_80 is not None]
    for one in leading(answered):
        size = _size(one.answers[0].shown_in_80 or 0.0, one.unit == "%")
        yield f"a difference of {size} between two rows would be seen (80 % power)"


def totals(
    tables: Sequence[TableResult],
    contradictions: int | None,
    pooled: TableAnswer | None,
    failed: int = 0,
) -> Iterator[str]:
    """How many tables and claims came out how, of all that there are.

    `contradictions`: among printed numbers, None where not looked for. `pooled`: all tables
    together, None where they share no two trials."""
    if failed:
        yield f"trials failed behind cells: {failed}"
    words = Counter(one.word for one in tables)
    shown = [
        f"{words[word]} {word.lower()}"
        for word in get_args(TableWord)
        if words[word] or not word.startswith("NOT")
    ]
    figures = " and figures" if any(one.id.startswith("figure") for one in tables) else ""
    yield f"tables{figures}: {', '.join(shown)}"
    on_runs: dict[frozenset[str | None], list[str]] = {}
    for one in tables:
        if one.answers:
            on_runs.setdefault(frozenset(cell.run for cell in one.cells), []).append(one.id)
    if same := "; ".join(listed(ids) for ids in on_runs.values() if len(ids) > 1):
        yield f"tables on the same runs: {same}"
    if pooled is not None:
        yield f"all tables together: differences are {_retained(pooled)}"
    elif any(one.answers for one in tables):
        yield "all tables together: not compared, which needs runs with two trials in common"
    claims = [claim for table in tables for claim in table.claims]
    yield f"of {plural(len(claims), 'claim')} {_counts(claims)}"
    if resting := [one for one in claims if one.rests_on is not None]:
        rest = "1 rests" if len(resting) == 1 else f"{len(resting)} rest"
        yield f"of these, {rest} on pre-training: {_counts(resting)}"
    if contradictions is not None:
        yield f"audit: {plural(contradictions, 'contradiction')} among the paper's own numbers"


def _retained(answer: TableAnswer) -> str:
    said = f"{answer.retention.shown('.2f')} times the published"
    if answer.rests_on is not None and answer.without_it is not None:
        said += f", {answer.without_it.shown('.2f')} without {bare_label(answer.rests_on)}"
    return said


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
    word = _SAID[answer.word][1] + _silence(claim)
    if answer.ours is None:
        return f"{word}, {answer.shown} of {answer.comparisons} true by calculation"
    printed = answer.printed
    published = "not published" if printed is None else f"published {_number(printed, points)}"
    if answer.kind == "closeness":
        return f"{word}, {interval(answer.ours, points)}{f' ({published})' * (printed is not None)}"
    trials = f"in {answer.trials_ahead} of {answer.trials} trials"
    every = "both" if answer.comparisons == 2 else f"all {answer.comparisons}"
    several = f"{every} comparisons as claimed at once " * (answer.comparisons > 1)
    trials = f"{several or 'as claimed '}{trials}"
    if answer.left_out:
        trials += f", {answer.left_out} comparisons not run"
    given = f"; {claim.given}" if claim.given else ""
    ours = interval(answer.ours, points)
    if (levels := answer.levels) is not None:
        ours += ", " + " against ".join(_number(one, points, "") for one in levels.ours)
        published += ": " + " against ".join(_number(one, points, "") for one in levels.published)
    return f"{word}, {ours}; {trials} ({published}){given}"


def _silence(claim: ClaimResult) -> str:
    """` (control `a` on digits was not seen)` of a claim that this leaves open, else nothing."""
    why = claim.answer.reason.rpartition("on this: ")[2].partition(" (")[0].rstrip(".")
    return f" ({why})" if claim.answer.is_silenced else ""


def _led(lead: Lead, points: bool, silence: str) -> str:
    ours, printed = interval(lead.ours, points), _number(lead.printed, points)
    is_open = silence or not (lead.ours.lies_above(0) or lead.ours.lies_below(0))
    word = "open" if is_open else "ahead" if lead.ours.mean > 0 else "behind"
    word += silence
    said = f"{word}, {ours}; ahead in {lead.ahead} of {lead.trials} trials (published {printed})"
    if is_open and not silence and lead.shown_in_80 is not None:
        said += f"; {_size(lead.shown_in_80, points)} would be seen (80 % power)"
    if lead.baselines_ahead:
        said += f"; shown ahead of it: {', '.join(lead.baselines_ahead)}"
    return said


def interval(one: Interval, points: bool) -> str:
    """`+37.2 [29.3, 45.1] points`; three significant digits where values are no percentages."""
    return one.shown(_FORMAT[points], "+") + " points" * points


def _number(value: float, points: bool, sign: str = "+") -> str:
    return Interval(value).shown(_FORMAT[points], sign)


def _size(value: float, points: bool) -> str:
    return f"{value:.1f} points" if points else f"{value:.3g}"
