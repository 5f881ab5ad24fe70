"""`fedrepro published`: what can be judged here at full protocol, kept as records to commit.

Without a budget it trains nothing: the report is made from the committed records alone.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.benchmark.store.published import FOLDER, PublishedTrials
from fedrepro.commands._judged import command_line, show, store_at
from fedrepro.commands._options import (
    add_execution,
    add_papers,
    add_places,
    add_precision,
    add_series,
    add_tables,
    folder,
    papers_with_profile,
    specs,
)
from fedrepro.commands._published import add_budget, trained_within
from fedrepro.commands._terminal import complain

if TYPE_CHECKING:
    from fedrepro.benchmark.judging.committed import RunCell

HELP = "run what can be judged here at full protocol within a budget, and report what was"
EXAMPLE = "fedrepro published cpcfl --tables 5 --budget 3h --data-dir data"
_PROFILE = "paper"
_OUT = Path("results/reports/published")
Kind = tuple[int | None, str | None]
"""Series and precision; None: the profile's."""
_OWN: Kind = (None, None)
_GRAVEST = (2, 1, 0, 3)
"""Exit codes of several reports; the first of these is that of all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cells, for how long, and where records and texts lie."""
    add_papers(parser)
    add_tables(parser)
    parser.add_argument("--rows", metavar="PATTERN", help="only rows such as 'CP-CFL|*'")
    add_series(parser)
    add_precision(parser)
    parser.set_defaults(profile=_PROFILE)
    add_budget(parser)
    parser.add_argument(
        "--from",
        dest="stores",
        action="append",
        default=[],
        type=folder,
        metavar="STORE",
        help="take the finished trials of this store; may be given again",
    )
    parser.add_argument(
        "--records",
        type=folder,
        default=FOLDER,
        metavar="DIR",
        help=f"the committed records (default: {FOLDER})",
    )
    parser.add_argument(
        "--docs",
        type=folder,
        metavar="DIR",
        help="write docs/published.md and the README's sentence in the checkout DIR",
    )
    add_places(parser, f"default: {_OUT}")
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """Trains within the budget, takes what is finished, and reports on what is committed."""
    from fedrepro.benchmark.judging.committed import unknown

    if len(given.papers) != 1 and (given.tables or given.rows):
        raise FedreproError("--tables and --rows need one paper: name it")
    papers = list(papers_with_profile(given, specs(given)))
    asked: Kind = given.series, given.precision
    plans = _plans(papers, asked, given.tables, given.rows)
    published = PublishedTrials(given.records)
    if given.dry_run:
        print("\n".join(trained_within(given, plans, store_at(given.store), published)))
        return 0
    stores = [*given.stores, *([] if given.budget is None else [given.store])]
    _take(plans, stores, published)
    if given.budget is not None:
        for line in trained_within(given, plans, store_at(given.store), published):
            print(line, file=sys.stderr)
        _take(plans, [given.store], published)
    found = list(_judged(papers, [asked] if any(map(_is_given, asked)) else None, published, given))
    from fedrepro.reports import published as told

    if not published.trials:
        complain(f"no record in {given.records}: fedrepro's own lie in its repository alone")
    print(told.sentence([cell for one in found for cell in one.cells]))
    for name in unknown(plans, published) if _whole(given) else ():
        complain(f"{given.records / name} is of no run that is planned today: its cell has none")
    if given.docs is not None:
        for page in told.write(given.docs, _all_cells(given, published)):
            print(f"written: {page}")
    codes = [show(one.reports, _folder(given, one.kind)) for one in found]
    return min(codes, key=_GRAVEST.index, default=3)


@dataclass(frozen=True)
class _Judged:
    """Reports on the committed trials of one kind, and the cells that have any."""

    kind: Kind
    reports: list[Report]
    cells: list[RunCell]


def _judged(
    papers: Sequence[Paper],
    kinds: Sequence[Kind] | None,
    published: PublishedTrials,
    given: argparse.Namespace,
) -> Iterator[_Judged]:
    """By kind what is committed; kinds: None for the profile's own and all that are committed."""
    from fedrepro.benchmark.judging.committed import judge_committed, run_cells
    from fedrepro.benchmark.judging.committed import kinds as committed

    seen: set[str] = set()
    for kind in [_OWN, *committed(published)] if kinds is None else kinds:
        plans = _plans(papers, kind, given.tables, given.rows)
        ran = [plan for plan in plans if _keys(plan) & _runs(published) - seen]
        seen |= {key for plan in plans for key in _keys(plan)}
        reports = [judge_committed(plan, published, command=command_line()) for plan in ran]
        cells = [
            cell
            for plan, report in zip(ran, reports, strict=True)
            for cell in run_cells(plan, report, published)
        ]
        if ran:
            yield _Judged(kind, reports, cells)


def _all_cells(given: argparse.Namespace, published: PublishedTrials) -> list[RunCell]:
    """The cells that have committed trials, whatever was asked for."""
    everything = argparse.Namespace(**{**vars(given), "papers": [], "tables": None, "rows": None})
    papers = list(papers_with_profile(everything, specs(given)))
    return [cell for one in _judged(papers, None, published, everything) for cell in one.cells]


def _plans(
    papers: Sequence[Paper], kind: Kind, tables: Sequence[str] | None, rows: str | None
) -> list[Plan]:
    series, precision = kind
    sets = [] if precision is None else [(PRECISION, precision)]
    return [
        make_plan(paper, _PROFILE, tables=tables, rows=rows, series=series, sets=sets)
        for paper in papers
    ]


def _folder(given: argparse.Namespace, kind: Kind) -> Path:
    """Another one for each precision and series: none replaces the report of the others."""
    asked: Kind = given.series, given.precision
    if given.out is not None and kind == asked:
        return Path(given.out)
    series, precision = kind
    parts = (precision, None if not series else f"series-{series}")
    out = Path(given.out or _OUT)
    own = "-".join(filter(None, parts))
    if out.name in ("", ".."):  # no name that another could stand beside
        return out / own
    return out.with_name("-".join(filter(None, (out.name, own))))


def _is_given(option: object) -> bool:
    return option is not None


def _whole(given: argparse.Namespace) -> bool:
    """Whether nothing was left out."""
    return not (given.papers or given.tables or given.rows)


def _keys(plan: Plan) -> set[str]:
    return {run.key for run in plan.runs}


def _runs(published: PublishedTrials) -> set[str]:
    return {run for run, _ in published.trials}


def _take(plans: Sequence[Plan], stores: Sequence[Path], published: PublishedTrials) -> None:
    from fedrepro.benchmark.execution.take import take

    for store in stores:
        print(take(plans, store_at(store), published).line(store), file=sys.stderr)
