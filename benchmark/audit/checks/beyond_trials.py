"""Does a single number of one table lie beyond every trial that another table prints of it?

A single run is one more draw: it exceeds all n printed trials, or falls below them, with
probability 1 / (n + 1) each, methods taken as independent. Where several methods lie beyond in one
direction, other runs or another set-up are likelier than chance.
"""

from collections.abc import Iterator, Sequence
from math import comb

from ...spec.model import Cell, Paper
from ..findings import Finding, finding
from ..identity import grouped, numbers

FEWEST = 3  # fewer trials than this are exceeded too easily
LIKELY = 0.05
Beside = tuple[Cell, Sequence[Cell]]  # a single number, and the trials of its experiment


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each table of trials and metric."""
    beside = grouped(_beside(paper), lambda one: (one[1][0].table, one[0].metric or ""))
    for (trials, metric), found in beside.items():
        # Sure of all values that print so.
        above = [pair for pair in found if pair[0].bounds[0] > max(x.bounds[1] for x in pair[1])]
        below = [pair for pair in found if pair[0].bounds[1] < min(x.bounds[0] for x in pair[1])]
        side, word = (above, "above") if len(above) >= len(below) else (below, "below")
        fewest = min(len(some) for _, some in found)
        # Both directions could have been found.
        likely = min(1.0, 2 * chance(len(side), len(found), fewest))
        odd = likely <= LIKELY
        single, shown = found[0][0].table, side if odd else found
        doubt = " They may be other runs or another set-up; the paper does not say." if odd else ""
        yield finding(
            ("beyond-trials", single, trials, metric),
            (cell for one, some in shown for cell in (one, *some)),
            statement=f"Table {single} prints single values of experiments whose trials table "
            f"{trials} prints ({metric.replace('_', ' ')}): one more run is as likely to be "
            f"anywhere among them.{doubt}",
            published="; ".join(map(_pair, shown[:6])) + ("" if len(shown) <= 6 else "; ..."),
            computed=f"{len(above)} of {len(found)} are above every trial, {len(below)} below; "
            f"that {len(side)} or more are {word} (or the reverse) has probability {likely:.2g} "
            f"for one chance in {fewest + 1} each, were methods independent",
            status="undecidable" if odd else "consistent",
        )


def _beside(paper: Paper) -> Iterator[Beside]:
    """Experiments whose trials one table prints: these, and the first single number elsewhere."""
    for alike in grouped(numbers(paper), lambda one: one.quantity).values():
        cells = [one.cell for one in alike]
        lone = [cell for cell in cells if cell.trial is None and cell.printed.sd is None]
        trials = grouped((c for c in cells if c.trial is not None), lambda cell: cell.table)
        for table, some in trials.items():
            single = next((cell for cell in lone if cell.table != table), None)
            if single is not None and len(some) >= FEWEST:
                yield single, some


def chance(hits: int, of: int, trials: int) -> float:
    """The probability that `hits` or more `of` single draws each exceed all of `trials` others."""
    p = 1 / (trials + 1)
    return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits, of + 1))


def _pair(one: Beside) -> str:
    single, trials = one
    values = sorted(cell.printed.value or 0 for cell in trials)
    label = " · ".join(single.row)
    return f"{label} {single.printed.text}, trials {values[0]} to {values[-1]}"
