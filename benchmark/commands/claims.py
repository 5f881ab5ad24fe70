"""`fedrepro claims`: which claims of the text do the printed numbers themselves support?"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from typing import TYPE_CHECKING

from fedrepro.benchmark.commands._options import add_papers

if TYPE_CHECKING:
    from fedrepro.benchmark.spec.model import Paper

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
    from fedrepro.benchmark.commands._options import chosen_papers
    from fedrepro.benchmark.commands._terminal import paint

    papers = chosen_papers(given.papers)
    found = [_told(paper) for paper in papers]
    if given.json:
        every = [one for told in found for one in told]
        shown = [one for one in every if not given.contradicted or _contradicted(one)]
        print(json.dumps(shown, indent=1, ensure_ascii=False))
        return 0
    for told in found:
        for one in told:
            if _contradicted(one) or not given.contradicted:
                word = paint(f"{one['support']:<13}", one["support"])
                print(f"{word} {one['paper']} {one['table']}: {one['says']}")
                print(f"{'':<13} {one['holds']}: {one['reason']}")
    for paper, told in zip(papers, found, strict=True):
        counts = Counter(one["support"] for one in told)
        summary = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        print(f"{paper.id}: {summary or 'no claims'}")
    return 0


def _told(paper: Paper) -> list[dict[str, str]]:
    """The claims of a paper, each with what the printed numbers say of it."""
    from fedrepro.benchmark.claims.bind_cells import bind
    from fedrepro.benchmark.claims.printed import support

    told = []
    for table in paper.tables:
        for claim in table.claims:
            word, reason = support(bind(claim, table, paper))
            facts = {"id": claim.id, "says": claim.says, "holds": claim.holds}
            told.append(
                {"paper": paper.id, "table": table.id, **facts, "support": word, "reason": reason}
            )
    return told


def _contradicted(one: dict[str, str]) -> bool:
    return one["support"] == "contradicted"
