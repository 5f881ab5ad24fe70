"""Check the published numbers against each other; trains nothing."""

import argparse
from dataclasses import asdict

from fedrepro.benchmark.audit.findings import findings_for
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded, print_json

EXAMPLE = "fedrepro audit cpcfl --out results/reports/audit"
ARGUMENTS = (
    *options.PAPERS,
    options.flag("--json", "every finding as JSON"),
    options.folder("--out", "write audit.html and audit.md to this folder"),
    options.flag("--strict", "exit with 1 if anything is inconsistent"),
)


def execute(args: argparse.Namespace) -> int:
    """1 if anything is inconsistent and --strict was given, else 0."""
    from fedrepro.reports.audit import FILES, counts
    from fedrepro.reports.publish import replacing, write_text

    audited = [(paper, findings_for(paper)) for paper in options.papers(args)]
    findings = [one for _, found in audited for one in found]
    if args.json:
        plain = map(asdict, findings)
        print_json([{name: one[name] for name in one if name != "cells"} for one in plain])
    else:
        for paper, found in audited:
            counted = (f"{n} {status}" for status, n in counts(found).items())
            print(f"{paper.id}: {', '.join(counted)}")
            for status in ("inconsistent", "undecidable"):
                for one in (each for each in found if each.status == status):
                    print(f"\n  {status.upper()}  {one.id}")
                    print(folded(f"    {one.statement}", 4))
                    print(folded(f"    published: {one.published}", 15))
                    print(folded(f"    computed:  {one.computed}", 15))
            print()
    if args.out is not None:
        with replacing(args.out, FILES) as aside:
            for name, render in FILES.items():
                write_text(aside / name, render(audited))
        for name in () if args.json else FILES:
            print(f"wrote {args.out / name}")
    wrong = any(one.status == "inconsistent" for one in findings)
    return 1 if args.strict and wrong else 0
