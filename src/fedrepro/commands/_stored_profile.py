"""Which profile a report shows where nobody says it: one under which something is stored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.printable import printable
from fedrepro.benchmark.spec.folders import Folders
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._options import chosen_plan

_FIRST = "reduced"


def add_default(parser: argparse.ArgumentParser) -> None:
    """Leaves `--profile` open where it is not given."""
    parser.set_defaults(profile=None)


def choose_profile(
    given: argparse.Namespace, ids: Sequence[str], root: Folders, store: Store
) -> None:
    """Sets `given.profile` where it is open: reduced, or the first other one that has trials.

    Others are tried in the order of the specs. A line says which one it is if it is not reduced.
    """
    if given.profile is not None:
        return
    given.profile = _FIRST
    stored = {record.run for record in store.records()}
    papers = list(_sound(ids, root)) if stored else []
    names = (_FIRST, *(name for paper in papers for name in paper.profiles))
    for name in dict.fromkeys(names):
        if any(_is_stored(given, name, paper, stored) for paper in papers):
            given.profile = name
            break
    if given.profile != _FIRST:
        said = f"nothing is stored under the profile '{_FIRST}': this is '{given.profile}'"
        print(printable(f"{said} (--profile asks for another)"), file=sys.stderr)


def _sound(ids: Sequence[str], root: Folders) -> Iterator[Paper]:
    """The papers whose specs are sound; whoever reads the others says what is wrong."""
    for id in ids:
        with suppress(SpecError):
            yield load_paper(id, root)


def _is_stored(
    given: argparse.Namespace, profile: str, paper: Paper, stored: Collection[str]
) -> bool:
    """Whether a trial of the chosen cells is stored.

    Counted costs are left out: they are the same runs under every profile.
    """
    if profile not in paper.profiles:
        return False
    try:
        plan = chosen_plan(argparse.Namespace(**{**vars(given), "profile": profile}), paper)
    except SpecError:  # a selection that this profile does not have
        return False
    return any(run.key in stored for run in plan.runs if run.stage != "costs")
