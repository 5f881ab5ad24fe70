"""Planning and reporting of ever larger suites: `python -m tests.benchmarks.scale docs/scale.md`.

A suite has so many copies of the five papers (`tests.benchmarks.suite`), with every trial stored.
Each size is measured in a fresh process, which does what `fedrepro report` does: processor seconds
of every step, and the most memory that the process has had until then.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from benchmark.judge import judge
from benchmark.plan import make_plan
from benchmark.spec.load import load_papers
from benchmark.store import Store
from methods.registry import names_in
from tests.benchmarks.peak import most_resident
from tests.benchmarks.suite import fill, write_copies

WRITERS = "reports.writers"
Made = TypeVar("Made")


def measured(folder: Path, profile: str) -> dict[str, dict[str, float]]:
    """Seconds and MiB by step, and the size of the suite in `folder`; for a fresh process only."""
    steps: dict[str, dict[str, float]] = {}

    def step(name: str, work: Callable[[], Made]) -> Made:
        begun = time.process_time()
        made = work()
        seconds = steps.get(name, {"s": 0.0})["s"] + time.process_time() - begun
        steps[name] = {"s": round(seconds, 2), "MiB": most_resident() >> 20}
        return made

    make_plan(load_papers()[0], profile)  # what is worked out once a process is no growth
    size = dict.fromkeys(("papers", "cells", "runs", "trials"), 0)
    store, reports = Store(folder / "store"), []
    steps["before"] = {"MiB": most_resident() >> 20}
    papers = deque(step("read the specs", lambda: load_papers(folder / "specs")))
    while papers:
        paper = papers.popleft()
        plan = step("plan", lambda: make_plan(paper, profile))  # noqa: B023
        reports.append(step("judge", lambda: judge(plan, store, command="fedrepro")))  # noqa: B023
        counts = (1, len(plan.cells), len(plan.runs), len(plan.trials_to_run()))
        for what, count in zip(size, counts, strict=True):
            size[what] += count
    for name in sorted(names_in(WRITERS), key="html".__eq__):  # the one that takes minutes last
        writer = importlib.import_module(f"{WRITERS}.{name}")
        place = folder / "report" / writer.FILE
        step(f"write {writer.FILE}", lambda: writer.write(reports, place))  # noqa: B023
        steps[f"write {writer.FILE}"]["MB"] = place.stat().st_size // 10**6
        print(f"  {name}: {steps}", file=sys.stderr)
    return {"size": dict(size), **steps}


def main(argv: list[str] | None = None) -> int:
    """Measures every size that is asked for; one line of JSON each."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("copies", type=int, nargs="+", help="how many times the five papers")
    options.add_argument("--profile", default="smoke")
    options.add_argument("--at", type=Path, help="measure the suite in this folder, once")
    chosen = options.parse_args(argv)
    if chosen.at is not None:
        print(json.dumps(measured(chosen.at, chosen.profile)))
        return 0
    for copies in chosen.copies:
        with TemporaryDirectory() as folder:
            write_copies(Path(folder) / "specs", copies)
            store = Store(Path(folder) / "store")
            for paper in load_papers(Path(folder) / "specs"):
                fill(store, make_plan(paper, chosen.profile))
            command = [sys.executable, "-m", "tests.benchmarks.scale", str(copies)]
            command += ["--profile", chosen.profile, "--at", folder]
            subprocess.run(command, check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
