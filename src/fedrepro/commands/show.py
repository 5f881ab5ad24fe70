"""`fedrepro show`: one table, printed beside what is stored."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.plain import as_plain
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands._judged import command_line, store_at
from fedrepro.commands._options import add_cells, add_paper, add_store, chosen_plan, specs
from fedrepro.commands._stored_profile import add_default, choose_profile
from fedrepro.commands._terminal import paint, print_json

HELP = "show a table: printed beside reproduced, with verdict and the command that runs it again"
EXAMPLE = "fedrepro show cpcfl 3 --rows 'CP-CFL|*'"
_FORMATS = ("text", "csv", "latex", "markdown", "svg", "png", "pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A paper, a table, the profile, and the format."""
    add_paper(parser)
    parser.add_argument("table", metavar="TABLE", help="table or figure, for example 3 or figure-4")
    add_cells(parser, tables=False)
    add_store(parser)
    add_default(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=_FORMATS, default="text", help="default: text")
    form.add_argument("--json", action="store_true", help="the judged table as JSON")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="write it there (default: standard output)"
    )


def execute(given: argparse.Namespace) -> int:
    """Prints the table."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.trials import load_trials

    given.tables = [given.table]
    root, store = specs(given), store_at(given.store)
    paper = load_paper(given.paper, root)
    choose_profile(given, [paper.id], root, store)
    plan = chosen_plan(given, paper)
    text = given.format == "text"
    report = judge(plan, load_trials(plan, store), command=command_line(), audit=text)
    if given.json:
        print_json(as_plain(report.tables[0]))
        return 0
    shown = _shown(report, given.format)
    if given.out is not None:
        write_whole(given.out, shown)
    elif given.format in ("png", "pdf"):
        sys.stdout.flush()
        os.write(sys.stdout.fileno(), shown)
    else:
        print(shown.decode(), end="")
    return 0


def _shown(report: Report, form: str) -> bytes:
    """A report on one table in a format.

    Raises `FedreproError` for a picture of a table that compares nothing.
    """
    from fedrepro.reports import answer_pictures, terminal
    from fedrepro.reports.publish import formats

    if form == "text":
        return terminal.render(report, paint).encode()
    if form not in ("svg", "png", "pdf"):
        return str(formats()[form].render([report])).encode()
    found = answer_pictures.printed_against_ours(report.tables[0], form)
    if not found:
        raise FedreproError("nothing of this table is stored that could be drawn")
    return found
