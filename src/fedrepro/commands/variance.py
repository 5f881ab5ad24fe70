"""`fedrepro variance`: what each source of randomness contributes to a cell's spread."""

from __future__ import annotations

import argparse

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.plain import as_plain
from fedrepro.benchmark.planning.plan import Plan, PlannedCell, make_plan
from fedrepro.benchmark.spec import limits
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Label
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.benchmark.spec.readings import under
from fedrepro.commands._judged import publishing, store_at, trained
from fedrepro.commands._options import (
    add_data,
    add_execution,
    add_paper,
    add_profile,
    add_store,
    changed_settings,
    folder,
    specs,
    whole_number,
)
from fedrepro.commands._terminal import complain, print_json

HELP = "say what pre-training, partition, weights and batches contribute to a cell's spread"
EXAMPLE = "fedrepro variance cpcfl --cell 3 'CP-CFL|SimCLR' 'T = 100' --draws 10"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which cell, how many draws, and the options of `run`."""
    add_paper(parser)
    parser.add_argument(
        "--cell",
        nargs=3,
        required=True,
        metavar=("TABLE", "ROW", "COLUMN"),
        help="the cell: a table and labels, their parts joined by |",
    )
    parser.add_argument(
        "--draws",
        type=whole_number(2, limits.TRIALS),
        default=10,
        metavar="N",
        help="trials for each source, and with everything drawn anew (default: 10)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--out",
        type=folder,
        metavar="DIR",
        help="write variance.md, variance.csv and variance.json to this folder",
    )
    add_profile(parser)
    add_data(parser)
    add_store(parser)
    add_execution(parser)


def execute(given: argparse.Namespace) -> int:
    """Trains what is missing, and prints the spread by source."""
    from fedrepro.benchmark.judging.variance_by_source import (
        joined,
        sources_of,
        variance_by_source,
        varied,
    )

    plan, planned = _cell(given)
    if planned.config is None or planned.config.stage == "costs":
        print(f"NOT RUN: {planned.reason or 'costs are counted once and drawn from nothing'}")
        return 3
    store = store_at(given.store)
    not_run = trained(plan, store, given)
    if not_run:
        print(f"NOT RUN: {next(iter(not_run.values()))}")
        return 3
    sources = sources_of(plan, planned, store)
    plans = {source: varied(plan, planned, source) for source in sources}
    if plans:
        trained(joined(plans, plan), store, given)
    found = variance_by_source(plan, planned, plans, store)
    from fedrepro.reports import variance as written

    if given.json:
        print_json(as_plain(found))
    else:
        print(written.markdown(found), end="")
    if given.out is not None:
        with publishing().replacing(given.out, written.FILES) as aside:
            for name, render in written.FILES.items():
                (aside / name).write_text(render(found), encoding="utf-8", errors="replace")
    if found.failed:
        complain("some trials failed; the spreads are of the others")
    return int(found.failed)


def _cell(given: argparse.Namespace) -> tuple[Plan, PlannedCell]:
    """The plan of the cell that is asked for, a trial a draw.

    Raises `SpecError` for a table, a row or a column that does not exist.
    """
    table, row, column = given.cell
    paper = under(load_paper(given.paper, specs(given)), given.readings)
    plan = make_plan(
        paper,
        given.profile,
        tables=[table],
        on=given.on,
        trials=given.draws,
        sets=changed_settings(given),
    )
    known = paper.table(table)
    place = (_label("row", row, known.rows), _label("column", column, known.columns))
    planned = next((one for one in plan.cells if (one.cell.row, one.cell.column) == place), None)
    if planned is None:
        raise SpecError(f"--cell: table {table} has no value at '{row}' and '{column}'")
    return plan.only({(table, *place)}), planned


def _label(what: str, text: str, known: tuple[Label, ...]) -> Label:
    label = tuple(part.strip() for part in text.split("|"))
    if label not in known:
        names = ["|".join(one) for one in known]
        hint = suggestion(text, names) or f"; known: {', '.join(names)}"
        raise SpecError(f"--cell: no {what} '{text}'{hint}")
    return label
