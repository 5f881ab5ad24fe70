"""Print an empty CSV file for results of your own, to judge them."""

import argparse

from fedrepro.benchmark.external.binding import template
from fedrepro.commands import _options as options

EXAMPLE = "fedrepro template cpcfl --tables 11"
ARGUMENTS = (
    *options.PAPER,
    options.tables(),
    options.trials("lines a cell (default: the trials of the paper's own protocol)"),
)


def execute(given: argparse.Namespace) -> None:
    """Prints the file."""
    print(template(options.paper(given), given.tables, given.trials), end="")
