"""Are differences that a text calls significant, comparable or stable so by the printed spreads?

Recomputed by Welch's test, two-sided at 5 %, for every value that prints so and each kind of SD
that the paper may print. For a sum of means with weights w, t is sum(w m) / SE. SE^2 is
sum(w^2 s^2 / n). The degrees of freedom are between the least n - 1 and the sum of all n - 1
(Welch 1947, Satterthwaite 1946). For a printed population SD, s^2 is SD^2 n / (n - 1). Any other
printed SD is s already. Means of different rows are taken as independent.

A number without a spread takes mean and SD from the table that prints its experiment with them. The
spec's bound for such a word (`- 2.0`) is left out: here the spread is the bound.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import inf, sqrt
from typing import Literal

from ...claims.printed import ExactRange
from ...spec.model import Cell, CellKey, Paper, Table
from ..expressions import MOST_SHOWN, listed, weights_of
from ..findings import Finding, Status, finding
from ..identity import grouped, numbers
from ..rounding import DDOFS, interval, rounded
from .claims import ClaimSupport, readings

HEAVY = True
Word = Literal["significant", "no significant difference", "comparable"]
Donors = Mapping[CellKey, Cell]
"""By cell, the cell that prints its experiment with a spread; itself where it has one."""
LEVEL = 0.05
"""Two-sided; what 'significant' means where a paper does not say."""
_QUOTED = re.compile(r"'([^']+)' is read")


@dataclass(frozen=True)
class Mean:
    """A printed mean with its weight in a sum, its SD of one of the kinds `ddofs`, and the runs."""

    weight: Fraction
    value: ExactRange
    sd: ExactRange
    runs: int
    ddofs: tuple[int, ...]

    @property
    def error(self) -> tuple[float, float]:
        """The range of w^2 s^2 / n."""
        low, high = (float(max(end, Fraction(0))) ** 2 for end in self.sd)
        share = float(self.weight) ** 2
        # SD^2 n / (n - 1) / n for a population SD, SD^2 / n for a sample's.
        extremes = max(self.ddofs), min(self.ddofs)
        least, most = (share / (self.runs - 1 if d == 0 else self.runs) for d in extremes)
        return low * least, high * most


@dataclass(frozen=True)
class Test:
    """Bounds of a difference, its standard error, t without its sign, and the two-sided p."""

    difference: tuple[float, float]
    error: tuple[float, float]
    t: tuple[float, float]
    p: tuple[float, float]


@dataclass(frozen=True)
class Tested:
    """A comparison whose numbers all have a spread, and Welch's test of its difference. `opposite`:
    whether the difference that is claimed has the other sign. `differs`: whether what is called
    alike differs for certain; for '<' and '>', the other way."""

    cells: tuple[Cell, ...]
    shown: str
    test: Test
    opposite: bool
    differs: bool


def check(paper: Paper) -> Iterator[Finding]:
    """One finding for each interpretation of a sentence that speaks of significance."""
    donors = spreads(paper)
    for table in paper.tables:
        for reads in readings(paper, table).values():
            for read in reads:
                if (word := word_of(read)) and (tested := list(_tested(read, paper, donors))):
                    yield _sentence(table, read, word, tested, len(reads) > 1)


def word_of(read: ClaimSupport) -> Word | None:
    """The word of a claim (`vague`, or quoted in its note) for a difference; None for others."""
    quoted = _QUOTED.search(read.claim.note or "")
    text = (read.claim.vague or (quoted[1] if quoted else "")).lower()
    if re.search(r"\b(no|not)\b.*significan", text):
        return "no significant difference"
    if "significan" in text:
        return "significant"
    return "comparable" if re.search("comparab|stable", text) else None


def spreads(paper: Paper) -> Donors:
    """Where the spread of each number is printed, and it is said over how many runs."""
    found: dict[CellKey, Cell] = {}
    means = (one for one in numbers(paper) if one.cell.trial is None)
    for group in grouped(means, lambda one: one.quantity).values():
        cells = [one.cell for one in group]
        spread = (one for one in cells if one.printed.sd is not None)
        known = [one for one in spread if (paper.table(one.table).sd.runs or 0) > 1]
        for cell in cells if known else ():
            own = (one for one in known if one is cell or one.table == cell.table)
            found[cell.key] = next(own, known[0])
    return found


def _tested(read: ClaimSupport, paper: Paper, donors: Donors) -> Iterator[Tested]:
    for one in read.comparisons:
        known = all(leaf.key in donors for leaf in one.leaves)
        weights = (weights_of(one.difference) if known else None) or {}
        if len(weights) < 2:
            continue
        means = list[Mean]()
        for key, weight in weights.items():
            cell, kind = donors[key], paper.table(donors[key].table).sd
            sd, ddofs = cell.printed.sd or Decimal(0), DDOFS if kind.ddof is None else (kind.ddof,)
            mean = interval(cell.printed)
            means.append(Mean(one.sign * weight, mean, rounded(sd), kind.runs or 0, ddofs))
        test, used = compare(means), tuple(donors[key] for key in weights)
        opposite = one.relation in "<>" and test.difference[1] <= 0
        differs = test.p[1] < LEVEL and (one.relation in "=~" or opposite)
        shown = _shown([one.weight for one in means], used)
        yield Tested(used, shown, test, opposite, differs)


def _sentence(
    table: Table, read: ClaimSupport, word: Word, tested: Sequence[Tested], several: bool
) -> Finding:
    below = [one for one in tested if one.test.p[1] < LEVEL and not one.opposite]
    if word == "significant":
        wrong = [one for one in tested if one.test.p[0] >= LEVEL or one.opposite]
        right = len(below) == len(tested)
        counted = f"{len(below)} of {len(tested)} are significant, {len(wrong)} cannot be; "
    else:
        wrong = [one for one in tested if one.differs]
        right = not wrong
        counted = f"{len(wrong)} of {len(tested)} differ for certain; "
    status: Status = "consistent" if right else "undecidable"
    if wrong and word != "comparable" and not several:
        status = "inconsistent"
    decisive = wrong or [one for one in tested if one not in below] or list(tested)
    cells = {cell.key: cell for one in decisive for cell in one.cells}
    tables = sorted({cell.table for cell in cells.values()})
    borrowed = "" if tables == [table.id] else f" Means and SDs are those of table {tables[0]}."
    called = "comparable or stable" if word == "comparable" else word
    return finding(
        ("significance", table.id, read.claim.id),
        cells.values(),
        table=table.id,
        statement=f"{read.claim.says.rstrip('.')}. The text says '{called}': by Welch's test of "
        f"the printed means and SDs, at {LEVEL:.0%}, two-sided.{borrowed}"
        + (" The sentence has other interpretations." if several else ""),
        published=listed([one.shown for one in decisive]),
        computed=counted + "; ".join(_worked(one.test) for one in decisive[:MOST_SHOWN]),
        status=status,
    )


def _shown(weights: Sequence[Fraction], cells: Sequence[Cell]) -> str:
    """'84.6 ± 0.21 - 83.3 ± 0.34', larger weights with their factor."""
    if len(weights) > MOST_SHOWN:
        return f"a weighted sum of {len(weights)} means with their SDs"
    parts = []
    for weight, cell in zip(weights, cells, strict=True):
        factor = "" if abs(weight) == 1 else f"{float(abs(weight)):.3g} x "
        parts.append(f"{'-' if weight < 0 else '+'} {factor}{cell.printed}")
    return " ".join(parts).removeprefix("+ ")


def _worked(test: Test) -> str:
    difference, error, t = (
        f"{low:.4g} to {high:.4g}" for low, high in (test.difference, test.error, test.t)
    )
    return f"difference {difference}, SE {error}, t {t}, p {test.p[0]:.2g} to {test.p[1]:.2g}"


def compare(means: Sequence[Mean]) -> Test:
    """Welch's test of a weighted sum of means against zero, bounded from both sides."""
    from scipy.stats import t as student  # here, since reports look for checks without asking them

    ends = [sorted(one.weight * end for end in one.value) for one in means]
    low, high = (sum(side, Fraction(0)) for side in zip(*ends, strict=True))
    least, most = (sqrt(sum(side)) for side in zip(*(one.error for one in means), strict=True))
    near, far = 0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))
    t = tuple(
        float(one) / error if error else (inf if one else 0.0)
        for one, error in ((near, most), (far, least))
    )
    freedom = [one.runs - 1 for one in means]
    smallest = 2 * float(student.sf(t[1], sum(freedom)))
    largest = 2 * float(student.sf(t[0], min(freedom)))
    return Test((float(low), float(high)), (least, most), (t[0], t[1]), (smallest, largest))
