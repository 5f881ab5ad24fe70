"""`fedrepro diff`: what changed between two reports, or two stores."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedrepro.benchmark.judging.report_diff import Change, ReportRead

HELP = "compare two reports (report.json or its folder) or two stores"
EXAMPLE = "fedrepro diff results/reports/cpcfl-reduced old/cpcfl-reduced"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two sides, and how a store is read."""
    for name in ("before", "after"):
        parser.add_argument(
            name, type=Path, metavar=name.upper(), help="a report.json, its folder, or a store"
        )
    parser.add_argument("--profile", default="reduced", help="under which stores are judged")
    parser.add_argument(
        "--papers", metavar="LIST", help="papers judged in stores, comma-separated (default: all)"
    )
    parser.add_argument("--json", action="store_true", help="the differences as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints the differences; 1 if there are any, else 0."""
    from fedrepro.benchmark.commands._terminal import paint
    from fedrepro.benchmark.judging.report_diff import differences

    found = differences(_read(given.before, given), _read(given.after, given))
    if given.json:
        print(json.dumps([asdict(one) for one in found], indent=1, ensure_ascii=False))
        return 1 if found else 0
    for one in found:
        before, after = paint(one.before), paint(one.after)
        print(f"{one.what:<8} {one.where}: {before} -> {after}{_size(one)}")
    print(f"{len(found)} difference{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


def _size(one: Change) -> str:
    """How far a value moved, in words; empty for words."""
    if one.difference is None:
        return ""
    return f" ({one.difference:+.3g}, beyond both 95 % intervals)"


def _read(place: Path, given: argparse.Namespace) -> list[ReportRead]:
    from fedrepro.benchmark.judging.report_diff import read_reports

    if (place / "store.json").is_file():
        return _judged(place, given)
    return read_reports(place / "report.json" if place.is_dir() else place)


def _judged(store: Path, given: argparse.Namespace) -> list[ReportRead]:
    from fedrepro.benchmark.commands._judged import store_at
    from fedrepro.benchmark.commands._options import chosen_papers, comma_separated
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.report_diff import as_read
    from fedrepro.benchmark.planning.plan import make_plan

    named = comma_separated(given.papers) if given.papers else []
    return [
        as_read(judge(make_plan(paper, given.profile), store_at(store), command="", audit=False))
        for paper in chosen_papers(named)
        if named or given.profile in paper.profiles
    ]
