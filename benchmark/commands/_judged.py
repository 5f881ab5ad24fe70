"""From a plan and a store to a report on disk, a scoreboard on the terminal and an exit code."""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from benchmark.commands._options import execution_options
from benchmark.errors import FedreproError
from benchmark.judge import judge
from benchmark.plan import Plan
from benchmark.progress import Progress
from benchmark.results import Report
from benchmark.run import execute
from benchmark.store import Store

FORMATS = ("html", "md", "json")
_REASONS = 5
_WRITERS = {"html": "reports.html", "md": "reports.markdown", "json": "reports.json"}


def store_at(folder: Path) -> Store:
    """The store in `folder`, which complains on the terminal about damaged files."""
    return Store(folder, warn=lambda sentence: print(f"fedrepro: {sentence}", file=sys.stderr))


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
    command = shlex.join(["fedrepro", *sys.argv[1:]])
    report = judge(plan, store, command=command, wall_s=wall_s, not_run=not_run)
    folder = given.out or default_folder(plan)
    write(report, folder)
    print_scoreboard(report)
    print(f"report: {folder / 'report.html'}")
    return exit_code(report)


def default_folder(plan: Plan) -> Path:
    """`results/reports/<paper>-<profile>[-on-<set>]`."""
    on = f"-on-{plan.on}" if plan.on else ""
    return Path("results/reports") / f"{plan.paper.id}-{plan.profile.name}{on}"


def write(report: Report, folder: Path) -> None:
    """`report.html`, `report.md` and `report.json` in `folder`.

    The writers are found by name: reports know the harness, the harness does not know reports.

    Raises `FedreproError` if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for format in FORMATS:
            writer = importlib.import_module(_WRITERS[format])
            writer.write(report, folder / f"report.{format}")
    except OSError as error:
        raise FedreproError(
            f"the report cannot be written to {folder}: {error.strerror or error}; "
            "the trials are stored, so `fedrepro report` can write it elsewhere (--out)"
        ) from None


def print_scoreboard(report: Report) -> None:
    """Counts by verdict and by claim, why cells were not run, and what a scaled run cannot say."""
    verdicts, claims = report.count_verdicts(), report.count_claims()
    print(f"{report.paper}, profile {report.profile}" + (f" on {report.on}" if report.on else ""))
    print("  cells:  " + ", ".join(f"{n} {word}" for word, n in sorted(verdicts.items())))
    print("  claims: " + (", ".join(f"{n} {word}" for word, n in sorted(claims.items())) or "none"))
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


def exit_code(report: Report) -> int:
    """0 nothing discrepant, 1 something is, 2 an error, 3 nothing was run."""
    words = report.count_verdicts()
    if words.get("ERROR"):
        return 2
    if words.get("DISCREPANT"):
        return 1
    measured = any(cell.mean is not None for table in report.tables for cell in table.cells)
    recomputed = words.get("EXACT", 0) + words.get("MISPRINT?", 0)
    return 0 if measured or recomputed else 3
