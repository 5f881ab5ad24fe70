"""What an answer stands on, in one line: differences, ratio to the published difference, trials."""

from ..benchmark.claims.answer import ClaimResult
from ..benchmark.data_names import title
from ..benchmark.judging.answers import bare_label
from ..benchmark.results import Report, TableResult, named_inside
from ..benchmark.stats.intervals import Interval, t_interval
from ..benchmark.stats.spread import p_text
from . import layout

MOST = 10  # a larger ratio is not shown: the published difference is too small to divide by
ON_OTHER_DATA = ("headline claim", "status", "data", "headroom", "difference here", "published")


def line(claim: ClaimResult) -> str:
    """`+37.2 [29.3, 45.1], published +32.7 · 1.14 [0.90, 1.38] times the published`. What a claim
    rests on (`given`) follows, or stands alone where nothing was compared."""
    answer = claim.answer
    if answer.ours is None:
        return claim.given
    parts = [span(answer.ours, sign=True)]
    if answer.printed is not None:
        is_against = answer.printed < 0 and answer.kind != "closeness"
        parts[0] += f", published {layout.number(answer.printed, sign=True)}"
        parts[0] += " (against the text)" * is_against
    if answer.ratio is not None and abs(answer.ratio.mean) > MOST:
        parts.append(f"beyond {MOST} times the published, which is small")
    elif answer.ratio is not None:
        parts.append(f"{span(answer.ratio)} times the published")
    if answer.comparisons > 1:
        opposite = f", {answer.opposite} opposite" if answer.opposite else ""
        parts.append(f"{answer.shown} of {answer.comparisons} comparisons shown{opposite}")
    if answer.left_out:
        parts.append(f"{answer.left_out} comparisons left out")
    if answer.kind != "closeness":
        parts.append(f"all as stated in {answer.trials_ahead} of {answer.trials} trials")
    return " · ".join(filter(None, (*parts, claim.given)))


def span(one: Interval, places: int = 2, sign: bool = False) -> str:
    """`+2.50 [1.00, 4.00]`, or the mean alone without an interval; small ones have more digits."""
    if 0 < max(abs(end or 0) for end in (one.mean, one.low, one.high)) < 0.01:
        places = max(places, 5)
    mean = layout.number(one.mean, places, sign)
    if one.low is None or one.high is None:
        return mean
    return f"{mean} {layout.span((one.low, one.high), places, sign)}"


def on_other_data(report: Report) -> list[tuple[str, ...]]:
    """Headline claims by data set: claim, its word, data, headroom, difference and published."""
    return [
        (
            f"{one.said} ({named_inside(one.table)})",
            one.answer.word,
            data_name(one.data),
            span(t_interval(one.headroom), 1, sign=True),
            span(t_interval(one.differences), sign=True)
            if one.differences
            else one.answer.reason.rstrip("."),
            layout.number(one.answer.printed, sign=True),
        )
        for one in report.on_other_data
    ]


def data_name(data: str) -> str:
    """`coloured letters`; a set in which there is nothing to learn is marked as a placebo."""
    return title(data) + " (placebo)" * (data == "noise")


def of_table(table: TableResult) -> list[str]:
    """What stands below a table's badge: retention, orderings, leads, what it rests on."""
    if not table.answers:
        return []
    first = table.answers[0]
    parts = [f"differences are {span(first.retention)} times the published"]
    if first.orderings is not None:
        parts.append(f"{first.orderings:.0%} of {first.pairs} published orderings alike")
    parts.append(f"{p_text(first.relabelling_p)} if the rows were relabelled at random")
    if first.without_it is not None:
        parts.append(f"without {first.rests_on}: {span(first.without_it)}")
    if first.reliability < 0.9:
        expected = layout.number(first.reliability)
        parts.append(f"an exact repetition would have {expected}: published values are noisy")
    for lead in table.leads:
        ours = f"{span(lead.ours, sign=True)}, ahead in {lead.ahead} of {lead.trials} trials"
        printed = layout.number(lead.printed, sign=True)
        own = bare_label(lead.own)
        parts.append(f"{own} against the best published baselines: {ours}, published {printed}")
        if lead.baselines_ahead:
            parts.append(f"shown ahead of it: {', '.join(lead.baselines_ahead)}")
    for group in first.joined:
        parts.append(f"one run here stands for {len(group)} published columns: {', '.join(group)}")
    for other in table.answers[1:]:
        parts.append(f"{other.metric}: {other.word}, {span(other.retention)} times")
    return parts
