"""`fedrepro claims`: which claims of the text do the printed numbers themselves support?"""

from __future__ import annotations

import argparse
from collections import Counter

from benchmark.commands._options import add_papers

HELP = "check the text's claims on the printed numbers"
EXAMPLE = "fedrepro claims cpcfl --contradicted"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers."""
    add_papers(parser)
    parser.add_argument(
        "--contradicted", action="store_true", help="only claims that the table contradicts"
    )


def execute(given: argparse.Namespace) -> int:
    """Prints every claim with what the printed numbers say of it."""
    from benchmark.claims.printed import support
    from benchmark.claims.resolve import resolve
    from benchmark.commands._options import chosen_papers

    for paper in chosen_papers(given.papers):
        counts: Counter[str] = Counter()
        for table in paper.tables:
            for claim in table.claims:
                word, reason = support(resolve(claim, table, paper))
                counts[word] += 1
                if word == "contradicted" or not given.contradicted:
                    print(f"{word:<13} {paper.id} {table.id}: {claim.says}")
                    print(f"{'':<13} {claim.holds}: {reason}")
        summary = ", ".join(f"{n} {word}" for word, n in counts.most_common())
        print(f"{paper.id}: {summary or 'no claims'}")
    return 0
