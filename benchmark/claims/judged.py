"""A claim as a report shows it: the answer of the trials, that of the print, each comparison."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..results import ClaimResult, Comparison
from ..spec.model import Claim
from ..stats.intervals import t_interval
from .answer import Known, answer_claim
from .nodes import Elementary, show
from .printed import support


def judged(claim: Claim, comparisons: Sequence[Elementary], known: Known) -> ClaimResult:
    """A claim with the comparisons that it is bound to."""
    supported, why = support(comparisons)
    return ClaimResult(
        id=claim.id,
        says=claim.says,
        holds=claim.holds,
        headline=claim.headline,
        unit=comparisons[0].unit,
        support=supported,
        support_reason=why,
        answer=answer_claim(claim, comparisons, known),
        comparisons=tuple(_comparison(one, known) for one in comparisons),
    )


def _comparison(one: Elementary, known: Known) -> Comparison:
    """One comparison with its differences by seed, left less right, where all cells have trials."""
    differences: tuple[float, ...] = ()
    interval = None
    if all(known.values.get(leaf.key) for leaf in one.leaves):
        contrasts, turned = known.contrasts([one]), -1.0 if one.relation == "<" else 1.0
        if np.isfinite(contrasts.ours).all():
            differences = tuple(float(turned * value) for value in contrasts.ours.ravel())
        interval = t_interval(differences, contrasts.level) if differences else None
    return Comparison(
        text=one.text,
        published_left=show(one.left),
        published_right=show(one.right),
        relation=one.relation,
        differences=differences,
        interval=interval,
    )
