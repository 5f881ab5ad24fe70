"""Margins that can never give REPRODUCED beside the spread that the paper prints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import NormalDist

from ..claims.nodes import key_of
from ..spec.model import Paper, Table
from ..spec.problems import Problem
from ..stats.spread import Spread
from ..stats.t_tests import LEVEL
from .published_value import published_values_of

Z = NormalDist().inv_cdf(1 - LEVEL)
"""1.645: no quantile of Student's t at this level is smaller."""


def is_out_of_reach(margin: float, half_unit: float, published: Spread) -> bool:
    """Whether a margin can never give REPRODUCED beside a printed spread.

    REPRODUCED asks for |d| + h + t * SE < margin. The standard error is at least that of the
    printed number, and t at least 1.645, however many trials are made. So nothing fulfils it if
    margin <= h + 1.645 * sd / sqrt(runs), with one run where the spread is borrowed.
    """
    return margin <= half_unit + Z * math.sqrt(published.variance_of_mean)


def narrow_margins(papers: Iterable[Paper]) -> tuple[Problem, ...]:
    """A warning for every table with such cells; a margin is a choice, so it is no mistake."""
    return tuple(
        problem for paper in papers for table in paper.tables for problem in _of(paper, table)
    )


def _of(paper: Paper, table: Table) -> Iterator[Problem]:
    sides = published_values_of(paper, table)
    cells = [
        (cell, is_out_of_reach(margin.value, (side.high - side.low) / 2, side.spread))
        for cell in table.cells
        if (side := sides.get(key_of(cell))) is not None and side.spread is not None
        if (margin := table.margin_of(cell)) is not None
    ]
    narrow = [cell for cell, is_narrow in cells if is_narrow]
    if narrow:
        text = table.file.read_text(encoding="utf-8").splitlines()
        yield Problem(
            table.file,
            text.index("[margin]") + 1 if "[margin]" in text else None,
            f"margin: too narrow for REPRODUCED in {len(narrow)} of {len(cells)} cells with a "
            "printed spread, at most the rounding and 1.645 standard errors of the print"
            f" (first '{narrow[0].label}')",
        )
