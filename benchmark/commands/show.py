"""`fedrepro show`: one table, printed beside what is stored."""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

from fedrepro.benchmark.commands._options import add_cells, folder

HELP = "show a table: printed beside reproduced, with verdict and the command that runs it again"
EXAMPLE = "fedrepro show cpcfl 3 --rows 'CP-CFL|*'"
_WRITERS = {"csv": "csv", "latex": "latex", "markdown": "markdown"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A paper, a table, the profile, and the format."""
    parser.add_argument("paper", metavar="PAPER", help="paper id, for example cpcfl")
    parser.add_argument("table", metavar="TABLE", help="table or figure, for example 3 or figure-4")
    add_cells(parser)
    parser.add_argument(
        "--store",
        type=folder,
        default=Path("results/store"),
        metavar="DIR",
        help="where finished trials are kept (default: results/store)",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--format", choices=("text", *_WRITERS), default="text", help="default: text")
    form.add_argument("--json", action="store_true", help="the judged table as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints the table."""
    from fedrepro.benchmark.commands._judged import command_line, store_at
    from fedrepro.benchmark.commands._options import chosen_plan
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.results import as_plain

    given.tables = [given.table]
    plan = chosen_plan(given)
    text = given.format == "text" and not given.json
    report = judge(plan, store_at(given.store), command=command_line(), audit=text or given.json)
    if given.json:
        print(json.dumps(as_plain(report.tables[0]), indent=1, ensure_ascii=False))
    elif text:
        from fedrepro.benchmark.commands._terminal import paint

        print(importlib.import_module("fedrepro.reports.terminal").render(report, paint), end="")
    else:
        writer = importlib.import_module(f"fedrepro.reports.writers.{_WRITERS[given.format]}")
        print(writer.render([report]), end="")
    return 0
