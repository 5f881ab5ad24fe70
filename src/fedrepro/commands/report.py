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
    options.flag(
        "--stale",
        "show trials of earlier code where there are none of the present one; the report says so",
    ),
)


def execute(given: argparse.Namespace) -> int:
    """Judges and reports."""
    clock = time.perf_counter()
    alone = options.one_is_named(given)
    store = store_at(given.store)
    plans = [options.plan(given, paper) for paper in options.papers_with_profile(given)]
    if not plans:
        raise FedreproError(f"no paper has a profile '{given.profile}'; fedrepro list names them")
    usual = default_folder(plans[0], given) if alone else folder_of("all", given.profile)
    reports = [judged(plan, store, since=clock, include_stale=given.stale) for plan in plans]
    return show(reports, given.out or usual)
