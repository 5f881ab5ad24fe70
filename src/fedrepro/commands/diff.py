"""Compare two reports."""

import argparse
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.baseline import Recorded, read_reports
from fedrepro.benchmark.judging.comparison import NOTHING_SHARED, compare
from fedrepro.benchmark.printable import plural
from fedrepro.benchmark.store.files import write_whole
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain, paint, print_json

EXAMPLE = "fedrepro diff results/reports/cpcfl-reduced old/cpcfl-reduced"
_SIDE = "a report.json, or its folder"
ARGUMENTS = (
    options.option("before", type=Path, metavar="BEFORE", help=_SIDE),
    options.option("after", type=Path, metavar="AFTER", help=_SIDE),
    options.file("--html", "also write both sides as one page, side by side"),
    options.flag("--json", "the differences as JSON"),
)


def execute(args: argparse.Namespace) -> int:
    """Prints the differences; 1 if there are any, 3 if neither side has a trial, else 0."""
    before, after = _read(args.before), _read(args.after)
    pairs = {name: (before[name], after[name]) for name in before if name in after}
    if not pairs:
        raise FedreproError(NOTHING_SHARED)
    for name in sorted(before.keys() ^ after.keys()):
        complain(f"only one side has {name}: left out")
    moved = {name: compare(*sides) for name, sides in pairs.items()}
    found = [replace(one, where=f"{name} {one.where}") for name in moved for one in moved[name]]
    if args.html is not None:
        from fedrepro.reports.pages import side_by_side

        write_whole(args.html, side_by_side(pairs, moved).encode("utf-8", "replace"))
    trained = sum(len(a.trained.keys() & b.trained.keys()) for a, b in pairs.values())
    if args.json:
        print_json([asdict(one) for one in found])
    else:
        for one in found:
            print(f"{one.what:<8} {one.where}: {paint(one.before)} -> {paint(one.after)}{one.size}")
        print(f"{plural(len(found), 'difference')}; {plural(trained, 'cell')} with trials compared")
    if found or trained:
        return 1 if found else 0
    complain("nothing was compared: no cell has trials on both sides")
    return 3


def _read(place: Path) -> Mapping[str, Recorded]:
    """The reports at a place by paper, profile and data set."""
    found: dict[str, Recorded] = {}
    for one in read_reports(place / "report.json" if place.is_dir() else place):
        name = " ".join(filter(None, (one.paper, one.profile, one.on)))
        if (other := found.setdefault(name, one)) is not one:
            both = f"made {other.created} and {one.created}"
            raise FedreproError(f"{place} has two reports of {name}, {both}: leave one of them out")
    return found
