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


def execute(given: argparse.Namespace) -> int:
    """Judges and reports."""
    from fedrepro.benchmark.commands._judged import (
        TOGETHER,
        command_line,
        default_folder,
        folder_of_all,
        print_result,
        show,
        store_at,
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
    alone = len(given.papers) == 1
    if not alone:
        refuse_selection(given)
    ids = tuple(dict.fromkeys(given.papers)) or paper_ids()
    if len(ids) > TOGETHER:
        folder = given.out or folder_of_all(given.profile)
        return print_result(*report_on(ids, given, folder, command=command_line()), folder)
    from fedrepro.benchmark.judging.judge import judge

    plans = []
    for paper in chosen_papers(ids):
        if given.papers or given.profile in paper.profiles:
            plans.append(chosen_plan(given, paper))
        else:
            print_skipped(paper.id, given.profile)
    if not plans:
        raise FedreproError(f"no paper has a profile '{given.profile}'")
    folder = given.out or (
        default_folder(plans[0], given) if alone else folder_of_all(given.profile)
    )
    store, command = store_at(given.store), command_line()
    reports = [judge(plan, store, command=command, wall_s=perf_counter() - clock) for plan in plans]
    return show(reports, folder)
