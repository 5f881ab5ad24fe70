"""List the settings of every method of a paper, and their sources."""

import argparse

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.commands import _options as options

EXAMPLE = "fedrepro settings mfcl"
ARGUMENTS = options.PAPERS


def execute(args: argparse.Namespace) -> None:
    """Prints one page on the papers named, or on all."""
    args.profile = "paper"
    plans = [make_plan(one, args.profile) for one in options.papers_with_profile(args)]
    from fedrepro.reports.settings import render

    print(render(plans), end="")
