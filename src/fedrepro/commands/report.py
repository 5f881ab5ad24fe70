"""Judge what is stored and write the report, without training."""

import argparse
import time

from fedrepro.benchmark.errors import FedreproError
from fedrepro.commands import _options as options
from fedrepro.commands._judged import default_folder, folder_of, judged, show, store_at

EXAMPLE = "fedrepro report cpcfl mfcl --out results/reports/two-papers"
ARGUMENTS = (
    *options.PAPERS,
    *options.CELLS,
    *options.PLACES,
    options.out("default: results/reports/PAPER-PROFILE, of several papers all-PROFILE"),
    options.flag("--stale", "show trials of earlier code where there are none of the present one; "
        "the report says so"),
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Judges and reports."""
    clock = time.perf_counter()
    alone = options.one_is_named(args)
    store = store_at(args.store, to_read=True)
    plans = [options.plan(args, paper) for paper in options.papers_with_profile(args)]
    if not plans:
        raise FedreproError(f"no paper has a profile '{args.profile}'; fedrepro list names them")
    usual = default_folder(plans[0], args) if alone else folder_of("all", args.profile)
    reports = [judged(plan, store, since=clock, include_stale=args.stale) for plan in plans]
    return show(reports, args.out or usual)
