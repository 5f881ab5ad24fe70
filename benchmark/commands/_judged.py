"""From a plan and a store to a report on disk, a scoreboard on the terminal and an exit code."""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.commands._options import execution_options
from benchmark.commands._terminal import paint
from benchmark.errors import FedreproError
from benchmark.judge import judge
from benchmark.plan import Plan
from benchmark.progress import Progress
from benchmark.results import Report
from benchmark.run import execute
from benchmark.store import Store
from methods.registry import names_in

_REASONS = 5
_WRITERS = "reports.writers"
_ROOT = Path("results/reports")


def store_at(folder: Path) -> Store:
    """The store in `folder`, which complains on the terminal about damaged files."""
    return Store(folder, warn=lambda sentence: print(f"fedrepro: {sentence}", file=sys.stderr))


def command_line() -> str:
    """The command as the user gave it."""
    return shlex.join(["fedrepro", *sys.argv[1:]])


def trained(plan: Plan, store: Store, given: argparse.Namespace) -> Mapping[str, str]:
    """Trains what the store lacks; by run key, why a run was not tried."""
    execution = execute(
        plan,
        store,
        download=given.download,
        progress=Progress(),
        **execution_options(given),
    )
    print(execution.summary, file=sys.stderr)
    return execution.not_run


def finish(
    plan: Plan,
    store: Store,
    given: argparse.Namespace,
    wall_s: float,
    not_run: Mapping[str, str],
) -> int:
    """Judges, writes the report in every format, prints the scoreboard; the exit code."""
    report = judge(plan, store, command=command_line(), wall_s=wall_s, not_run=not_run)
    return show([report], given.out or default_folder(plan, given))


def show(reports: Sequence[Report], folder: Path) -> int:
    """Writes reports to `folder`, prints their scoreboards; the exit code."""
    write(reports, folder)
    for report in reports:
        print_scoreboard(report)
    print(f"report: {folder / 'report.html'}")
    return exit_code(reports)


def default_folder(plan: Plan, given: argparse.Namespace) -> Path:
    """`results/reports/<paper>-<profile>[-on-<set>]`, another one for what is not the whole of it.

    A selection or a changed setting must not replace the report of the whole profile.
    """
    parts = [plan.paper.id, plan.profile.name]
    parts += ["on", plan.on] if plan.on else []
    parts += ["tables", *given.tables] if given.tables else []
    parts += ["some-rows"] if given.rows else []
    parts += ["changed"] if plan.sets or plan.trials != plan.profile.trials else []
    return _ROOT / "-".join(parts)


def folder_of_all(profile: str) -> Path:
    """Where one report on several papers goes."""
    return _ROOT / f"all-{profile}"


def write(reports: Sequence[Report], folder: Path) -> None:
    """The reports in every format, in `folder`.

    The writers are found by name: reports know the harness, the harness does not know reports.

    Raises `FedreproError` if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names_in(_WRITERS):
            writer = importlib.import_module(f"{_WRITERS}.{name}")
            writer.write(reports, folder / writer.FILE)
    except OSError as error:
        raise FedreproError(
            f"the report cannot be written to {folder}: {error.strerror or error}; "
            "the trials are stored, so `fedrepro report` can write it elsewhere (--out)"
        ) from None


def print_scoreboard(report: Report) -> None:
    """Counts by verdict and by claim, why cells were not run, and what a scaled run cannot say."""
    verdicts, claims = report.count_verdicts(), report.count_claims()
    print(f"{report.paper}, profile {report.profile}" + (f" on {report.on}" if report.on else ""))
    print("  cells:  " + _counted(verdicts))
    print("  claims: " + (_counted(claims) or "none"))
    reasons = Counter(
        cell.verdict.reason
        for table in report.tables
        for cell in table.cells
        if cell.verdict.word == "NOT RUN"
    )
    for reason, n in reasons.most_common(_REASONS):
        print(f"  NOT RUN, {n} cell{'' if n == 1 else 's'}: {reason}")
    if len(reasons) > _REASONS:
        print(f"  NOT RUN, {len(reasons) - _REASONS} more reasons: see the report")
    if report.scaled:
        print("  scaled numbers are shown beside the published ones and never count as reproduced")


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {paint(word)}" for word, n in sorted(words.items()))


def exit_code(reports: Sequence[Report]) -> int:
    """0 nothing discrepant, 1 something is, 2 an error, 3 nothing was run."""
    cells = [cell for one in reports for table in one.tables for cell in table.cells]
    words = {cell.verdict.word for cell in cells}
    if "ERROR" in words:
        return 2
    if "DISCREPANT" in words:
        return 1
    measured = any(cell.mean is not None for cell in cells)
    drawn = any(table.panels for one in reports for table in one.tables)
    return 0 if measured or drawn or words & {"EXACT", "MISPRINT?"} else 3
