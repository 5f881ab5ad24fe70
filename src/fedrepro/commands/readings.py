"""`fedrepro readings`: what a paper leaves open, and the other answers that can be run."""

from __future__ import annotations

import argparse
import shutil
from textwrap import indent, wrap

from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.readings import choices_of, readings_of
from fedrepro.commands._options import add_paper, specs
from fedrepro.commands._terminal import print_json

HELP = "list what a paper leaves open, and the readings that --reading selects"
EXAMPLE = "fedrepro readings fedrlc"
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A paper, and the profile in which readings are counted."""
    add_paper(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="reduced",
        help="where runs are counted (default: reduced)",
    )
    parser.add_argument(
        "--all", action="store_true", help="also choices without another reading to select"
    )
    parser.add_argument("--json", action="store_true", help="the choices as JSON")


def execute(given: argparse.Namespace) -> int:
    """Prints every choice with its alternatives and what each would change."""
    paper = load_paper(given.paper, specs(given))
    plan = make_plan(paper, given.profile)
    changes = {one.name: _change(plan, one.name) for one in readings_of(paper)}
    if given.json:
        print_json(
            [
                {
                    "choice": choice.name,
                    "table": table,
                    "setting": choice.setting,
                    "settings": list(choice.settings),
                    "taken": choice.taken,
                    "why": choice.why,
                    "alternatives": [
                        {
                            "name": one.name,
                            "taken": one.taken,
                            "why": one.why,
                            "speaks": one.speaks,
                            "set": dict(one.set),
                            "only_evaluates": one.only_evaluates,
                            "changes": changes[one.name],
                        }
                        for one in choice.alternatives
                    ],
                }
                for choice, table in choices_of(paper)
                if choice.alternatives or given.all
            ]
        )
        return 0
    for choice, table in choices_of(paper):
        if not choice.alternatives and not given.all:
            continue
        where = "" if table is None else f" (table {table})"
        print(f"{choice.name or '-'}{where}: {choice.setting}")
        print(_paragraph(f"taken: {choice.taken}. {choice.why}"))
        for one in choice.alternatives:
            print(f"  --reading {one.name}: {changes[one.name]}")
            print(_paragraph(f"{one.taken}. {one.why}. Speaks for it: {one.speaks}", "      "))
    n_open = sum(1 for choice, _ in choices_of(paper) if choice.alternatives)
    n_fixed = sum(1 for choice, _ in choices_of(paper) if not choice.alternatives)
    print(
        f"{paper.id}: {n_open} choices with {len(changes)} other readings; {n_fixed} choices "
        "without another one to select" + ("" if given.all else " (--all lists them)")
    )
    return 0


def _paragraph(text: str, margin: str = "    ") -> str:
    return indent("\n".join(wrap(text, _width() - len(margin))), margin)


def _width() -> int:
    return min(shutil.get_terminal_size((_WIDTH, 24)).columns, _WIDTH)


def _change(plan: Plan, name: str) -> str:
    """What a reading changes under the plan's profile, in words."""
    other = plan.under([name])
    before, after = set(plan.runs), set(other.runs)
    read = sum(
        one.cell.metric != now.cell.metric or one.read != now.read
        for one, now in zip(plan.cells, other.cells, strict=True)
    )
    parts = []
    if after - before:
        parts.append(f"{len(after - before)} other runs of {len(after)}")
    if read:
        parts.append(f"{read} cells read otherwise")
    return ", ".join(parts) or f"changes nothing under profile {plan.profile.name}"
