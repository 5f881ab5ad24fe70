"""Train what is missing, judge every cell and write the report."""

import argparse
from time import perf_counter

from fedrepro.commands import _options as options
from fedrepro.commands._judged import default_folder, judged, show, store_at, trained

EXAMPLE = "fedrepro run cpcfl --tables 3 --rows 'CP-CFL|*'"
ARGUMENTS = (
    *options.PAPER,
    *options.CELLS,
    *options.PLACES,
    options.out(),
    *options.EXECUTION,
    options.flag("--until-decided", "train in steps to the profile's interim analyses, and only "
        "what open claims need"),
    options.option("--budget", type=options.seconds, metavar="TIME", help="end after so long "
        "(15m, 900s, 2h); finished trials are stored and reported, and the same command "
        "continues with the others"),
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Runs, judges and reports."""
    clock = perf_counter()
    plan = options.plan(args, options.paper(args))
    store = store_at(args.store)
    # Before the training, so that a name that no folder can have costs no work.
    folder = args.out or default_folder(plan, args)
    return show([judged(plan, store, trained(plan, store, args), since=clock)], folder)
