"""Check the text's claims on the published numbers."""

import argparse
from collections import Counter

from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.printed import support
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded, paint, print_json

EXAMPLE = "fedrepro claims cpcfl --contradicted"
ARGUMENTS = (
    *options.PAPERS,
    options.flag("--contradicted", "only claims that the table contradicts"),
    options.flag("--json", "the claims as JSON"),
)


def execute(given: argparse.Namespace) -> None:
    """Prints every claim with what the printed numbers say of it."""
    papers = options.papers(given)
    found = []
    for paper in papers:
        for table in paper.printed:
            for claim in table.claims:
                stands, reason = support(bind(claim, table, paper))
                place = {"paper": paper.id, "table": table.id, "id": claim.id}
                said = {"says": claim.says, "holds": claim.holds}
                found.append({**place, **said, "support": stands, "reason": reason})
    shown = [one for one in found if one["support"] == "contradicted" or not given.contradicted]
    if given.json:
        print_json(shown)
        return
    for one in shown:
        word = paint(f"{one['support']:<13}", one["support"])
        print(folded(f"{word} {one['paper']} {one['table']}: {one['says']}", 14))
        print(folded(f"{'':<13} {one['holds']}: {one['reason']}", 14))
    for paper in papers:
        counts = Counter(one["support"] for one in found if one["paper"] == paper.id)
        summary = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        print(f"{paper.id}: {summary or 'no claims'}")
