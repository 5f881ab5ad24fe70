"""`fedrepro audit`: what the printed numbers say of each other."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from fedrepro.benchmark.commands._options import add_papers, folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedrepro.benchmark.audit.findings import Finding
    from fedrepro.benchmark.spec.model import Paper

HELP = "check the printed numbers against each other; nothing is trained"
EXAMPLE = "fedrepro audit cpcfl --out results/reports/audit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, the format, where reports go, and the exit code."""
    add_papers(parser)
    parser.add_argument("--json", action="store_true", help="every finding as JSON")
    parser.add_argument(
        "--out", type=folder, metavar="DIR", help="write audit.html and audit.md to this folder"
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if anything is inconsistent"
    )


def execute(given: argparse.Namespace) -> int:
    """Prints what is not consistent, or all findings as JSON; 1 only if strict."""
    from fedrepro.benchmark.audit.findings import findings_for
    from fedrepro.benchmark.commands._options import chosen_papers

    audited = [(paper, findings_for(paper)) for paper in chosen_papers(given.papers)]
    findings = [one for _, found in audited for one in found]
    if given.json:
        print(json.dumps([one.as_plain() for one in findings], indent=1, ensure_ascii=False))
    else:
        for paper, found in audited:
            _print(paper, found)
    if given.out is not None:
        _write(audited, given.out, quiet=given.json)
    wrong = any(one.status == "inconsistent" for one in findings)
    return 1 if given.strict and wrong else 0


def _print(paper: Paper, findings: Sequence[Finding]) -> None:
    from fedrepro.benchmark.audit.findings import STATUSES

    counts = Counter(one.status for one in findings)
    print(f"{paper.id}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES))
    for status in ("inconsistent", "undecidable"):
        for one in findings:
            if one.status == status:
                print(f"\n  {status.upper()}  {one.id}")
                print(f"    {one.statement}")
                print(f"    published: {one.published}")
                print(f"    computed:  {one.computed}")
    print()


def _write(
    audited: Sequence[tuple[Paper, Sequence[Finding]]], folder: Path, *, quiet: bool
) -> None:
    """Reports are imported by name: what is in `benchmark` does not depend on them."""
    import importlib

    from fedrepro.benchmark.commands._judged import publishing, reporting_to

    formats = [importlib.import_module(f"fedrepro.reports.audit.{n}") for n in ("html", "markdown")]
    names = [one.FILE for one in formats]
    with reporting_to(folder), publishing().replacing(folder, names) as aside:
        for one in formats:
            text = one.render(audited)
            (aside / one.FILE).write_text(text, encoding="utf-8", errors="replace")
    if not quiet:
        for name in names:
            print(f"wrote {folder / name}")
