"""`fedrepro template`: an empty file of results, to be filled in and judged."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.commands._options import add_paper, comma_separated, whole_number
from fedrepro.benchmark.external.template import template
from fedrepro.benchmark.spec import limits
from fedrepro.benchmark.spec.load import load_paper

HELP = "print an empty CSV file for results of your own, which fedrepro judge reads"
EXAMPLE = "fedrepro template cpcfl --tables 11"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A paper, its tables and the number of trials."""
    add_paper(parser)
    parser.add_argument(
        "--tables",
        metavar="LIST",
        type=comma_separated,
        help="tables and figures, comma-separated (3,A.13,figure-4); default: all",
    )
    parser.add_argument(
        "--trials",
        type=whole_number(1, limits.TRIALS),
        metavar="N",
        help="lines a cell (default: the trials of the paper's own protocol)",
    )


def execute(given: argparse.Namespace) -> int:
    """Prints the file."""
    print(template(load_paper(given.paper), given.tables, given.trials), end="")
    return 0
