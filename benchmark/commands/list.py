"""`fedrepro list`: papers and their tables, or every printed value as typed data."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.commands._options import add_papers, specs
from fedrepro.benchmark.commands._terminal import folded, print_json
from fedrepro.benchmark.spec.export import export
from fedrepro.benchmark.spec.load import load_papers

HELP = "list papers and their tables, or export every printed value as JSON"
EXAMPLE = "fedrepro list cpcfl --json"
ALIASES = ("tables",)
"""The older name of this command."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, and the format."""
    add_papers(parser)
    parser.add_argument("--json", action="store_true", help="every cell, numbers as strings")


def execute(given: argparse.Namespace) -> int:
    """Prints one line a table, or the export."""
    papers = load_papers(specs(given), ids=given.papers)
    if given.json:
        print_json(export(papers))
        return 0
    for paper in papers:
        print(folded(f"{paper.id}: {paper.title}"))
        print(f"  profiles: {', '.join(paper.profiles)}")
        width = max(len(table.id) for table in paper.tables)
        for table in paper.tables:
            counts = f"{len(table.cells):>4} cells {len(table.claims):>3} claims"
            place = f"  {table.id:<{width}}  {table.kind:<11}  {counts}  "
            print(folded(f"{place}{table.title}", min(len(place), 20)))
    return 0
