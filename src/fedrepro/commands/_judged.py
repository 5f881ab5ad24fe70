"""From a plan and a store to a report on disk, a scoreboard on the terminal and an exit code."""

import argparse
import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from time import perf_counter

from fedrepro.benchmark.data_names import file_name
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.printable import plural
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.benchmark.store.files import path_segment
from fedrepro.benchmark.store.store import Store
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain, folded, paint
from fedrepro.reports import scoreboard

_REASONS = 5
_LETTERS = 300  # of a reason; one of many edited files would fill a screen
_REPORTS = Path("results/reports")


def store_at(folder: Path, to_read: bool = False) -> Store:
    """The store in `folder`, which complains on the terminal about damaged files. `FedreproError`
    for one to read from that was named and is not there."""
    if to_read and folder != options.STORED and not folder.is_dir():
        raise FedreproError(f"--store {folder}: there is no such folder; `fedrepro run` makes one")
    return Store(folder, warn=complain)


def command_line() -> str:
    """The command as the user gave it."""
    return shlex.join(["fedrepro", *sys.argv[1:]])


def judged(
    plan: Plan,
    store: Store,
    not_run: Mapping[str, str] = {},
    *,
    include_stale: bool = False,
    since: float | None = None,
    audit: bool = True,
) -> Report:
    """The report of a plan on what is stored. `not_run`, `include_stale`: as of `load_trials`.
    `since`: when the job began, by `perf_counter`."""
    from fedrepro.benchmark.judging.evidence import load_trials
    from fedrepro.benchmark.judging.judge import judge

    trials = load_trials(plan, store, not_run, include_stale=include_stale)
    wall_s = 0.0 if since is None else perf_counter() - since
    return judge(plan, trials, command=command_line(), wall_s=wall_s, audit=audit)


def trained(plan: Plan, store: Store, args: argparse.Namespace) -> Mapping[str, str]:
    """Trains what the store lacks, or open claims need; by run key, why a run was not tried."""
    from rich.console import Console

    from fedrepro.benchmark.execution.display import Display
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.execution.until_decided import train_until_decided
    from fedrepro.benchmark.store.fingerprint import unfollowed

    cautions = dict.fromkeys(said for one in plan.cells for said in one.cautions)
    for sentence in (*unfollowed(plan.runs), *cautions):
        complain(sentence)
    # In this very process a debugger may wait for words, over which no bar is drawn.
    no_bar = Console(stderr=True, highlight=False, force_terminal=False)
    progress = Display(no_bar) if args.jobs == 0 else Display()
    how = options.execution(args) | {"progress": progress}
    budget = getattr(args, "budget", None)  # commands beside `run` have none
    if getattr(args, "until_decided", False):
        done = train_until_decided(
            plan,
            store,
            lambda trials, left: execute(plan, store, trials=trials, budget=left, **how),
            math.inf if budget is None else budget,
            progress.say,
        )
    else:
        done = execute(plan, store, budget=budget, **how)
    print(done.summary, file=sys.stderr)
    return done.not_run


def show(reports: Sequence[Report], folder: Path) -> int:
    """Writes reports to `folder`, prints their scoreboards and what failed; the exit code."""
    from fedrepro.reports import publish

    failed = publish.write(reports, folder)
    for report in reports:
        _print(report)
    print(f"report: {folder / 'report.html'}")
    for sentence in failed:
        complain(sentence)
    return 2 if failed else scoreboard.exit_code(reports)


def default_folder(plan: Plan, args: argparse.Namespace) -> Path:
    """`results/reports/<paper>-<profile>[-on-<set>]`, another one for less than the whole."""
    parts = [plan.paper.id, plan.profile.name]
    parts += ["on", file_name(plan.on)] if plan.on else []
    parts += ["reading", *plan.paper.readings] if plan.paper.readings else []
    parts += ["tables", *args.tables] if args.tables else []
    parts += ["some-rows"] if args.rows else []
    changes = dict(plan.sets)
    parts += [str(changes.pop(PRECISION))] if PRECISION in changes else []
    parts += ["series", str(plan.profile.series)] if plan.has_other_series else []
    parts += ["changed"] if changes or plan.has_other_trials else []
    return folder_of(*parts)


def folder_of(*parts: str) -> Path:
    """The folder of a report that is called so; `FedreproError` for a name that leads elsewhere."""
    return _REPORTS / path_segment("-".join(parts))


def _print(report: Report) -> None:
    sentence, *others = report.first.lines
    print(folded(sentence, 2))
    for said in others:
        print(folded(f"  {said}", 4))
    counts = sorted(scoreboard.counts([report], "verdicts").items())
    words = ", ".join(f"{n} {paint(word)}" for word, n in counts)
    print(folded(f"  cells: {words}", 4))
    reasons = [f", {plural(n, 'cell')}: {why}" for why, n in scoreboard.why_not_run(report.tables)]
    failed = [f", {one}" for one in scoreboard.failed_trials(report)]
    for word, told in (("NOT RUN", reasons), ("FAILED", failed)):
        for one in told[:_REASONS]:
            print(folded(f"  {paint(word)}{shorten(one, _LETTERS)}", 4))
        if len(told) > _REASONS:
            print(f"  {paint(word)}, {len(told) - _REASONS} more: see the report")
    if caution := scoreboard.caution([report]):
        print(folded(f"  {caution}", 4))
