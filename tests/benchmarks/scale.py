"""Planning and reporting of ever larger suites: `python -m tests.benchmarks.scale 1 10 100`.

A suite has so many copies of the five papers (`tests.benchmarks.suite`), with every trial stored.
Each size is measured twice, in fresh processes: step by step in one process, which holds one paper
at a time, and as `fedrepro report` makes it, on all cores. Like the command, this module loads what
is large only where it is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.commands.report import report_on_many

Made = TypeVar("Made")
_LOOK_S = 0.5


def by_steps(folder: Path, profile: str) -> dict[str, object]:
    """Processor seconds by step, all of it in wall seconds, and the largest memory in MiB."""
    from fedrepro.benchmark.judging.judge import judge
    from fedrepro.benchmark.judging.scoreboard import scoreboard
    from fedrepro.benchmark.planning.plan import make_plan
    from fedrepro.benchmark.store.store import Store
    from fedrepro.reports.publish import PAPERS, formats, render_overview
    from tests.benchmarks.peak import most_resident

    steps: dict[str, float] = {}
    size = dict.fromkeys(("papers", "cells", "runs", "trials"), 0)
    boards = {}
    before, begun = most_resident() >> 20, time.perf_counter()

    def step(name: str, work: Callable[[], Made]) -> Made:
        clock = time.process_time()
        made = work()
        steps[name] = steps.get(name, 0.0) + time.process_time() - clock
        return made

    with TemporaryDirectory(dir=folder) as made:
        out = Path(made)
        for i, id in enumerate(paper_ids(folder / "specs")):
            paper = step("read", lambda: load_paper(id, folder / "specs"))  # noqa: B023
            plan = step("plan", lambda: make_plan(paper, profile))  # noqa: B023
            store = Store(folder / "store")  # which remembers what it has read
            report = step("judge", lambda: judge(plan, store, command="fedrepro"))  # noqa: B023
            own = out / PAPERS / id
            own.mkdir(parents=True)
            for format, writer in formats().items():
                text = step(format, lambda: writer.render([report]))  # noqa: B023
                (own / writer.FILE).write_text(text, "utf-8", newline="")
            boards[id] = scoreboard(report)
            counts = (1, len(plan.cells), len(plan.runs), len(plan.trials_to_run()))
            for what, count in zip(size, counts, strict=True):
                size[what] += count
            if i == 0:
                steps["of all, the first paper"] = sum(steps.values())
        step("join", lambda: render_overview(boards, out))
        megabytes = {p.name: p.stat().st_size // 10**6 for p in out.iterdir() if p.is_file()}
    return {
        **size,
        "cpu_s": {name: round(seconds, 1) for name, seconds in steps.items()},
        "wall_s": round(time.perf_counter() - begun, 1),
        "MiB": [before, most_resident() >> 20],
        "MB": megabytes,
    }


def as_command(folder: Path, profile: str) -> dict[str, object]:
    """Wall seconds of the report as the command makes it, and the memory of all its processes."""
    ids = paper_ids(folder / "specs")
    given = argparse.Namespace(
        profile=profile,
        trials=None,
        series=None,
        store=folder / "store",
        papers=list(ids),
        stale=False,
    )
    begun = time.perf_counter()
    with _most_of_all() as largest:
        report_on_many(given, folder / "out", root=folder / "specs")
    return {"wall_s": round(time.perf_counter() - begun, 1), "MiB of all": largest[0] >> 20}


@contextmanager
def _most_of_all() -> Iterator[list[int]]:
    """The most bytes that this process and those below it hold, shared pages counted once."""
    largest, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(_LOOK_S):
            largest[0] = max(largest[0], sum(map(_share, _below(str(os.getpid())))))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield largest
    finally:
        done.set()
        looking.join()


def _below(process: str) -> Iterator[str]:
    yield process
    for children in Path("/proc", process, "task").glob("*/children"):
        for child in children.read_text().split():
            yield from _below(child)


def _share(process: str) -> int:
    """Bytes of a process, pages that n processes share counted as an nth."""
    try:
        lines = Path("/proc", process, "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:")), 0)


_WAYS = {"steps": by_steps, "command": as_command}


def main(argv: list[str] | None = None) -> int:
    """Measures every size that is asked for; one line of JSON each way."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("copies", type=int, nargs="*", help="how many times the five papers")
    options.add_argument("--profile", default="smoke")
    options.add_argument("--at", type=Path, help="measure the suite in this folder")
    options.add_argument("--way", choices=_WAYS, help="in this process, one way")
    chosen = options.parse_args(argv)
    if chosen.way is not None:
        print(json.dumps({chosen.way: _WAYS[chosen.way](chosen.at, chosen.profile)}), flush=True)
    elif chosen.at is not None:
        _measure(chosen.at, chosen.profile)
    for copies in chosen.copies:
        with TemporaryDirectory() as folder:
            _make(Path(folder), copies, chosen.profile)
            _measure(Path(folder), chosen.profile)
    return 0


def _make(folder: Path, copies: int, profile: str) -> None:
    from fedrepro.benchmark.planning.plan import make_plan
    from fedrepro.benchmark.store.store import Store
    from tests.benchmarks.suite import fill, write_copies

    write_copies(folder / "specs", copies)
    store = Store(folder / "store")
    for id in paper_ids(folder / "specs"):
        fill(store, make_plan(load_paper(id, folder / "specs"), profile))


def _measure(folder: Path, profile: str) -> None:
    for way in _WAYS:
        command = [sys.executable, "-m", "tests.benchmarks.scale", "--way", way]
        subprocess.run([*command, "--profile", profile, "--at", str(folder)], check=True)


if __name__ == "__main__":
    raise SystemExit(main())
