"""`fedrepro claims`: which claims of the text do the printed numbers themselves support?"""

from __future__ import annotations

import argparse
from collections import Counter

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.printed import support
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.commands._options import add_papers, specs
from fedrepro.commands._terminal import folded, paint, print_json

HELP = "check the text's claims on the printed numbers"
EXAMPLE = "fedrepro claims cpcfl --contradicted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers."""
    add_papers(parser)
    parser.add_argument(
        "--contradicted", action="store_true", help="only claims that the table contradicts"
    )
    parser.add_argument("--json", action="store_true", help="the claims as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints every claim with what the printed numbers say of it."""
    papers = load_papers(specs(given), ids=given.papers)
    found = [one for paper in papers for one in _claims(paper)]
    shown = [one for one in found if one["support"] == "contradicted" or not given.contradicted]
    if given.json:
        print_json(shown)
        return 0
    for one in shown:
        word = paint(f"{one['support']:<13}", one["support"])
        print(folded(f"{word} {one['paper']} {one['table']}: {one['says']}", 14))
        print(folded(f"{'':<13} {one['holds']}: {one['reason']}", 14))
    for paper in papers:
        counts = Counter(one["support"] for one in found if one["paper"] == paper.id)
        summary = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        print(f"{paper.id}: {summary or 'no claims'}")
    return 0


def _claims(paper: Paper) -> list[dict[str, str]]:
    """The claims of a paper, each with what the printed numbers say of it."""
    found = []
    for table in paper.tables:
        for claim in table.claims:
            word, reason = support(bind(claim, table, paper))
            facts = {"id": claim.id, "says": claim.says, "holds": claim.holds}
            found.append(
                {"paper": paper.id, "table": table.id, **facts, "support": word, "reason": reason}
            )
    return found
