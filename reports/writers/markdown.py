"""The report as Markdown that renders on a code host, with collapsible details."""

from collections import Counter
from collections.abc import Sequence

from ...benchmark.results import CellResult, Report
from .. import evidence, layout, scoreboard, specification_curve
from .. import markdown_text as md
from ..pages import page

FILE = "report.md"
LIMIT = 1_000_000
"""Bytes that a job summary of a code host holds (1 MiB), with room to spare."""


def render(reports: Sequence[Report], limit: int = LIMIT) -> str:
    """The report as Markdown of at most `limit` bytes; if longer, the overview, which says so."""
    template = page(
        "report.md",
        (evidence, scoreboard, specification_curve),
        address=md.address,
        block=md.block,
        code=md.code,
        codes=lambda texts: md.Written(", ".join(map(md.code, texts))),
        counted=_counted,
        reasons=lambda table: Counter((x.verdict.word, x.verdict.reason) for x in table.cells),
        short=_short,
    )
    for whole in (True, False):
        text = md.without_gaps(template.render(reports=reports, whole=whole, written=md.Written))
        if len(text.encode("utf-8", "replace")) <= limit:
            break
    return text


def _counted(report: Report, what: scoreboard.Countable) -> str:
    counts = scoreboard.counts([report], what)
    return ", ".join(f"{n} {word}" for word, n in counts.items()) or "none"


def _short(cell: CellResult | None) -> str:
    if cell is None:
        return ""
    word = cell.verdict.word
    if cell.mean is None:
        return f"{layout.published(cell)} · {word}"
    mean = layout.number(cell.mean, layout.places(cell))
    shown = "" if word == "NOT COMPARED" else f" · {word}"
    return f"{layout.published(cell)} → {mean}{shown}"
