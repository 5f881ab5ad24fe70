"""From a plan and a store to a report on disk, a scoreboard on the terminal and an exit code.

What loads torch is imported where it is needed: a driver of other processes only writes.
"""

from __future__ import annotations

import argparse
import importlib
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING

from fedrepro.benchmark.commands._terminal import paint
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.scoreboard import Scoreboard, exit_code, scoreboard
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store.files import FileReader, write_whole

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.plan import Plan
    from fedrepro.benchmark.store.store import Store

TOGETHER = 12
"""Papers in one page; five make several MB, of which a browser holds a dozen with ease."""
_REASONS = 5
_ROOT = Path("results/reports")


def store_at(
    folder: Path,
    read: FileReader | None = None,
    also_warn: Callable[[str], None] = lambda sentence: None,
) -> Store:
    """The store in `folder`, which complains on the terminal about damaged files.

    read: as `Store` has it. also_warn: told as well.
    """
    from fedrepro.benchmark.store.store import Store

    def warn(sentence: str) -> None:
        print(f"fedrepro: {sentence}", file=sys.stderr)
        also_warn(sentence)

    return Store(folder, warn=warn, read=read)


def command_line() -> str:
    """The command as the user gave it."""
    return shlex.join(["fedrepro", *sys.argv[1:]])


def trained(plan: Plan, store: Store, given: argparse.Namespace) -> Mapping[str, str]:
    """Trains what the store lacks; by run key, why a run was not tried."""
    from fedrepro.benchmark.commands._options import execution_options
    from fedrepro.benchmark.execution.progress import Progress
    from fedrepro.benchmark.execution.run import execute

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
    from fedrepro.benchmark.judging.judge import judge

    report = judge(plan, store, command=command_line(), wall_s=wall_s, not_run=not_run)
    return show([report], given.out or default_folder(plan, given))


def show(reports: Sequence[Report], folder: Path) -> int:
    """Writes reports to `folder`, prints their scoreboards; the exit code."""
    write(reports, folder)
    return tell(list(map(scoreboard, reports)), folder)


def tell(boards: Sequence[Scoreboard], folder: Path) -> int:
    """Prints the scoreboards of a report that lies in `folder`; the exit code."""
    for board in boards:
        print_scoreboard(board)
    print(f"report: {folder / 'report.html'}")
    return exit_code(boards)


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
    """The reports in every format, in `folder`; of many papers each has a page there.

    Raises `FedreproError` if the folder cannot be written.
    """
    with reporting_to(folder):
        if len(reports) <= TOGETHER:
            for writer in parts().formats().values():
                write_whole(folder / writer.FILE, writer.render(reports).encode())
            return
        with TemporaryDirectory(dir=folder, prefix=".parts-") as unfinished:
            places = [Path(unfinished, str(i)) for i in range(len(reports))]
            for report, place in zip(reports, places, strict=True):
                parts().write_parts(report, place)
            parts().join(places, list(map(scoreboard, reports)), folder)


def parts() -> ModuleType:
    """The module `reports.parts`: reports know the harness, the harness does not know reports."""
    return importlib.import_module("fedrepro.reports.parts")


@contextmanager
def reporting_to(folder: Path) -> Iterator[None]:
    """Makes the folder of a report.

    Raises `FedreproError` if it cannot be made, or for an `OSError` within the block.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise FedreproError(
            f"the report cannot be written to {folder}: {error.strerror or error}; "
            "the trials are stored, so `fedrepro report` can write it elsewhere (--out)"
        ) from None


def print_scoreboard(board: Scoreboard) -> None:
    """Counts by verdict and by claim, why cells were not run, and what a scaled run cannot say."""
    print(f"{board.paper}, profile {board.profile}" + (f" on {board.on}" if board.on else ""))
    print("  cells:  " + _counted(board.verdicts))
    print("  claims: " + (_counted(board.claims) or "none"))
    for reason, n in list(board.reasons.items())[:_REASONS]:
        print(f"  NOT RUN, {n} cell{'' if n == 1 else 's'}: {reason}")
    if len(board.reasons) > _REASONS:
        print(f"  NOT RUN, {len(board.reasons) - _REASONS} more reasons: see the report")
    for failed in board.failed[:_REASONS]:
        print(f"  FAILED, {failed}")
    if len(board.failed) > _REASONS:
        print(f"  FAILED, {len(board.failed) - _REASONS} more trials: see the report")
    if board.scaled:
        print("  scaled numbers are shown beside the published ones and never count as reproduced")


def _counted(words: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {paint(word)}" for word, n in sorted(words.items()))
