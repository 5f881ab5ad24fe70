"""List what a paper leaves open, and other interpretations of it."""

import argparse

from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.readings import choices_of, readings_of
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import folded

EXAMPLE = "fedrepro readings fedrlc"
ARGUMENTS = (
    *options.PAPER,
    options.profile("whose runs are counted (default: reduced)"),
    options.flag("--all", "also choices without another interpretation to select"),
)


def execute(args: argparse.Namespace) -> None:
    """Prints every choice with its alternatives and what each would change."""
    paper = options.paper(args)
    plan = make_plan(paper, args.profile)
    changes = {one.name: _change(plan, one.name) for one in readings_of(paper)}
    choices = list(choices_of(paper))
    shown = [one for one in choices if one[0].alternatives or args.all]
    for choice, table in shown:
        where = "" if table is None else f" (table {table})"
        print(f"{choice.name or '-'}{where}: {choice.setting}")
        print(folded(f"    taken: {choice.taken}. {choice.why}", 4))
        for one in choice.alternatives:
            print(f"  --reading {one.name}: {changes[one.name]}")
            print(folded(f"      {one.taken}. {one.why}. In its favour: {one.speaks}", 6))
    n_open = sum(bool(choice.alternatives) for choice, _ in choices)
    n_fixed = len(choices) - n_open
    print(
        f"{paper.id}: {n_open} choices with {len(changes)} other interpretations; {n_fixed} "
        "choices without another one to select" + ("" if args.all else " (--all lists them)")
    )


def _change(plan: Plan, name: str) -> str:
    """What an interpretation changes under the plan's profile, in words."""
    other = plan.under([name])
    after, pairs = set(other.runs), zip(plan.cells, other.cells, strict=True)
    new = len(after - set(plan.runs))
    read = sum((a.cell.metric, a.read) != (b.cell.metric, b.read) for a, b in pairs)
    parts = [f"{new} other runs of {len(after)}"] if new else []
    parts += [f"{read} cells read otherwise"] if read else []
    return ", ".join(parts) or f"changes nothing under profile {plan.profile.name}"
