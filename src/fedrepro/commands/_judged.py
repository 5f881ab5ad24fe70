"""From a plan and a store to a report on disk, a scoreboard on the terminal and an exit code."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from fedrepro.benchmark.judging.scoreboard import Scoreboard, exit_code, scoreboard
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.benchmark.store.files import path_segment
from fedrepro.benchmark.store.store import Store
from fedrepro.commands._options import execution_options
from fedrepro.commands._terminal import complain, folded, paint
from fedrepro.reports import overview

_REASONS = 5
_SENTENCE = 300
"""Letters of a reason; one of many edited files would fill a screen."""
_ROOT = Path("results/reports")


def store_at(folder: Path) -> Store:
    """The store in `folder`, which complains on the terminal about damaged files."""
    return Store(folder, warn=complain)


def command_line() -> str:
    """The command as the user gave it."""
    return shlex.join(["fedrepro", *sys.argv[1:]])


def trained(plan: Plan, store: Store, given: argparse.Namespace) -> Mapping[str, str]:
    """Trains what the store lacks; by run key, why a run was not tried."""
    from fedrepro.benchmark.execution.progress import Progress
    from fedrepro.benchmark.execution.run import execute

    options = execution_options(given)
    options["budget"] = getattr(given, "budget", None)  # `multiverse` has none
    execution = execute(plan, store, download=given.download, progress=Progress(), **options)
    print(execution.summary, file=sys.stderr)
    return execution.not_run


def show(reports: Sequence[Report], folder: Path) -> int:
    """Writes reports to `folder`, prints their scoreboards and what failed; the exit code."""
    from fedrepro.reports import publish

    failed, boards = publish.write(reports, folder), list(map(scoreboard, reports))
    for board in boards:
        _print_scoreboard(board)
    print(f"report: {folder / 'report.html'}")
    for sentence in failed:
        complain(sentence)
    return 2 if failed else exit_code(boards)


def default_folder(plan: Plan, given: argparse.Namespace) -> Path:
    """`results/reports/<paper>-<profile>[-on-<set>]`, another one for what is not the whole of it.

    A selection, a reading or a changed setting must not replace the report of the whole profile.

    Raises `FedreproError` for a name that would lead out of `results/reports`.
    """
    parts = [plan.paper.id, plan.profile.name]
    parts += ["on", plan.on] if plan.on else []
    parts += ["reading", *plan.paper.readings] if plan.paper.readings else []
    parts += ["tables", *given.tables] if given.tables else []
    parts += ["some-rows"] if given.rows else []
    changes = dict(plan.sets)
    parts += [str(changes.pop(PRECISION))] if PRECISION in changes else []
    parts += ["series", str(plan.profile.series)] if plan.has_other_series else []
    parts += ["changed"] if changes or plan.has_other_trials else []
    return _ROOT / path_segment("-".join(parts))


def folder_of_all(profile: str) -> Path:
    """Where one report on several papers goes; raises as `default_folder`."""
    return _ROOT / path_segment(f"all-{profile}")


def _print_scoreboard(board: Scoreboard) -> None:
    """The first lines, why cells were not run, and which trials failed."""
    first = board.first
    print(folded(first.sentence + (f" ({first.run_on})" if first.run_on else ""), 2))
    for said in (*first.evidence, *first.totals):
        print(folded(f"  {said}", 4))
    print(folded("  cells: " + _counted(board.verdicts), 4))
    for reason, n in list(board.reasons.items())[:_REASONS]:
        cells = f"{n} cell{'' if n == 1 else 's'}"
        print(folded(f"  NOT RUN, {cells}: {shorten(reason, _SENTENCE)}", 4))
    if len(board.reasons) > _REASONS:
        print(f"  NOT RUN, {len(board.reasons) - _REASONS} more reasons: see the report")
    for failed in board.failed[:_REASONS]:
        print(folded(f"  FAILED, {shorten(failed, _SENTENCE)}", 4))
    if len(board.failed) > _REASONS:
        print(f"  FAILED, {len(board.failed) - _REASONS} more trials: see the report")
    caution = overview.caution([board])
    if caution:
        print(folded(f"  {caution}", 4))


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {paint(word)}" for word, n in sorted(words.items()))
