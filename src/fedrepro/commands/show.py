"""`fedrepro show`: one table, printed beside what is stored."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.plain import as_plain
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.commands._judged import command_line, store_at
from fedrepro.commands._options import add_cells, add_paper, add_store, chosen_plan, specs
from fedrepro.commands._stored_profile import add_default, choose_profile
from fedrepro.commands._terminal import paint, print_json

HELP = "show a table: printed beside reproduced, with verdict and the command that runs it again"
EXAMPLE = "fedrepro show cpcfl 3 --rows 'CP-CFL|*'"
_FORMATS = ("text", "csv", "latex", "markdown")


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
    elif text:
        from fedrepro.reports import terminal

        print(terminal.render(report, paint), end="")
    else:
        from fedrepro.reports.publish import formats

        print(formats()[given.format].render([report]), end="")
    return 0
