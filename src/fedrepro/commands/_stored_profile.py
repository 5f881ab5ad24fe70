"""Which profile a report shows where nobody says it: one under which something is stored."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.judging.trials import Finished, find_trial
from fedrepro.benchmark.planning.plan import Plan
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
    if next(store.records(), None) is None:
        return
    for name in _profiles(ids, root):
        if any(_has_trials(given, name, paper, store) for paper in _papers(ids, root)):
            given.profile = name
            break
    if given.profile != _FIRST:
        said = f"nothing is stored under the profile '{_FIRST}': this is '{given.profile}'"
        print(printable(f"{said} (--profile asks for another)"), file=sys.stderr)


def _profiles(ids: Sequence[str], root: Folders) -> Iterator[str]:
    """Reduced, then the others; specs are read for these only if it comes to them."""
    yield _FIRST
    names = dict.fromkeys(name for paper in _papers(ids, root) for name in paper.profiles)
    yield from (name for name in names if name != _FIRST)


def _papers(ids: Sequence[str], root: Folders) -> Iterator[Paper]:
    """One by one, those whose specs are sound; whoever reads the others says what is wrong."""
    for id in ids:
        with suppress(SpecError):
            yield load_paper(id, root)


def _has_trials(given: argparse.Namespace, profile: str, paper: Paper, store: Store) -> bool:
    """Whether a trial of the chosen cells is stored or has failed.

    Counted costs are left out: they are the same runs under every profile.
    """
    plan: Plan | None = None
    if profile in paper.profiles:
        with suppress(SpecError):  # a selection that this profile does not have
            plan = chosen_plan(argparse.Namespace(**{**vars(given), "profile": profile}), paper)
    found = (
        find_trial(store, run, seed, include_stale=getattr(given, "stale", False))
        for run, seed in ([] if plan is None else plan.trials_to_run())
        if run.stage != "costs"
    )
    return any(isinstance(one, Finished) or one.failed for one in found)
