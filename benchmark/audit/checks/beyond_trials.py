"""Does a single number of one table lie beyond every trial that another table prints of it?

A single run of the same experiment is one more draw, so that it exceeds all n printed trials with
probability 1 / (n + 1), and so it falls below them. Where it happens to several methods of a table
in one direction, other runs or another set-up are likelier than chance; since the paper need not
say which, the finding is `undecidable`. Methods are taken as independent for the probability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb

from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import numbers

KIND = "beyond-trials"
FEWEST = 3
"""Fewer trials than this are exceeded too easily."""
LIKELY = 0.05


@dataclass(frozen=True)
class Beyond:
    """A single number beside the trials of its experiment."""

    single: Cell
    trials: tuple[Cell, ...]

    @property
    def side(self) -> int:
        """1 above all, -1 below all, else 0; sure of all values that print so."""
        low, high = self.single.bounds
        if all(low > trial.bounds[1] for trial in self.trials):
            return 1
        return -1 if all(high < trial.bounds[0] for trial in self.trials) else 0


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each table of trials and metric."""
    for (_, metric), found in compared(paper).items():
        yield _table(paper, found, metric)


def compared(paper: Paper) -> dict[tuple[str, str], list[Beyond]]:
    """By table of trials and metric: each experiment that other tables print with one number.

    Its first print stands for all that other tables repeat.
    """
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for one in numbers(paper):
        groups[one.experiment, one.measure, one.round].append(one.cell)
    found: dict[tuple[str, str], list[Beyond]] = defaultdict(list)
    for alike in groups.values():
        by_table: dict[str, list[Cell]] = defaultdict(list)
        for cell in (cell for cell in alike if cell.trial is not None):
            by_table[cell.table].append(cell)
        lone = [cell for cell in alike if cell.trial is None and cell.printed.sd is None]
        for table, trials in by_table.items():
            singles = [cell for cell in lone if cell.table != table]
            if singles and len(trials) >= FEWEST:
                key = table, singles[0].metric or ""
                found[key].append(Beyond(singles[0], tuple(trials)))
    return found


def chance(hits: int, of: int, trials: int) -> float:
    """That at least so many of so many single draws exceed each as many trials."""
    p = 1 / (trials + 1)
    return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits, of + 1))


def _table(paper: Paper, found: Sequence[Beyond], metric: str) -> Finding:
    above = [one for one in found if one.side > 0]
    below = [one for one in found if one.side < 0]
    side, word = (above, "above") if len(above) >= len(below) else (below, "below")
    fewest = min(len(one.trials) for one in found)
    # Both directions could have been found.
    likely = min(1.0, 2 * chance(len(side), len(found), fewest))
    odd = likely <= LIKELY
    single, trials = found[0].single.table, found[0].trials[0].table
    shown = side if odd else found
    return finding(
        paper,
        KIND,
        (single, trials, metric),
        (cell for one in shown for cell in (one.single, *one.trials)),
        statement=f"Table {single} prints single values of experiments whose trials table {trials} "
        f"prints ({metric.replace('_', ' ')}): one more run is as likely to be anywhere among them."
        + (" They may be other runs or another set-up; the paper does not say." if odd else ""),
        published="; ".join(map(_pair, shown[:6])) + ("" if len(shown) <= 6 else "; ..."),
        computed=f"{len(above)} of {len(found)} are above every trial, {len(below)} below; that "
        f"{len(side)} or more are {word} (or the reverse) has probability {likely:.2g} for one "
        f"chance in {fewest + 1} each, were methods independent",
        status="undecidable" if odd else "consistent",
    )


def _pair(one: Beyond) -> str:
    values = sorted(cell.printed.value or 0 for cell in one.trials)
    label = " · ".join(one.single.row)
    return f"{label} {one.single.printed.text}, trials {values[0]} to {values[-1]}"
