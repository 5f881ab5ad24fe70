"""`fedrepro template`: an empty file of results, to be filled in and judged."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.external.template import template
from fedrepro.benchmark.spec import limits
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.commands._options import add_paper, add_tables, specs, whole_number

HELP = "print an empty CSV file for results of your own, which fedrepro judge reads"
EXAMPLE = "fedrepro template cpcfl --tables 11"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A paper, its tables and the number of trials."""
    add_paper(parser)
    add_tables(parser)
    parser.add_argument(
        "--trials",
        type=whole_number(1, limits.TRIALS),
        metavar="N",
        help="lines a cell (default: the trials of the paper's own protocol)",
    )


def execute(given: argparse.Namespace) -> int:
    """Prints the file."""
    print(template(load_paper(given.paper, specs(given)), given.tables, given.trials), end="")
    return 0
