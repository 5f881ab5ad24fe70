"""`fedrepro baselines`: the settings of every method under the published protocol, and whose."""

from __future__ import annotations

import argparse
import importlib

from fedrepro.benchmark.commands._options import add_papers
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_papers

HELP = "say what every method of a paper is run with, and whose setting each is, as Markdown"
EXAMPLE = "fedrepro baselines mfcl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers."""
    add_papers(parser)


def execute(given: argparse.Namespace) -> int:
    """Prints one page on the papers named, or on all."""
    plans = [make_plan(paper, "paper") for paper in load_papers(ids=given.papers)]
    print(importlib.import_module("fedrepro.reports.baselines").render(plans), end="")
    return 0
