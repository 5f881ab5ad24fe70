"""The audit of the printed numbers as a report, in HTML and Markdown."""

from collections import Counter
from collections.abc import Sequence

from ..benchmark.audit.findings import STATUSES, Finding, Status
from ..benchmark.spec.model import Paper
from . import layout
from .markdown_text import code, without_gaps
from .pages import page

Audited = Sequence[tuple[Paper, Sequence[Finding]]]
"""Papers with their findings."""


def counts(findings: Sequence[Finding]) -> dict[Status, int]:
    """How many findings have each status, all three named."""
    found = Counter(one.status for one in findings)
    return {status: found[status] for status in STATUSES}


def headline(findings: Sequence[Finding]) -> str:
    """One sentence on a paper."""
    wrong, unsure, sound = counts(findings).values()
    if not wrong:
        return f"Nothing published contradicts itself in {len(findings)} findings."
    what = "1 finding is" if wrong == 1 else f"{wrong} findings are"
    return f"{what} inconsistent, {unsure} undecidable and {sound} consistent."


def html(audited: Audited) -> str:
    """The report as one self-contained page; everything that comes from a spec is escaped."""
    return _rendered("audit.html", audited)


def markdown(audited: Audited) -> str:
    """The report as Markdown that renders on a code host."""
    return without_gaps(_rendered("audit.md", audited))


def _rendered(template: str, audited: Audited) -> str:
    given = {"counts": counts, "headline": headline, "meanings": layout.FINDINGS}
    return page(template, code=code).render(audited=audited, **given)


FILES = {"audit.html": html, "audit.md": markdown}
"""The formats, by the name of their file."""
