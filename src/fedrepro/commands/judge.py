"""Judge results of your own against a paper; trains nothing."""

import argparse

from fedrepro.benchmark.external.exports import read_files
from fedrepro.commands import _options as options
from fedrepro.commands._judged import command_line, folder_of, show

EXAMPLE = "fedrepro judge cpcfl --results mine.csv --protocol full --note 'five seeds, as printed'"
ARGUMENTS = (
    *options.PAPER,
    options.file("--results", "CSV (fedrepro template prints one), or a TOML map of exports of "
        "Flower, W&B or MLflow; may be given more than once (docs/your-results.md)",
        action="append", required=True),
    options.tables("those that have results"),
    options.option("--protocol", choices=("scaled", "full"), default="scaled", help="what you "
        "declare: full (the published protocol: numbers and claims are judged) or scaled "
        "(default: claims alone are judged)"),
    options.option("--note", default="", metavar="TEXT", help="how they were made, in your words"),
    options.out("default: results/reports/PAPER-external"),
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Reads, judges and reports."""
    paper = options.paper(args)
    tables = ["tables", *args.tables] if args.tables else []
    place = args.out or folder_of(paper.id, "external", *tables)
    rows = read_files(args.results, paper)
    from fedrepro.benchmark.judging.external import judge_external

    report = judge_external(
        paper,
        rows,
        command=command_line(),
        tables=args.tables,
        protocol=args.protocol,
        note=args.note,
        files=[file.name for file in args.results],
    )
    return show([report], place)
