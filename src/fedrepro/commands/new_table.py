"""Draft a table's spec from LaTeX, Markdown, HTML or CSV."""

import argparse
import sys
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec import limits
from fedrepro.benchmark.spec.folders import PAPER_FILE, first_own_folder, paper_folders
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import read_text
from fedrepro.benchmark.spec.table_import import draft, parse
from fedrepro.commands import _options as options
from fedrepro.commands.new_project import template, write_new

EXAMPLE = "fedrepro new-table table7.csv --paper mypaper --table 7 --title 'Accuracy by depth'"
ARGUMENTS = (
    options.option("source", type=Path, metavar="FILE", help="the table; - reads a pipe"),
    options.option("--paper", required=True, metavar="ID", help="paper id; made if it is new"),
    options.option("--table", required=True, metavar="N", help="7, B.14 or figure-4"),
    options.option("--title", default="draft: title", help="in your own words"),
    options.option("--metric", default="accuracy", help="what the cells show"),
    options.folder("--specs", "folder of papers of your own, made if it is new (default: "
        "$FEDREPRO_TABLES, else ./tables)"),
)  # fmt: skip

_PUBLISHED = """\
# The profile that compares numbers with the published ones. Give it once data and protocol above
# are the paper's own, not those of this draft.
# [profiles.paper]
# trials = 5"""


def execute(args: argparse.Namespace) -> int:
    """Writes the draft and checks the paper; 2 for problems, 1 if a cell was not understood."""
    for option, name in (("--paper", args.paper), ("--table", args.table)):
        if (refused := limits.name_problem(name)) is not None:
            raise FedreproError(f"{option}: {refused}")
    for option, text in (("--title", args.title), ("--metric", args.metric)):
        if text.encode("utf-8", "ignore").decode() != text:
            raise FedreproError(f"{option}: {text!r} is not UTF-8 text")
    root = args.specs or first_own_folder()
    folder = root / args.paper
    comes_along = paper_folders().get(args.paper)
    if comes_along is not None and not folder.exists():
        raise FedreproError(
            f"--paper: '{args.paper}' is bundled with fedrepro, and a paper of your own would "
            f"hide all its tables: choose another id, or copy {comes_along} to {folder} first"
        )
    parsed = parse(_read(args.source))
    text = draft(parsed, table=args.table, title=args.title, metric=args.metric)
    paper = template("paper.toml", id=args.paper, published=_PUBLISHED)
    new = {} if (folder / PAPER_FILE).exists() else {folder / PAPER_FILE: paper}
    write_new({**new, folder / f"{args.table}.toml": text})
    problems, *_ = check([load_paper(args.paper, root)])
    print(*problems, *parsed.report(), sep="\n")
    if parsed.count("odd"):
        print("the draft holds these cells as words, each with a ?: write all as it is printed")
        print('and what stands behind kind = "descriptive" in its place, or nothing is judged')
    elif not problems:
        print(f"it passes `fedrepro check {args.paper}`; now fill in paper.toml, and here section,")
        print("margin, methods and claims")
    print(*parsed.lacks(args.metric), sep="\n")
    return 2 if problems else 1 if parsed.count("odd") else 0


def _read(source: Path) -> str:
    if str(source) != "-":
        return read_text(source, limits.FILE_BYTES)
    try:
        return sys.stdin.read(limits.FILE_BYTES + 1)
    except UnicodeDecodeError:
        raise FedreproError("what the pipe gives is not UTF-8 text") from None
