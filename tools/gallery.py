"""Makes the gallery of reports: one of each paper, from its recorded baseline; nothing is trained.

`python -m tools.gallery OUT` writes OUT/gallery.md and OUT/gallery/PAPER/report.html.
"""

import sys
from dataclasses import replace
from pathlib import Path

from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.reports.publish import write_report

from .found import PAPERS, judged, row, table

PAGE = """\
# Gallery

Whole reports, each in one file. [Reports](reports.md) explains what is in them.
They are made from the recorded trials of reduced runs.

{rows}

The [audit](gallery/audit/audit.html) compares the published values of all papers with each
other, and trains nothing ([how](audit.md)).

The [multiverse](gallery/multiverse/report.html) has MFCL's claims on what its clients send and
hold, with what is sent before pooling and after it: the paper says both. The costs are counted at
the published size.
"""
ABSENT = "Its drawing is absent: it needs arrays of the trials, and the records have none."


def shown(report: Report) -> Report:
    """The report, with a note at each table whose drawing the records cannot fill."""
    drawn = {one.id for one in load_paper(report.paper).tables if one.figure is not None}
    tables = (
        replace(one, notes=(ABSENT, *one.notes)) if one.id in drawn and not one.panels else one
        for one in report.tables
    )
    return replace(report, tables=tuple(tables))


def make(out: Path) -> None:
    """Writes the gallery to `out`, next to what nox put there, and removes all but HTML.
    Raises `FedreproError` for a folder that cannot be written."""
    lines = [*table("paper", "what the report says first")]
    for report in map(judged, PAPERS):
        write_report([shown(report)], out / "gallery" / report.paper)
        link = f"[{report.title}](gallery/{report.paper}/report.html)"
        lines.append(row(link, report.first.answer))
    for unshown in (out / "gallery").rglob("*"):
        if unshown.is_file() and unshown.suffix != ".html":
            unshown.unlink()
    (out / "gallery.md").write_text(PAGE.format(rows="\n".join(lines)), encoding="utf-8")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
