"""Train what is missing, judge every cell and write the report."""

import argparse
from collections.abc import Sequence
from time import perf_counter

from fedrepro.benchmark.config import Trial
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.commands import _options as options
from fedrepro.commands._judged import default_folder, judged, show, store_at, trained

EXAMPLE = "fedrepro run cpcfl --tables 3 --rows 'CP-CFL|*'"
ARGUMENTS = (
    *options.PAPER,
    options.option("others", nargs="*", help=argparse.SUPPRESS),
    *options.CELLS,
    *options.PLACES,
    options.out(),
    *options.EXECUTION,
    options.flag(
        "--until-decided",
        "train in steps to the profile's interim analyses, and only what open claims need",
    ),
    options.option(
        "--budget",
        type=options.seconds,
        metavar="TIME",
        help="end after so long (15m, 900s, 2h); finished trials are kept and reported, and the "
        "same command goes on with the others",
    ),
    options.flag("--dry-run", "print what would be submitted, and train nothing"),
)


def execute(given: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    clock = perf_counter()
    if given.others:
        papers = [given.paper, *given.others]
        runs = "; ".join(f"fedrepro run {paper}" for paper in papers)
        together = f"fedrepro report {' '.join(papers)}"
        raise FedreproError(f"one paper a run: {runs}; then one report: {together}")
    plan = options.plan(given, options.paper(given))
    store = store_at(given.store)
    if given.dry_run:
        from fedrepro.benchmark.execution.run import rehearse

        trials = _first_step(plan, store) if given.until_decided else None
        where, limit = options.where(given), given.time_limit
        print(*rehearse(plan, store, where, given.executor, limit, trials), sep="\n")
        return 0
    # Before the training, so that a name that no folder can have costs no work.
    folder = given.out or default_folder(plan, given)
    return show([judged(plan, store, trained(plan, store, given), since=clock)], folder)


def _first_step(plan: Plan, store: Store) -> Sequence[Trial]:
    """The first trials that claims need of which one is missing."""
    from fedrepro.benchmark.execution.until_decided import steps
    from fedrepro.benchmark.judging.evidence import Finished, find_trial

    for _, trials in steps(plan, store, {}):
        if not all(isinstance(find_trial(store, *one), Finished) for one in trials):
            return trials
    return ()
