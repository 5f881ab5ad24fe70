"""`fedrepro check`: are all specs well-formed, and which names does nothing implement yet?"""

from __future__ import annotations

import argparse

from benchmark.commands._options import add_papers

HELP = "validate the specs; list names that no method implements yet"
EXAMPLE = "fedrepro check cpcfl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers."""
    add_papers(parser)


def execute(given: argparse.Namespace) -> int:
    """Prints problems and names that wait for a method; 2 if there are problems."""
    from benchmark.commands._options import chosen_papers
    from benchmark.spec.check import check

    papers = chosen_papers(given.papers)
    problems, unimplemented = check(papers)
    for problem in problems:
        print(problem)
    for missing in unimplemented:
        print(f"not implemented yet: {missing}")
    cells = sum(len(table.cells) for paper in papers for table in paper.tables)
    claims = sum(len(table.claims) for paper in papers for table in paper.tables)
    tables = sum(len(paper.tables) for paper in papers)
    names = ", ".join(paper.id for paper in papers)
    print(f"{names}: {tables} tables, {cells} cells, {claims} claims, {len(problems)} problems")
    return 2 if problems else 0
