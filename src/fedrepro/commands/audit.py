"""`fedrepro audit`: what the printed numbers say of each other."""

import argparse
from collections import Counter
from collections.abc import Sequence

from fedrepro.benchmark.audit.findings import STATUSES, Finding, findings_for
from fedrepro.benchmark.spec.model import Paper
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded, print_json

HELP = "check the published numbers against each other; trains nothing"
EXAMPLE = "fedrepro audit cpcfl --out results/reports/audit"
ARGUMENTS = (
    *options.PAPERS,
    options.flag("--json", "every finding as JSON"),
    options.option(
        "--out",
        type=options.folder,
        metavar="DIR",
        help="write audit.html and audit.md to this folder",
    ),
    options.flag("--strict", "exit with 1 if anything is inconsistent"),
)


def execute(given: argparse.Namespace) -> int:
    """Prints what is not consistent, or all findings as JSON; 1 only if strict."""
    audited = [(paper, findings_for(paper)) for paper in options.papers(given)]
    findings = [one for _, found in audited for one in found]
    if given.json:
        print_json([one.as_plain() for one in findings])
    else:
        for paper, found in audited:
            _print(paper, found)
    if given.out is not None:
        from fedrepro.reports.audit import FILES
        from fedrepro.reports.publish import replacing, write_text

        with replacing(given.out, FILES) as aside:
            for name, render in FILES.items():
                write_text(aside / name, render(audited))
        for name in () if given.json else FILES:
            print(f"wrote {given.out / name}")
    wrong = any(one.status == "inconsistent" for one in findings)
    return 1 if given.strict and wrong else 0


def _print(paper: Paper, findings: Sequence[Finding]) -> None:
    counts = Counter(one.status for one in findings)
    print(f"{paper.id}: " + ", ".join(f"{counts[status]} {status}" for status in STATUSES))
    for status in ("inconsistent", "undecidable"):
        for one in findings:
            if one.status == status:
                print(f"\n  {status.upper()}  {one.id}")
                print(folded(f"    {one.statement}", 4))
                print(folded(f"    published: {one.published}", 15))
                print(folded(f"    computed:  {one.computed}", 15))
    print()
