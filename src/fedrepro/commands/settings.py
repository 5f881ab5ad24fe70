"""`fedrepro settings`: the settings of every method under the published protocol, with origin."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.commands._options import add_papers, papers_with_profile, specs

HELP = "say what every method of a paper is run with, and where from each setting is, as Markdown"
EXAMPLE = "fedrepro settings mfcl"
ALIASES = ("baselines",)
"""The older name of this command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers; settings are those of the published protocol."""
    add_papers(parser)
    parser.set_defaults(profile="paper")


def execute(given: argparse.Namespace) -> int:
    """Prints one page on the papers named, or on all."""
    plans = [make_plan(paper, given.profile) for paper in papers_with_profile(given, specs(given))]
    from fedrepro.reports.settings import render

    print(render(plans), end="")
    return 0
