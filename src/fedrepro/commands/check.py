"""Check specs, and list names that no method implements yet."""

import argparse

from fedrepro.benchmark.judging.published_value import narrow_margins
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec.folders import HERE, PAPER_FILE, searched, tables_root
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain, folded

EXAMPLE = "fedrepro check cpcfl"
_WARN = options.option("-v", "--verbose", action="store_true", help="show each warning of margins")
ARGUMENTS = (*options.PAPERS, _WARN)


def execute(args: argparse.Namespace) -> int:
    """2 if there are problems, else 1 if a name is not implemented."""
    papers = options.papers(args)
    problems, unimplemented, cautions = check(papers)
    if not args.papers and all(paper.file.parents[1] == tables_root() for paper in papers):
        complain(f"./{HERE} holds no paper of yours: fedrepro's own are checked; give --specs")
    folders = {file.parent for root in searched(args.specs) for file in root.glob("*/*.toml")}
    for folder in sorted(one for one in folders if not (one / PAPER_FILE).is_file()):
        complain(f"{folder} holds no {PAPER_FILE}, spelt like that: its TOML files are not checked")
    for problem in problems:
        print(problem)
    for missing in unimplemented:
        print(folded(f"NOT IMPLEMENTED: {missing}; its cells cannot run"))
    narrow: list[object] = [*narrow_margins(papers)]
    if len(narrow) > 1 and not args.verbose:
        said = "margins are too narrow for REPRODUCED in some cells of"
        narrow = [f"{said} {len(narrow)} tables; -v names them and says why"]
    for warning in (*narrow, *cautions):
        print(folded(f"warning: {warning}"))
    tables = [table for paper in papers for table in paper.printed]
    cells, claims = (sum(len(getattr(one, name)) for one in tables) for name in ("cells", "claims"))
    ids = ", ".join(paper.id for paper in papers)
    found = f"{len(tables)} tables, {cells} cells, {claims} claims, {len(problems)} problems"
    print(f"{ids}: {found}")
    return 2 if problems else 1 if unimplemented else 0
