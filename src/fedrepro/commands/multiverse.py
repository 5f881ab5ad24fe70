"""Run and judge under every interpretation of what is left open."""

import argparse
from dataclasses import replace
from time import perf_counter

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import Universe
from fedrepro.benchmark.spec.readings import free_readings
from fedrepro.commands import _options as options
from fedrepro.commands._judged import default_folder, folder_of, judged, show, store_at, trained
from fedrepro.reports.layout import all_claims

EXAMPLE = "fedrepro multiverse fedrlc --tables 2 --dry-run"
ARGUMENTS = (
    *options.PAPER,
    options.option("--readings", dest="others", type=options.comma_separated, metavar="LIST",
        help="interpretations, comma-separated, + between those that are taken together "
        "(default: each that changes something)"),
    *options.CELLS,
    *options.PLACES,
    options.out("default: results/reports/PAPER-PROFILE-multiverse-..."),
    *options.EXECUTION,
    options.flag("--dry-run", "say how many trials and how long; train nothing"),
)  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Runs the plan as taken and under each interpretation; reports the first, with a curve."""
    clock = perf_counter()
    taken = options.plan(args, options.paper(args))
    usual = default_folder(taken, args)
    folder = args.out or folder_of(usual.name, "multiverse", *(args.others or ()))
    plans, store = [taken, *_others(taken, args.others)], store_at(args.store)
    if args.dry_run:
        missing = dict.fromkeys(
            trial for plan in plans for trial in plan.trials_to_run() if store.find(*trial) is None
        )
        left = options.estimator_for(args, store).of(missing) if missing else None
        lines = ["no trial is missing"] if left is None else left.lines()
        print(f"{len(plans)} sets of interpretations; {'; '.join(lines)}")
        return 0
    reports = []
    for plan in plans:
        print(f"interpretations: {', '.join(plan.paper.readings) or 'as taken'}", flush=True)
        reports.append(judged(plan, store, trained(plan, store, args), audit=False))
    provenance = replace(reports[0].provenance, wall_s=perf_counter() - clock)
    universes = []
    for one in reports:
        claims = ((f"{table.id}: {claim.id}", claim.answer) for table, claim in all_claims(one))
        universes.append(Universe(one.readings, dict(claims)))
    shown = replace(reports[0], universes=tuple(universes), provenance=provenance)
    return show([shown], folder)


def _others(taken: Plan, named: list[str] | None) -> list[Plan]:
    """The plan under each interpretation, named or any, that changes what it reads."""
    base = taken.paper.readings
    names = [one.name for one in free_readings(taken.paper)] if named is None else named
    plans = [taken.under((*base, *one.split("+"))) for one in dict.fromkeys(names)]
    changed = [one for one in plans if one.paper.readings != base and one.reads != taken.reads]
    if not changed:
        raise SpecError(f"paper {taken.paper.id}: no other interpretation changes what is selected")
    return changed
