"""How much of what a claim states is seen in our trials: one word, from one mean over trials.

A claim's contrast is the mean over its comparisons, signed as the claim states them. Its ratio to
the same mean of published values, with a t-interval over paired trials, gives the word
(`docs/verdicts.md`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..spec.model import CellKey, Claim
from ..spec.printed import half_unit
from ..stats.intervals import Interval, t_interval
from .contrasts import Contrasts, Levels
from .grammar import Arithmetic, Number
from .nodes import Elementary, Node, Values, is_trained, show
from .printed import SupportWord, support

ClaimWord = Literal[
    "HOLDS", "SAME DIRECTION", "OPPOSITE", "ABSENT", "OPEN", "NOT COMPARED", "NOT RUN"
]
ControlWord = Literal["SEEN", "NOT SEEN", "NOT RUN"]
Kind = Literal[
    "ratio", "direction", "bound", "closeness", "every trial", "counted", "size", "control", ""
]
SEEN, UNSEEN = 0.5, 0.25
"""A ratio above the first is seen; one within the second, on either side of zero, is absent."""
_EXACT = 1e-12


@dataclass(frozen=True)
class ClaimAnswer:
    """What trials say of a claim. `shown`: in how many comparisons the own interval is as claimed.
    `behind`: in how many the mean is the other way. `opposite`: in how many the own interval is the
    other way. `ours`: the mean contrast with its interval, in the cells' unit. `printed`: the same
    mean of published values, or a stated size; None where a value is not printed. `ratio`: ours
    over printed, where there is one. `trials_ahead`: in how many of the paired trials all
    comparisons are as claimed. `is_silenced`: whether the word is OPEN whatever the trials say, for
    want of a control. `left_out`: how many comparisons more the claim makes, which the profile does
    not run. `levels`: the values behind `ours` and `printed`, of a claim with a ratio."""

    word: ClaimWord | ControlWord
    reason: str
    kind: Kind
    comparisons: int
    shown: int = 0
    behind: int = 0
    opposite: int = 0
    ours: Interval | None = None
    printed: float | None = None
    ratio: Interval | None = None
    trials: int = 0
    trials_ahead: int = 0
    is_silenced: bool = False
    left_out: int = 0
    levels: Levels | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One elementary comparison of a claim: 'left op right' in the trials.

    `text`: with the labels of its cells. `published_left`, `published_right`: with printed numbers
    in their place. `differences`: left less right by seed. `interval`: of their mean; None without
    trials."""

    text: str
    published_left: str
    published_right: str
    relation: str
    differences: tuple[float, ...]
    interval: Interval | None


@dataclass(frozen=True)
class ClaimResult:
    """A claim of the text as a report shows it.

    `says`: in our words. `holds`: as an expression. `headline`: of a claim of abstract or
    conclusion, what it says as a clause. `unit`: of its differences, None for bare ratios.
    `support`: what the printed numbers say of it, with their rounding. `answer`: what the trials
    say of it. `given`: the headroom that it rests on; of a control, where its outcome is known
    from."""

    id: str
    says: str
    holds: str
    headline: str | None
    unit: str | None
    support: SupportWord
    support_reason: str
    answer: ClaimAnswer
    comparisons: tuple[Comparison, ...]
    rests_on: str | None = None
    given: str = ""

    @property
    def word(self) -> ClaimWord | ControlWord:
        return self.answer.word

    @property
    def reason(self) -> str:
        return self.answer.reason


@dataclass(frozen=True)
class Known:
    """What is known of the cells of a paper.

    `values`: trials by cell and seed, with one entry for each number that is counted. `lacking`: by
    cell without a value, or with fewer trials than planned, why. `margin`: of a stated size; None
    where it is not compared. `looks`: the numbers of trials of the interim analyses, rising; none
    means one, of all."""

    values: Values
    lacking: Mapping[CellKey, str] = field(default_factory=dict)
    margin: Callable[[Elementary], float | None] = lambda one: None
    looks: tuple[int, ...] = ()


def judged(claim: Claim, comparisons: Sequence[Elementary], known: Known) -> ClaimResult:
    """A claim, bound to `comparisons`, judged by the published values and by the trials."""
    supported, why = support(comparisons)
    control = claim.control
    return ClaimResult(
        id=claim.id,
        says=claim.says,
        headline=claim.headline,
        rests_on=claim.rests_on,
        holds=claim.holds if control is None else f"{claim.holds} by {control.least:g}",
        unit=comparisons[0].unit,
        support=supported,
        support_reason=why,
        answer=answer_claim(claim, comparisons, known),
        comparisons=tuple(_comparison(one, known) for one in comparisons),
        given="" if control is None else f"known from {control.source}",
    )


def _comparison(one: Elementary, known: Known) -> Comparison:
    differences: tuple[float, ...] = ()
    interval = None
    if all(known.values.get(leaf.key) for leaf in one.leaves):
        contrasts = Contrasts([one], known.values, known.looks)
        if contrasts.n and np.isfinite(contrasts.ours).all():
            differences = tuple(map(float, one.sign * contrasts.ours[0]))
            interval = t_interval(differences, contrasts.level, float(contrasts.ties[0]))
    sides = show(one.left), show(one.right)
    return Comparison(one.text, *sides, one.relation, differences, interval)


def answer_claim(claim: Claim, comparisons: Sequence[Elementary], known: Known) -> ClaimAnswer:
    """The word of a claim, which is bound to `comparisons`."""
    contrasts = Contrasts(comparisons, known.values, known.looks)
    k, relations = len(comparisons), {one.relation for one in comparisons}
    trained = [leaf for leaf in contrasts.leaves if is_trained(leaf)]
    for leaf in contrasts.leaves:
        if not known.values.get(leaf.key):
            unknown = f"table {leaf.table} or this row was not selected"
            reason = known.lacking.get(leaf.key, unknown).rstrip(".")
            return ClaimAnswer("NOT RUN", f"{leaf.label}: {reason}.", "", k)
    if not trained:
        return _counted(contrasts)
    for leaf in trained:
        if leaf.key in known.lacking:
            reason = f"Fewer trials than planned: {leaf.label}: {known.lacking[leaf.key]}."
            return ClaimAnswer("OPEN" if claim.control is None else "NOT RUN", reason, "", k)
    if contrasts.n < 2:
        is_open = contrasts.n == 1 and claim.control is None
        return ClaimAnswer("OPEN" if is_open else "NOT RUN", "Fewer than two paired trials.", "", k)
    if not np.isfinite(contrasts.ours).all():
        reason = "A divisor is zero, or a value not finite, in some trial."
        return ClaimAnswer("NOT COMPARED", reason, "", k)
    if claim.control is not None:
        return _known(claim.control.least, contrasts)
    if "=" in relations:
        widths = [width for one in comparisons if (width := known.margin(one)) is not None]
        if len(widths) < k:
            reason = "A stated size is compared at the published protocol alone."
            return ClaimAnswer("NOT COMPARED", reason, "size", k)
        # What is printed is one more draw of our differences.
        return _close(contrasts, widths, contrasts.n + 1)
    if "~" in relations:
        return _close(contrasts, [float(one.tolerance or 0) for one in comparisons])
    return _directed(claim, contrasts)


def _known(least: float, contrasts: Contrasts) -> ClaimAnswer:
    """A control: whether each comparison is shown to exceed `least`; reports the weakest."""
    own, k, n = contrasts.intervals(contrasts.level), len(contrasts.comparisons), contrasts.n
    each = (one for both in own for one in both)
    weakest = min(each, key=lambda one: -math.inf if one.low is None else one.low)
    shown = sum(all(one.lies_above(least) for one in both) for both in own)
    ahead = int((np.minimum(contrasts.ours, contrasts.by_trial) > least).all(axis=0).sum())
    word: ControlWord = "SEEN" if shown == k else "NOT SEEN"
    said = f"{weakest.shown('.3g')}, at least {least:g} is needed."
    return ClaimAnswer(word, said, "control", k, shown, ours=weakest, trials=n, trials_ahead=ahead)


def _counted(contrasts: Contrasts) -> ClaimAnswer:
    """A claim on counted and computed numbers: true, not true, or true in part."""
    k, true = len(contrasts.comparisons), 0
    for one, [difference] in zip(contrasts.comparisons, contrasts.by_trial, strict=True):
        counts = (next(iter(contrasts.values[leaf.key].values())) for leaf in one.leaves)
        rounding = _EXACT * max(1.0, *map(abs, counts))
        # A number beside '=' stands for all that rounds to it.
        stated = [node.value for node in (one.left, one.right) if isinstance(node, Number)]
        allowed = max((float(half_unit(value)) for value in stated), default=0.0)
        if one.relation == "~":
            allowed = float(one.tolerance or 0)
        is_order = one.relation in "<>"
        true += difference > rounding if is_order else abs(difference) <= allowed + rounding
    word: ClaimWord = "HOLDS" if true == k else "OPEN" if true else "OPPOSITE"
    return ClaimAnswer(word, f"Counted: {true} of {k} true.", "counted", k, shown=int(true))


def _close(contrasts: Contrasts, widths: Sequence[float], variances: int = 1) -> ClaimAnswer:
    """Two one-sided tests of each comparison; Bonferroni's correction for 'further apart'.
    `variances`: how many variances of a mean of trials the difference has. Zero is never near a
    stated size."""
    nearer = np.minimum(widths, contrasts.stated / 2)
    k, wider, level = len(widths), math.sqrt(variances), contrasts.level
    near = far = 0
    both_of = zip(contrasts.intervals(level), contrasts.intervals(1 - (1 - level) / k), strict=True)
    for (inner, outer), width, within in zip(both_of, widths, nearer, strict=True):
        close, apart = ([one.widened(wider) for one in both] for both in (inner, outer))
        near += all(one.lies_above(-within) and one.lies_below(within) for one in close)
        far += any(one.lies_above(width) or one.lies_below(-width) for one in apart)
    rights = (one.right for one in contrasts.comparisons)
    stated = [float(one.value) for one in rights if isinstance(one, Number)]
    size = sum(stated) / k if len(stated) == k else 0.0
    blunt = " A margin counts up to half the stated size." * any(nearer < widths)
    word: ClaimWord = "HOLDS" if near == k else "OPPOSITE" if far else "OPEN"
    reason = f"{near} of {k} shown to be as close as stated, {far} further apart.{blunt}"
    ours, counts = t_interval(contrasts.ours.mean(axis=0) + size, level), (k, near, 0, far)
    return ClaimAnswer(word, reason, "closeness", *counts, ours, size or None, trials=contrasts.n)


def _directed(claim: Claim, contrasts: Contrasts) -> ClaimAnswer:
    """A claim of which is larger, by how much of the printed difference."""
    ours, ties, n = contrasts.ours, contrasts.ties, contrasts.n
    own, k = list(zip(contrasts.intervals(contrasts.level), ties, strict=True)), len(ours)
    is_flat = [first.low is None for (first, _), _ in own]
    step = math.inf if all(is_flat) else float(ties.min())
    whole = t_interval(ours.mean(axis=0), contrasts.level, step)
    shown = sum(all(one.lies_above(tie) for one in both) for both, tie in own)
    opposite = sum(any(one.lies_below(-tie) for one in both) for both, tie in own)
    behind, front = (int((side.mean(axis=1) > ties).sum()) for side in (-ours, ours))
    ahead = int((np.minimum(ours, contrasts.by_trial) > ties[:, None]).all(axis=0).sum())
    printed, ratio = contrasts.printed, None
    kind: Kind = "direction"
    reason = f"{front} of {k} comparisons ahead, {behind} behind."
    otherwise: ClaimWord = "OPPOSITE" if whole.lies_below(0.0) else "OPEN"
    # A mean does not outvote a comparison that is shown against the claim.
    word = "SAME DIRECTION" if whole.lies_above(0.0) and not opposite else otherwise
    if any(_adds_number(side) for one in contrasts.comparisons for side in (one.left, one.right)):
        kind, word = "bound", "HOLDS" if shown == k else otherwise
    elif printed is not None and printed > contrasts.rounding and whole.low is not None:
        kind, ratio = "ratio", whole.over(printed)
        if ratio.lies_above(-UNSEEN) and ratio.lies_below(UNSEEN):
            word = "ABSENT"
        elif ratio.lies_above(SEEN) and shown == k:
            word = "HOLDS"
        if word == "OPEN" and opposite:
            reason = f"{opposite} of {k} comparisons shown opposite."
        elif word == "OPEN" and ratio.lies_below(1.0):
            reason = f"Smaller than published; {reason}"
    if claim.every_trial:
        kind, reason = "every trial", f"{ahead} of {n} trials as stated."
        # Two trials agree by chance in a quarter of cases.
        word = "HOLDS" if ahead == n and not any(is_flat) and whole.lies_above(0.0) else otherwise
    counts = k, shown, behind, opposite
    levels = None if ratio is None else contrasts.levels
    return ClaimAnswer(word, reason, kind, *counts, whole, printed, ratio, n, ahead, levels=levels)


def _adds_number(node: Node) -> bool:
    match node:
        case Arithmetic(sign="+" | "-"):
            return _adds_number(node.left) or _adds_number(node.right)
        case _:
            return isinstance(node, Number)
