"""List papers and their tables."""

import argparse

from fedrepro.benchmark.spec.load import load_papers, outline
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded

EXAMPLE = "fedrepro list cpcfl"
ARGUMENTS = options.PAPERS


def execute(args: argparse.Namespace) -> None:
    """Prints one line a table, as it is written."""
    for paper in load_papers(options.specs(args), ids=args.papers, read=outline):
        print(folded(f"{paper.id}: {paper.title}"))
        print(f"  profiles: {', '.join(paper.profiles)}")
        width = max((len(table.id) for table in paper.tables), default=0)
        for table in paper.tables:
            cells = sum(len(row.published or ()) for row in table.row_entries)
            claims = "controls" if table.is_control else "claims"
            counts = f"{cells:>4} cells {len(table.claims):>3} {claims}"
            place = f"  {table.id:<{width}}  {table.kind:<11}  {counts}  "
            print(folded(f"{place}{table.title}", min(len(place), 20)))
