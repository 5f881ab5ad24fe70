"""`fedrepro diff`: what changed between two reports, or two stores."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.baseline import Recorded, read_reports, recorded
from fedrepro.benchmark.judging.comparison import Movement, compare
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.commands import _options as options
from fedrepro.commands._judged import judged, store_at
from fedrepro.commands._terminal import paint, print_json

HELP = "compare two reports (report.json or its folder) or two stores"
EXAMPLE = "fedrepro diff results/reports/cpcfl-reduced old/cpcfl-reduced"
_Reports = Mapping[str, Recorded]


_SIDE = "a report.json, its folder, or a store"
ARGUMENTS = (
    options.SPECS,
    options.option("before", type=Path, metavar="BEFORE", help=_SIDE),
    options.option("after", type=Path, metavar="AFTER", help=_SIDE),
    options.option(
        "--profile", metavar="PROFILE", help="under which stores are judged (default: reduced)"
    ),
    options.option(
        "--papers",
        metavar="PAPERS",
        type=options.comma_separated,
        default=[],
        help="papers judged in stores, comma-separated (default: all)",
    ),
    options.flag("--json", "the differences as JSON"),
)


def execute(given: argparse.Namespace) -> int:
    """Prints the differences; 1 if there are any, else 0.

    Raises `FedreproError` for options of stores where no side is a store.
    """
    if (given.papers or given.profile) and not any(map(_is_store, (given.before, given.after))):
        raise FedreproError("--papers and --profile are for stores; neither side is one")
    given.profile = given.profile or "reduced"
    found = list(_differences(_read(given.before, given), _read(given.after, given)))
    if given.json:
        print_json([asdict(one) for one in found])
        return 1 if found else 0
    for one in found:
        size = ""
        if one.difference is not None:
            size = f" ({one.difference:+.3g}, beyond the tolerance of {one.tolerance:.3g})"
        print(f"{one.what:<8} {one.where}: {paint(one.before)} -> {paint(one.after)}{size}")
    print(f"{len(found)} difference{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


def _differences(before: _Reports, after: _Reports) -> Iterator[Movement]:
    """What moved in reports that both sides have; values only if they left their tolerance.

    Raises `FedreproError` if they have none: that would compare nothing.
    """
    shared = [name for name in before if name in after]
    if not shared:
        raise FedreproError("the two sides share no table of one paper and profile")
    for name in shared:
        for one in compare(before[name], after[name]):
            if one.what != "value" or one.regression:
                yield replace(one, where=f"{name} {one.where}")


def _read(place: Path, given: argparse.Namespace) -> _Reports:
    """The reports at a place by paper, profile and data set."""
    if _is_store(place):
        plans = [make_plan(one, given.profile) for one in options.papers_with_profile(given)]
        found = [recorded(judged(plan, store_at(place), audit=False)) for plan in plans]
    else:
        found = read_reports(place / "report.json" if place.is_dir() else place)
    return {" ".join(filter(None, (one.paper, one.profile, one.on))): one for one in found}


def _is_store(place: Path) -> bool:
    return (place / "store.json").is_file()
