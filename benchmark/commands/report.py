"""`fedrepro report`: judges and renders what is stored; trains nothing."""

from __future__ import annotations

import argparse
from time import perf_counter

from fedrepro.benchmark.commands._options import add_cells, add_papers, add_places

HELP = "judge and render what is stored, without training; several papers make one report"
EXAMPLE = "fedrepro report cpcfl mfcl --out results/reports/two-papers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Papers, and the same selection as `run`."""
    add_papers(parser)
    add_cells(parser)
    add_places(parser)
    parser.add_argument(
        "--anew",
        action="store_true",
        help="judge every paper, also those of many whose parts of the last report still stand",
    )


def execute(given: argparse.Namespace) -> int:
    """Judges and reports."""
    from fedrepro.benchmark.commands._judged import (
        TOGETHER,
        command_line,
        finish,
        folder_of_all,
        show,
        store_at,
        tell,
    )
    from fedrepro.benchmark.commands._many import report_on
    from fedrepro.benchmark.commands._options import (
        chosen_papers,
        chosen_plan,
        print_skipped,
        refuse_selection,
    )
    from fedrepro.benchmark.errors import FedreproError
    from fedrepro.benchmark.spec.load import paper_ids

    clock = perf_counter()
    if len(given.papers) == 1:
        (paper,) = chosen_papers(given.papers)
        plan, store = chosen_plan(given, paper), store_at(given.store)
        return finish(plan, store, given, perf_counter() - clock, {})
    refuse_selection(given)
    ids = tuple(dict.fromkeys(given.papers)) or paper_ids()
    if len(ids) > TOGETHER:
        folder = given.out or folder_of_all(given.profile)
        return tell(report_on(ids, given, folder, command=command_line()), folder)
    from fedrepro.benchmark.judging.judge import judge

    store = store_at(given.store)
    reports = []
    for paper in chosen_papers(ids):
        if not given.papers and given.profile not in paper.profiles:
            print_skipped(paper.id, given.profile)
            continue
        plan = chosen_plan(given, paper)
        seconds = perf_counter() - clock
        reports.append(judge(plan, store, command=command_line(), wall_s=seconds))
    if not reports:
        raise FedreproError(f"no paper has a profile '{given.profile}'")
    return show(reports, given.out or folder_of_all(given.profile))
