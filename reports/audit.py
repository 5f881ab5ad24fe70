"""The audit of the printed numbers as a report, in HTML and Markdown."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ..benchmark.audit.findings import STATUSES, Finding, Status
from ..benchmark.spec.model import Paper
from . import layout
from .markdown_text import code, without_gaps
from .pages import page

Audited = Sequence[tuple[Paper, Sequence[Finding]]]
"""Papers with their findings."""
Counts = Mapping[Status, int]
"""How many findings have each status."""


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
    """A kind of finding in words: 'mean-and-sd' as 'mean and sd'."""
    return kind.replace("-", " ")


def headline(findings: Sequence[Finding]) -> str:
    """One sentence on a paper."""
    found = counts(findings)
    wrong = found["inconsistent"]
    if not wrong:
        return f"Nothing published contradicts itself in {len(findings)} findings."
    what = "1 finding is" if wrong == 1 else f"{wrong} findings are"
    return (
        f"{what} inconsistent, {found['undecidable']} undecidable and "
        f"{found['consistent']} consistent."
    )


def html(audited: Audited) -> str:
    """The report as one self-contained page; everything that comes from a spec is escaped."""
    return _rendered("audit.html", audited)


def markdown(audited: Audited) -> str:
    """The report as Markdown that renders on a code host."""
    return without_gaps(_rendered("audit.md", audited))


def _rendered(template: str, audited: Audited) -> str:
    functions = {one.__name__: one for one in (by_status, counts, headline, in_words, kind_counts)}
    made = page(template, {"code": code}, functions)
    return made.render(audited=audited, meanings=layout.FINDINGS)


FILES = {"audit.html": html, "audit.md": markdown}
"""The formats, by the name of their file."""
