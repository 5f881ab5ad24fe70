"""A report on more papers than one page holds: each is read, judged and rendered by itself.

Papers share nothing, so worker processes take them in turn, and none holds more than one judged
paper. What a process works out once (costs of networks, sources) takes it as long as a dozen
papers, so that few papers are left to this one process. Parts are kept beside the report, and a
paper is only judged if anything is not as it was when its parts were made
(`benchmark.judging.kept`). The
driver loads neither torch nor anything else that only judging needs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fedrepro.benchmark.commands._judged import TOGETHER, parts, reporting_to, store_at
from fedrepro.benchmark.commands._options import print_skipped
from fedrepro.benchmark.commands._turns import in_turn
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.processes import cores
from fedrepro.benchmark.judging.kept import Made, code, keep, kept, noting, question
from fedrepro.benchmark.judging.scoreboard import Scoreboard, scoreboard
from fedrepro.benchmark.spec.load import tables_root
from fedrepro.benchmark.spec.problems import InvalidSpecError, Problem
from fedrepro.benchmark.store.files import locked, looking_into

PARTS = ".parts"
"""The folder of what is kept, in that of the report."""
_MOST = 8
"""Processes, each of which holds a paper and what it has worked out: some 100 MB."""
_LOADED = "fedrepro.benchmark.commands._loaded"
"""The module that imports what judging and writing need."""


@dataclass(frozen=True)
class _Task:
    """One paper, and where its parts go; only_read: others are wrong, so only mistakes count."""

    id: str
    place: Path
    root: Path
    profile: str
    trials: int | None
    store: Path
    command: str
    code: str
    started: float
    must_have_profile: bool
    only_read: bool = False

    def question(self) -> str:
        """What is asked of a paper; the answer stands while this and the store do."""
        asked = (self.id, self.profile, self.trials, self.must_have_profile, self.command)
        return question(self.root / self.id, *asked, self.code)


@dataclass(frozen=True)
class _Answer:
    """A paper whose parts lie in their place; board: None where it lacks the profile."""

    board: Scoreboard | None


def report_on(
    ids: Sequence[str],
    given: argparse.Namespace,
    folder: Path,
    *,
    command: str,
    root: Path | None = None,
    jobs: int | None = None,
) -> list[Scoreboard]:
    """Writes the report on many papers to `folder`; the scoreboards of those that it holds.

    given: profile, trials, store, anew (nothing kept is used), and papers if they were named.
    command: as the user gave it. root: the folder of all specs. jobs: processes, None for as many
    as pay.

    Raises `InvalidSpecError` with all that is wrong in any spec, and other `FedreproError` as for
    one paper or if another process writes to `folder`; there is no report then.
    """
    if jobs is None:
        jobs = min(cores(), _MOST, len(ids) // TOGETHER)
    with reporting_to(folder), _alone(folder) as kept_at:
        tasks = _tasks(ids, given, kept_at, command, root)
        answers: list[_Answer | None] = [None] * len(tasks)
        if not given.anew:
            answers = list(in_turn(_as_it_was, tasks, jobs))
        open_tasks = [task for task, known in zip(tasks, answers, strict=True) if known is None]
        judged = iter(_judge_all(open_tasks, jobs))
        boards: dict[Path, Scoreboard] = {}
        for task, known in zip(tasks, answers, strict=True):
            board = (known or next(judged)).board
            if board is not None:
                boards[task.place] = board
            else:
                print_skipped(task.id, task.profile)
        if not boards:
            raise FedreproError(f"no paper has a profile '{given.profile}'")
        as_it_was = len(tasks) - len(open_tasks)
        if as_it_was:
            print(
                f"{as_it_was} of {len(tasks)} papers are as they were when this report was last "
                "made, so their parts of it stay; --anew makes all of them anew",
                file=sys.stderr,
            )
        parts().join(list(boards), list(boards.values()), folder)
        _forget(kept_at, {task.place for task in tasks})
    return list(boards.values())


def _tasks(
    ids: Sequence[str], given: argparse.Namespace, kept_at: Path, command: str, root: Path | None
) -> list[_Task]:
    made_by, started = code(), time.time()
    return [
        _Task(
            id=id,
            place=kept_at / id,
            root=tables_root() if root is None else root,
            profile=given.profile,
            trials=given.trials,
            store=given.store,
            command=command,
            code=made_by,
            started=started,
            must_have_profile=bool(given.papers),
        )
        for id in ids
    ]


def _as_it_was(task: _Task) -> _Answer | None:
    """A paper whose parts are kept and stand; None where it has to be judged."""
    made = kept(task.place, task.question(), looking_into(task.store))
    return None if made is None else _Answer(made.board)


def _judge_all(tasks: Sequence[_Task], jobs: int) -> list[_Answer]:
    """Judges papers; once one has a mistake, the others are only read for theirs.

    Raises `InvalidSpecError` with all mistakes.
    """
    problems: list[Problem] = []
    answers: list[_Answer] = []
    if not tasks:
        return answers
    in_time = (replace(task, only_read=bool(problems)) for task in tasks)
    for found in in_turn(_judge, in_time, min(jobs, len(tasks) // TOGETHER), _LOADED):
        if isinstance(found, _Answer):
            answers.append(found)
        else:
            problems += found
    if problems:
        raise InvalidSpecError(problems)
    return answers


def _judge(task: _Task) -> _Answer | tuple[Problem, ...]:
    """Judges a paper and writes its parts, to be kept if all is sound; or its mistakes."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.planning.plan import make_plan
    from fedrepro.benchmark.spec.load import load_paper

    asked = task.question()
    try:
        paper = load_paper(task.id, task.root)
    except InvalidSpecError as found:
        return found.problems
    if task.only_read:
        return ()
    shutil.rmtree(task.place, ignore_errors=True)
    seen: dict[str, str | None] = {}
    written: dict[str, str] = {}
    warnings: list[str] = []
    board = None
    if task.must_have_profile or task.profile in paper.profiles:
        plan = make_plan(paper, task.profile, trials=task.trials)
        store = store_at(task.store, noting(looking_into(task.store), seen), warnings.append)
        wall_s = time.time() - task.started
        report = judge(plan, store, command=task.command, wall_s=wall_s)
        written = parts().write_parts(report, task.place)
        board = scoreboard(report)
    # A warning is given each time; a spec that was edited meanwhile is another question.
    if not warnings and task.question() == asked:
        keep(task.place, Made(asked, seen, written, board))
    return _Answer(board)


@contextmanager
def _alone(folder: Path) -> Iterator[Path]:
    """The folder of what is kept, which only this process writes to.

    Raises `FedreproError` if another one does.
    """
    kept_at = folder / PARTS
    kept_at.mkdir(exist_ok=True)
    with (folder / f"{PARTS}.lock").open("a") as lock:
        if not locked(lock.fileno()):
            raise FedreproError(
                f"another fedrepro is writing the report in {folder}; wait for it or give "
                "another --out"
            )
        yield kept_at


def _forget(kept_at: Path, places: Container[Path]) -> None:
    """Removes the parts of papers that the report does not have."""
    for place in kept_at.iterdir():
        if place not in places:
            shutil.rmtree(place)
