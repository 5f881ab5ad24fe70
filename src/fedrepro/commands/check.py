"""Check specs, and list names that no method implements yet."""

import argparse
from collections import Counter

from fedrepro.benchmark.judging.published_value import narrow_margins
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded, print_json

EXAMPLE = "fedrepro check cpcfl"
ARGUMENTS = (*options.PAPERS, options.flag("--json", "problems and names as JSON"))


def execute(given: argparse.Namespace) -> int:
    """2 if there are problems, else 1 if a name is not implemented."""
    try:
        papers = options.papers(given)
        problems, unimplemented = check(papers)
    except InvalidSpecError as found:
        if not given.json:
            raise
        papers, problems, unimplemented = (), found.problems, ()
    counts = {
        paper.id: {
            "tables": len(paper.printed),
            "cells": sum(len(table.cells) for table in paper.printed),
            "claims": sum(len(table.claims) for table in paper.printed),
        }
        for paper in papers
    }
    code = 2 if problems else 1 if unimplemented else 0
    if given.json:
        plain = {"papers": counts, "problems": [one.as_plain() for one in problems]}
        warnings = [one.as_plain() for one in narrow_margins(papers)]
        print_json({**plain, "unimplemented": unimplemented, "warnings": warnings})
        return code
    for problem in problems:
        print(problem)
    for missing in unimplemented:
        print(folded(f"NOT IMPLEMENTED: {missing}; its cells cannot run"))
    for warning in narrow_margins(papers):
        print(folded(f"warning: {warning}"))
    totals = sum(map(Counter, counts.values()), Counter[str]())
    told = ", ".join(f"{totals[what]} {what}" for what in ("tables", "cells", "claims"))
    print(f"{', '.join(counts)}: {told}, {len(problems)} problems")
    return code
