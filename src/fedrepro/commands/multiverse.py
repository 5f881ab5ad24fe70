"""`fedrepro multiverse`: the claims of a paper under every reading of what it leaves open."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from time import perf_counter

from fedrepro.benchmark.errors import FedreproError, SpecError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.benchmark.spec.readings import free_readings, readings_of
from fedrepro.benchmark.store.files import path_segment
from fedrepro.commands._judged import (
    command_line,
    default_folder,
    show,
    store_at,
    trained,
)
from fedrepro.commands._options import (
    add_cells,
    add_execution,
    add_paper,
    add_places,
    chosen_plan,
    comma_separated,
    estimator_for,
    specs,
)
from fedrepro.commands._terminal import complain

HELP = "run claims under every reading of what the paper leaves open"
EXAMPLE = "fedrepro multiverse fedrlc --tables 2 --dry-run"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which claims and readings, and the options of `run`."""
    add_paper(parser)
    parser.add_argument(
        "--claims",
        type=comma_separated,
        metavar="LIST",
        help="ids of claims, comma-separated, * for any letters (default: all of --tables)",
    )
    parser.add_argument(
        "--readings",
        dest="chosen",
        type=comma_separated,
        metavar="LIST",
        help="readings, comma-separated (default: all that change something)",
    )
    parser.add_argument(
        "--combinations",
        action="store_true",
        help="all combinations of the readings, not one at a time",
    )
    add_cells(parser)
    add_places(parser, "default: results/reports/PAPER-PROFILE-multiverse-...")
    add_execution(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="say how many trials and how long; train nothing"
    )


def execute(given: argparse.Namespace) -> int:
    """Runs the claims in every universe, and reports on the readings that are taken."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.other_readings import cells_of_claims, universes
    from fedrepro.benchmark.judging.trials import load_trials

    clock = perf_counter()
    if given.rows:
        raise FedreproError("--rows: a multiverse chooses cells by their claims (--claims)")
    paper = load_paper(given.paper, specs(given))
    folder = given.out or _folder(chosen_plan(given, paper), given)
    claims = _claims(paper, given)
    if not claims:
        print("these tables make no claim")
        return 3
    cells = cells_of_claims(paper, claims)
    given.tables = None  # claims may compare with cells of other tables
    taken = chosen_plan(given, paper).only(cells, frozenset(table for table, _ in claims))
    plans = _plans(taken, _readings(paper, given, taken), given.combinations)
    store = store_at(given.store)
    missing = dict.fromkeys(
        trial for plan in plans for trial in plan.trials_to_run() if store.find(*trial) is None
    )
    left = estimator_for(given, store).of(missing) if missing else None
    print(
        f"{len(claims)} claims under {len(plans)} sets of readings; "
        + ("no trial is missing" if left is None else "; ".join(left.lines())),
        flush=True,
    )
    if given.dry_run:
        return 0
    reports: dict[tuple[str, ...], Report] = {}
    for plan in plans:
        print(f"readings: {', '.join(plan.paper.readings) or 'as taken'}", flush=True)
        trials = load_trials(plan, store, trained(plan, store, given))
        report = judge(plan, trials, command=command_line(), audit=False)
        reports[plan.paper.readings] = _with_claims(report, claims)
    first = reports[taken.paper.readings]
    found = universes({key: one.tables for key, one in reports.items()})
    provenance = dataclasses.replace(first.provenance, wall_s=perf_counter() - clock)
    return show([dataclasses.replace(first, universes=found, provenance=provenance)], folder)


def _with_claims(report: Report, claims: frozenset[tuple[str, str]]) -> Report:
    """The report with some of its claims alone, named by table and id."""
    tables = (
        dataclasses.replace(
            table, claims=tuple(one for one in table.claims if (table.id, one.id) in claims)
        )
        for table in report.tables
    )
    return dataclasses.replace(report, tables=tuple(tables))


def _folder(plan: Plan, given: argparse.Namespace) -> Path:
    """A folder of its own for each choice of tables, claims and readings."""
    usual = default_folder(plan, given)
    parts = [usual.name, "multiverse", *(given.claims or ()), *(given.chosen or ())]
    parts += ["combinations"] if given.combinations else []
    return usual.with_name(path_segment("-".join(parts).replace("*", "all")))


def _claims(paper: Paper, given: argparse.Namespace) -> frozenset[tuple[str, str]]:
    """The claims that are asked for, by table and id."""
    tables = [one for one in paper.tables if given.tables is None or one.id in given.tables]
    known = [(table.id, claim.id) for table in tables for claim in table.claims]
    patterns = given.claims or ["*"]
    for pattern in given.claims or ():
        if not any(fnmatchcase(id, pattern) for _, id in known):
            hint = suggestion(pattern, [id for _, id in known])
            raise SpecError(f"--claims: no claim '{pattern}'{hint}")
    return frozenset(
        (table, id) for table, id in known if any(fnmatchcase(id, one) for one in patterns)
    )


def _readings(paper: Paper, given: argparse.Namespace, taken: Plan) -> list[str]:
    """The readings that are asked for; of all of them those that change these claims.

    Raises `SpecError` where none is left to compare with.
    """
    base = taken.paper.readings
    free = [one.name for one in free_readings(taken.paper)]
    if given.chosen is not None:
        names = [name for name in dict.fromkeys(given.chosen) if name not in base]
        for name in names:
            if name in free and taken.reads_as(taken.under((*base, name))):
                complain(f"reading {name} changes nothing here")
    else:
        names = [name for name in free if not taken.reads_as(taken.under((*base, name)))]
    if not names:
        raise SpecError(f"paper {paper.id}: no other reading changes these claims")
    return names


def _plans(taken: Plan, readings: Sequence[str], combined: bool) -> list[Plan]:
    """As taken, then under each reading, or under each combination of them."""
    base = taken.paper.readings
    return [
        taken,
        *(taken.under((*base, *names)) for names in _names(taken, readings, combined)),
    ]


def _names(taken: Plan, readings: Sequence[str], combined: bool) -> Iterator[tuple[str, ...]]:
    if not combined:
        yield from ((name,) for name in readings)
        return
    choice = {one.name: one.choice.name for one in readings_of(taken.paper)}
    groups: dict[str | None, list[str]] = {}
    for name in readings:
        groups.setdefault(choice.get(name, name), []).append(name)
    for picked in itertools.product(*([None, *group] for group in groups.values())):
        names = tuple(name for name in picked if name is not None)
        if names:
            yield names
