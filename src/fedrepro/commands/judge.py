"""`fedrepro judge`: verdicts, claims and the whole report on results that were made elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path

from fedrepro.benchmark.external.mapping import read_files
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.files import path_segment
from fedrepro.commands._judged import command_line, show
from fedrepro.commands._options import add_paper, add_tables, folder, specs

HELP = "judge results of your own against a paper, and write the report; trains nothing"
EXAMPLE = "fedrepro judge cpcfl --results mine.csv --protocol full --note 'three seeds, as printed'"
_ROOT = Path("results/reports")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The results, what they are declared to be, and where the report goes."""
    add_paper(parser)
    parser.add_argument(
        "--results",
        action="append",
        required=True,
        type=Path,
        metavar="FILE",
        help="CSV or JSON lines (fedrepro template prints one), or a TOML map of exports of "
        "Flower, W&B or MLflow; may be given more than once (docs/your-results.md)",
    )
    add_tables(parser, default="those that have results")
    parser.add_argument(
        "--protocol",
        choices=("scaled", "full"),
        default="scaled",
        help="what you declare: full, the published protocol, whose numbers are judged; or scaled "
        "(default), of which only comparisons are",
    )
    parser.add_argument(
        "--note", default="", metavar="TEXT", help="how the numbers were made, in your words"
    )
    parser.add_argument(
        "--out",
        type=folder,
        metavar="DIR",
        help="where the report goes (default: results/reports/PAPER-external)",
    )


def execute(given: argparse.Namespace) -> int:
    """Reads, judges and reports."""
    paper = load_paper(given.paper, specs(given))
    parts = [paper.id, "external", *(["tables", *given.tables] if given.tables else [])]
    place = given.out or _ROOT / path_segment("-".join(parts))
    rows = read_files(given.results, paper)
    from fedrepro.benchmark.judging.external import judge_external

    report = judge_external(
        paper,
        rows,
        command=command_line(),
        tables=given.tables,
        protocol=given.protocol,
        note=given.note,
        files=[file.name for file in given.results],
    )
    return show([report], place)
