"""Show a table: published and reproduced values, and verdicts."""

import argparse
import os
import sys

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands import _options as options
from fedrepro.commands._judged import judged, store_at
from fedrepro.commands._terminal import paint

EXAMPLE = "fedrepro show cpcfl 3 --rows 'CP-CFL|*'"
_FORMATS = ("text", "csv", "latex", "markdown", "svg", "png", "pdf")
ARGUMENTS = (
    *options.PAPER,
    options.option("table", metavar="TABLE", help="table or figure, for example 3 or figure-4"),
    *options.CELLS_OF_A_TABLE,
    *options.PLACES,
    options.option("--format", choices=_FORMATS, default="text", help="default: text"),
    options.file("--out", "write it there (default: standard output)"),
)


def execute(args: argparse.Namespace) -> None:
    """Prints the table."""
    if args.out is not None and args.out.is_dir():
        raise FedreproError(f"--out {args.out} is a folder; name a file in it")
    args.tables = [args.table]
    store, paper = store_at(args.store, to_read=True), options.paper(args)
    report = judged(options.plan(args, paper), store, audit=args.format == "text")
    shown = _shown(report, args.format)
    if args.out is not None:
        write_whole(args.out, shown)
    elif args.format in ("png", "pdf"):
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), shown)
    else:
        print(shown.decode(), end="")


def _shown(report: Report, form: str) -> bytes:
    from fedrepro._results import Results
    from fedrepro.reports import terminal
    from fedrepro.reports.publish import formats

    if form == "text":
        return terminal.render(report, paint).encode()
    if form not in ("svg", "png", "pdf"):
        return str(formats()[form].render([report])).encode()
    return Results(report).plot((*report.tables, *report.controls)[0].id, form)
