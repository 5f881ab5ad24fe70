"""How much of what a claim states is seen in our trials: one word, from one mean over trials.

A claim's contrast is the mean over its comparisons, signed as the claim states them. Its ratio to
the same mean in print, with a t-interval over paired trials, gives the first word that fits:

- ABSENT: the interval of the ratio lies within a quarter of zero.
- HOLDS: the interval lies above one half, and each comparison's own interval above zero.
- SAME DIRECTION: the interval lies above zero, and no comparison's own interval below it.
- OPPOSITE: the interval lies below zero.
- OPEN: none of these.

Where the printed mean is not printed, within rounding or against the claim, direction alone counts.
A stated number (`A - B > 2`) is a bound. Closeness (`~`) takes two one-sided tests. What is said of
every trial holds only in all of them. Counted and computed numbers need no interval. Of `max` and
`min` the cell is taken that the print makes largest or smallest, so that both sides speak of one
comparison. Equal trials are no evidence: they leave no interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..spec.model import Claim
from ..stats.intervals import TIE, Interval, t_interval
from ..stats.looks import reached
from ..stats.samples import is_flat
from ..stats.t_tests import LEVEL
from .grammar import Number
from .nodes import Aggregate, Arithmetic, CellKey, Elementary, Leaf, Node

Floats = NDArray[np.float64]
Values = Mapping[CellKey, Mapping[int, float]]
AnswerWord = Literal[
    "HOLDS", "SAME DIRECTION", "OPPOSITE", "ABSENT", "OPEN", "NOT COMPARED", "NOT RUN"
]
Kind = Literal["ratio", "direction", "bound", "closeness", "every trial", "counted", "size", ""]
SEEN, UNSEEN = 0.5, 0.25
"""A ratio above the first is seen; one within the second, on either side of zero, is absent."""
_EXACT = 1e-12


@dataclass(frozen=True)
class ClaimAnswer:
    """What trials say of a claim.

    Attributes:
        word: the answer.
        reason: one sentence.
        kind: how it was asked.
        comparisons: how many the claim makes.
        shown: of how many the own interval lies as claimed.
        behind: of how many the mean lies the other way.
        opposite: of how many the own interval lies the other way.
        ours: the mean contrast with its interval, in the cells' unit.
        printed: the same mean in print, None where a value is not printed.
        ratio: ours over printed, where there is one.
        trials: how many are paired.
        trials_ahead: in how many of them all comparisons are as claimed.
    """

    word: AnswerWord
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


@dataclass(frozen=True)
class Contrasts:
    """The comparisons of a claim in paired trials, each signed as the claim states it.

    Attributes:
        comparisons: of the claim.
        values: by cell and seed; what is counted once has one entry.
        level: of the intervals.
        most: how many trials count; None for all.
    """

    comparisons: Sequence[Elementary]
    values: Values
    level: float = 1 - LEVEL
    most: int | None = None

    @cached_property
    def leaves(self) -> list[Leaf]:
        """Its cells, repeats included."""
        return [leaf for one in self.comparisons for leaf in one.leaves]

    @cached_property
    def seeds(self) -> list[int]:
        """The seeds that all trained cells have, rising."""
        trials = [self.values[leaf.key].keys() for leaf in self.leaves if is_trained(leaf)]
        return sorted(set(trials[0]).intersection(*trials[1:]))[: self.most] if trials else [0]

    @cached_property
    def ours(self) -> Floats:
        """By comparison and trial. [k, n]"""
        return np.array([self._difference(one, self._trials) for one in self.comparisons])

    @cached_property
    def printed(self) -> Floats | None:
        """By comparison; None where a value is not printed. [k]"""
        if any(leaf.cell.printed.value is None for leaf in self.leaves):
            return None
        found = [self._difference(one, _print) for one in self.comparisons]
        return np.array([float(each.item()) for each in found])

    @cached_property
    def rounding(self) -> float:
        """The standard deviation that rounding of the printed values may give their mean."""
        halves = [float(leaf.cell.printed.half_unit) for leaf in self.leaves]
        return math.sqrt(sum(half**2 for half in halves)) / len(self.comparisons)

    def intervals(self, level: float) -> list[Interval]:
        """Of each comparison; where all its trained cells have equal trials there is none."""
        found = []
        for one, each in zip(self.comparisons, self.ours, strict=True):
            trained = [self._trials(leaf) for leaf in one.leaves if is_trained(leaf)]
            flat = all(map(is_flat, trained))
            found.append(Interval(float(each.mean())) if flat else t_interval(each, level))
        return found

    def _difference(self, one: Elementary, value: Callable[[Leaf], Floats]) -> Floats:
        sign = -1.0 if one.relation == "<" else 1.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            left, right = (self._value(node, value) for node in (one.left, one.right))
            return np.asarray(sign * (left - right))

    def _value(self, node: Node, value: Callable[[Leaf], Floats]) -> Floats:
        match node:
            case Number():
                return np.asarray(float(node.value))
            case Leaf():
                return value(node)
            case Aggregate(name="mean"):
                return np.asarray(np.mean([value(leaf) for leaf in node.leaves], axis=0))
            case Aggregate():
                return value(self._chosen(node))
            case Arithmetic():
                left, right = (self._value(side, value) for side in (node.left, node.right))
                return np.asarray(_SIGNS[node.sign](left, right))

    def _chosen(self, node: Aggregate) -> Leaf:
        """The cell that the print makes largest or smallest; our mean, where one is blank."""
        pick = max if node.name == "max" else min
        prints = [leaf.cell.printed.value for leaf in node.leaves]
        if any(one is None for one in prints):
            return pick(node.leaves, key=lambda leaf: float(self._trials(leaf).mean()))
        return pick(node.leaves, key=lambda leaf: leaf.cell.printed.value or 0)

    def _trials(self, leaf: Leaf) -> Floats:
        trials = self.values[leaf.key]
        if not is_trained(leaf):
            return np.full(len(self.seeds), next(iter(trials.values())))
        return np.array([trials[seed] for seed in self.seeds])


_SIGNS = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


@dataclass(frozen=True)
class Known:
    """What is known of the cells of a paper.

    Attributes:
        values: trials by cell and seed, with one entry for each number that is counted.
        missing: by cell without a value, why there is none.
        incomplete: by cell with fewer trials than planned, how many and why.
        margin: of a stated size; None where it is not compared.
        looks: at how many trials claims are looked at, rising; none means once, at all.
    """

    values: Values
    missing: Mapping[CellKey, str] = field(default_factory=dict)
    incomplete: Mapping[CellKey, str] = field(default_factory=dict)
    margin: Callable[[Elementary], float | None] = lambda one: None
    looks: tuple[int, ...] = ()

    def contrasts(self, comparisons: Sequence[Elementary]) -> Contrasts:
        """Comparisons in their paired trials, as far as the last look that these have reached."""
        whole = Contrasts(comparisons, self.values)
        n = len(whole.seeds) if all(self.values.get(leaf.key) for leaf in whole.leaves) else 0
        most, level = reached(self.looks, n)
        return Contrasts(comparisons, self.values, level, most)


def is_trained(leaf: Leaf) -> bool:
    """Whether a cell's trials may differ; what is counted or computed is one number."""
    return leaf.cell.kind == "empirical"


def answer_claim(
    claim: Claim,
    comparisons: Sequence[Elementary],
    known: Known,
) -> ClaimAnswer:
    """The word of a claim, which is bound to `comparisons`."""
    k, values = len(comparisons), known.values
    contrasts = known.contrasts(comparisons)
    trained = [leaf for leaf in contrasts.leaves if is_trained(leaf)]
    for leaf in contrasts.leaves:
        if not values.get(leaf.key):
            reason = known.missing.get(leaf.key, "a printed fact, for which nothing is run")
            return ClaimAnswer("NOT RUN", f"{leaf.cell.label}: {reason.rstrip('.')}.", "", k)
    if not trained:
        return _counted(contrasts)
    for leaf in trained:
        if leaf.key in known.incomplete:
            reason = f"{leaf.cell.label}: {known.incomplete[leaf.key]}"
            return ClaimAnswer("OPEN", f"Fewer trials than planned: {reason}.", "", k)
    if len(contrasts.seeds) < 2:
        return ClaimAnswer("NOT RUN", "Fewer than two paired trials.", "", k)
    if not np.isfinite(contrasts.ours).all():
        return ClaimAnswer(
            "NOT COMPARED", "A divisor is zero, or a value not finite, in some trial.", "", k
        )
    if any(one.relation == "=" for one in comparisons):
        widths = [known.margin(one) for one in comparisons]
        if None in widths:
            return ClaimAnswer("NOT COMPARED", "A stated size is not compared here.", "size", k)
        # What is printed is one more draw of our differences.
        return _close(contrasts, [w for w in widths if w is not None], len(contrasts.seeds) + 1)
    if any(one.relation == "~" for one in comparisons):
        return _close(contrasts, [float(one.tolerance or 0) for one in comparisons])
    return _directed(claim, contrasts)


def _counted(contrasts: Contrasts) -> ClaimAnswer:
    """A claim on counted and computed numbers: true, not true, or true in part."""
    k = len(contrasts.comparisons)
    true = 0
    for one, each in zip(contrasts.comparisons, contrasts.ours, strict=True):
        counts = (next(iter(contrasts.values[leaf.key].values())) for leaf in one.leaves)
        true += _is_true(one, float(each[0]), _EXACT * max(1.0, *map(abs, counts)))
    word: AnswerWord = "HOLDS" if true == k else "OPEN" if true else "OPPOSITE"
    return ClaimAnswer(word, f"Counted: {true} of {k} true.", "counted", k, shown=true)


def _is_true(one: Elementary, difference: float, rounding: float) -> bool:
    """difference: left less right, signed as stated."""
    if one.relation in "<>":
        return difference > rounding
    allowed = float(one.tolerance or 0) if one.relation == "~" else _half(one)
    return abs(difference) <= allowed + rounding


def _half(one: Elementary) -> float:
    """Half a unit of the last digit that a text states as equal."""
    stated = [node.value for node in (one.left, one.right) if isinstance(node, Number)]
    return max((0.5 * 10.0 ** int(v.as_tuple().exponent) for v in stated), default=0.0)


def _close(contrasts: Contrasts, widths: Sequence[float], variances: int = 1) -> ClaimAnswer:
    """Two one-sided tests of each comparison; far apart by Bonferroni.

    variances: of how many means of trials the difference has the variance.
    """
    k, wider = len(widths), math.sqrt(variances)
    inner = [one.widened(wider) for one in contrasts.intervals(contrasts.level)]
    outer = [one.widened(wider) for one in contrasts.intervals(1 - (1 - contrasts.level) / k)]
    near = sum(
        one.lies_above(-width) and one.lies_below(width)
        for one, width in zip(inner, widths, strict=True)
    )
    far = sum(
        one.lies_above(width) or one.lies_below(-width)
        for one, width in zip(outer, widths, strict=True)
    )
    word: AnswerWord = "HOLDS" if near == k else "OPPOSITE" if far else "OPEN"
    return ClaimAnswer(
        word,
        f"{near} of {k} shown to be as close as stated, {far} further apart.",
        "closeness",
        k,
        shown=near,
        opposite=far,
        ours=t_interval(contrasts.ours.mean(axis=0), contrasts.level),
        trials=len(contrasts.seeds),
    )


def _directed(claim: Claim, contrasts: Contrasts) -> ClaimAnswer:
    """A claim of which is larger, by how much of the printed difference."""
    ours, own = contrasts.ours, contrasts.intervals(contrasts.level)
    whole = t_interval(ours.mean(axis=0), contrasts.level)
    if all(one.low is None for one in own):
        whole = Interval(whole.mean)
    k, n = ours.shape
    shown = sum(one.lies_above(TIE) for one in own)
    opposite = sum(one.lies_below(-TIE) for one in own)
    behind = int((ours.mean(axis=1) < -TIE).sum())
    ahead = int((ours > TIE).all(axis=0).sum())
    printed = contrasts.printed
    mean = None if printed is None else float(printed.mean())
    kind: Kind = "direction"
    ratio = None
    if _states_number(contrasts.comparisons):
        kind = "bound"
    elif mean is not None and mean > contrasts.rounding and whole.low is not None:
        kind, ratio = "ratio", whole.over(mean)
    direction = _direction(whole, opposite)
    word: AnswerWord = direction
    reason = f"{k - behind} of {k} comparisons ahead, {behind} behind."
    if kind == "bound":
        if all(one.lies_above(0.0) for one in own):
            word = "HOLDS"
        elif direction != "OPPOSITE":
            word = "OPEN"
    elif ratio is not None:
        word = _of_ratio(ratio, direction, shown == k)
        if word == "OPEN" and opposite:
            reason = f"{opposite} of {k} comparisons shown opposite."
        elif word == "OPEN" and ratio.lies_below(1.0):
            reason = f"Smaller than printed; {reason[0].lower()}{reason[1:]}"
    if claim.every_trial:
        kind = "every trial"
        word = "OPPOSITE" if direction == "OPPOSITE" else "OPEN"
        if ahead == n and all(one.low is not None for one in own):
            word = "HOLDS"
        reason = f"{ahead} of {n} trials as stated."
    return ClaimAnswer(word, reason, kind, k, shown, behind, opposite, whole, mean, ratio, n, ahead)


def _direction(whole: Interval, opposite: int) -> AnswerWord:
    """A mean does not outvote a comparison that is shown against the claim."""
    if whole.lies_above(0.0):
        return "OPEN" if opposite else "SAME DIRECTION"
    return "OPPOSITE" if whole.lies_below(0.0) else "OPEN"


def _of_ratio(ratio: Interval, direction: AnswerWord, every: bool) -> AnswerWord:
    if ratio.lies_above(-UNSEEN) and ratio.lies_below(UNSEEN):
        return "ABSENT"
    if ratio.lies_above(SEEN) and every:
        return "HOLDS"
    return direction


def _states_number(comparisons: Sequence[Elementary]) -> bool:
    return any(_adds_number(side) for one in comparisons for side in (one.left, one.right))


def _adds_number(node: Node) -> bool:
    match node:
        case Number():
            return True
        case Arithmetic(sign="+" | "-"):
            return _adds_number(node.left) or _adds_number(node.right)
        case _:
            return False


def _print(leaf: Leaf) -> Floats:
    return np.asarray(float(leaf.cell.printed.value or 0))
