"""What both formats of the audit report show, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fedrepro.benchmark.audit.findings import STATUSES, Finding, Status
from fedrepro.benchmark.spec.model import Paper

Audited = Sequence[tuple[Paper, Sequence[Finding]]]
"""Papers with their findings."""
Counts = Mapping[Status, int]
"""How many findings have each status."""

MEANINGS: dict[Status, str] = {
    "inconsistent": "no values that print like the published ones satisfy the statement",
    "undecidable": "rounding, or what the paper leaves open, allows both answers",
    "consistent": "recomputed within rounding",
}

KINDS = {
    "mean-and-sd": "mean and SD of printed trials",
    "granularity": "grid of k / n test images",
    "same-experiment": "one experiment in several places",
    "best-round": "best round against others",
    "stated-number": "numbers in the text",
    "claim": "comparisons in the text",
    "relation": "quantities tied by a formula",
    "formula": "recomputed from the architecture",
    "repeat": "rows equal in every cell",
}
"""Kinds of findings in words; a kind that is not here shows its own name."""


def counts(findings: Sequence[Finding]) -> Counts:
    """How many findings have each status, all three named."""
    found = Counter(one.status for one in findings)
    return {status: found[status] for status in STATUSES}


def kind_counts(findings: Sequence[Finding]) -> list[tuple[str, Counts]]:
    """By kind in words, how many findings have each status."""
    kinds = dict.fromkeys(one.kind for one in findings)
    return [
        (in_words(kind), counts([one for one in findings if one.kind == kind])) for kind in kinds
    ]


def by_status(findings: Sequence[Finding]) -> list[tuple[Status, list[Finding]]]:
    """Findings by status, inconsistent first; statuses without findings are left out."""
    grouped = [(status, [one for one in findings if one.status == status]) for status in STATUSES]
    return [(status, found) for status, found in grouped if found]


def in_words(kind: str) -> str:
    """A kind of finding in words."""
    return KINDS.get(kind, kind.replace("-", " "))


def headline(findings: Sequence[Finding]) -> str:
    """One sentence on a paper."""
    found = counts(findings)
    wrong = found["inconsistent"]
    if not wrong:
        return f"Nothing printed contradicts itself in {len(findings)} findings."
    what = "1 finding is" if wrong == 1 else f"{wrong} findings are"
    return (
        f"{what} inconsistent, {found['undecidable']} undecidable and "
        f"{found['consistent']} consistent."
    )
