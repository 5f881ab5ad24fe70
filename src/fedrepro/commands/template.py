"""Print an empty CSV file for results of your own, to judge them."""

import argparse

from fedrepro.benchmark.external.binding import template
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain

EXAMPLE = "fedrepro template cpcfl --tables 11"
ARGUMENTS = (
    *options.PAPER,
    options.tables(),
    options.trials("lines a cell (default: the trials of the paper's own protocol)"),
)


def execute(args: argparse.Namespace) -> None:
    """Prints the file, and as messages which cells have no line in it."""
    paper = options.paper(args)
    text, without = template(paper, args.tables, args.trials)
    print(text, end="")
    for why, n in without.items():
        complain(f"{n} cell{'s have' if n > 1 else ' has'} no line: {why}")
