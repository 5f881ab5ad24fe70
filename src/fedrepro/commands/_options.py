"""Options that several subcommands share.

Subcommands import what loads torch or scipy, or plans, where they need it: `fedrepro list` takes no
seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import re
import sys
import tomllib
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.printable import printable
from fedrepro.benchmark.spec import limits
from fedrepro.benchmark.spec.folders import Folders, hidden, searched
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.problems import InvalidSpecError, Problem
from fedrepro.benchmark.spec.settings import FIXED, PRECISION

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_S = 1e8
_ANYWHERE = (("local", "auto"), ("local", "cpu"))
"""Executor and device that every machine has, which is known without torch."""

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.plan import Plan
    from fedrepro.benchmark.planning.summary import TimeEstimator
    from fedrepro.benchmark.store.store import Store


def add_specs(parser: argparse.ArgumentParser) -> None:
    """Where specs of one's own lie."""
    parser.add_argument(
        "--specs",
        action="append",
        default=[],
        type=folder,
        metavar="DIR",
        help="folder of papers of your own, beside those that come along; may be given again "
        "(default: $FEDREPRO_TABLES, else ./tables)",
    )


def specs(given: argparse.Namespace) -> tuple[Path, ...]:
    """The folders in which papers are looked for, one's own first.

    Of the papers that the command is asked for it says which one of one's own hides another.

    Raises `SpecError` for a folder that is named and holds no paper.
    """
    folders = searched(given.specs)
    asked = getattr(given, "papers", None) or [getattr(given, "paper", None)]
    for id, (chosen, other) in hidden(folders).items():
        if id in asked or not any(asked):
            print(printable(f"{id} is read from {chosen}, not from {other}"), file=sys.stderr)
    return folders


def add_papers(parser: argparse.ArgumentParser) -> None:
    """Zero or more papers; none means all."""
    add_specs(parser)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="paper ids (default: all)")


def add_paper(parser: argparse.ArgumentParser) -> None:
    """One paper."""
    add_specs(parser)
    parser.add_argument("paper", metavar="PAPER", help="paper id, for example cpcfl")


def add_tables(parser: argparse.ArgumentParser, default: str = "all") -> None:
    """Which tables; `default` says which are taken where none is named."""
    parser.add_argument(
        "--tables",
        metavar="TABLES",
        type=comma_separated,
        help=f"tables and figures, comma-separated (3,A.13,figure-4); default: {default}",
    )


def add_cells(parser: argparse.ArgumentParser, tables: bool = True) -> None:
    """Which cells, how many trials, and under which profile.

    tables: with `--tables`; a command that is given its table in another way has it not.
    """
    if tables:
        add_tables(parser)
    parser.add_argument(
        "--rows", metavar="PATTERN", help="only rows such as 'CP-CFL|*' (labels joined by |)"
    )
    number = whole_number(1, limits.TRIALS)
    parser.add_argument("--trials", type=number, metavar="N", help="instead of the profile's")
    add_series(parser)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="reduced",
        help="how much is run: reduced (minutes; the default), paper (the published protocol), "
        "smoke (seconds), patient (as reduced, looked at with more and more trials)",
    )
    parser.add_argument("--on", metavar="SET", help="put the profile on this data set (mnist, ...)")
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="change a setting of every run (training.rounds=3); listed as a departure",
    )
    add_precision(parser)
    parser.add_argument(
        "--reading",
        dest="readings",
        action="extend",
        type=comma_separated,
        default=[],
        metavar="READING",
        help="take another reading of what the paper leaves open (see fedrepro readings PAPER)",
    )


def add_series(parser: argparse.ArgumentParser) -> None:
    """Which independent series of trials."""
    parser.add_argument(
        "--series",
        type=whole_number(0, limits.TRIALS),
        metavar="N",
        help="trials of another series, which shares no random number with the profile's",
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    """In which precision."""
    parser.add_argument(
        "--precision",
        choices=typing.get_args(FIXED[PRECISION]),
        help="in which numbers networks multiply, a reading where the paper does not say "
        "(default: the paper's, else float32)",
    )


def add_places(
    parser: argparse.ArgumentParser, out: str = "default: results/reports/PAPER-PROFILE"
) -> None:
    """Where data, stored trials and reports lie; `out` says where the report goes by itself."""
    add_data(parser)
    add_store(parser)
    parser.add_argument(
        "--out",
        type=folder,
        metavar="DIR",
        help=f"where the report goes ({out})",
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Where real data lie."""
    default_data = os.environ.get("FEDREPRO_DATA")
    parser.add_argument(
        "--data-dir",
        type=folder,
        default=Path(default_data) if default_data else None,
        metavar="DIR",
        help="folder of real data sets (default: $FEDREPRO_DATA)",
    )


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where stored trials lie."""
    parser.add_argument(
        "--store",
        type=folder,
        default=Path("results/store"),
        metavar="DIR",
        help="where finished trials are kept (default: results/store)",
    )


def add_execution(parser: argparse.ArgumentParser) -> None:
    """How trials are run."""
    parser.add_argument(
        "--jobs",
        type=whole_number(0),
        metavar="N",
        help="worker processes; 0 trains in this one (default: cores, or one for each GPU)",
    )
    parser.add_argument(
        "--device", default="auto", metavar="DEVICE", help="cpu, cuda, cuda:1 or auto (default)"
    )
    parser.add_argument(
        "--download", action="store_true", help="fetch missing data sets into --data-dir"
    )
    parser.add_argument(
        "--executor",
        default="local",
        metavar="EXECUTOR",
        help="where trials are trained: local (default) or parsl, for clusters (docs/cluster.md)",
    )
    parser.add_argument(
        "--cluster", type=Path, metavar="FILE", help="TOML file that describes the cluster"
    )
    parser.add_argument(
        "--time-limit",
        type=seconds,
        metavar="S",
        help="seconds after which a trial counts as hung; 0 for never "
        "(default: 20 times the longest finished one of its kind, at least 1800)",
    )
    parser.add_argument(
        "--checkpoint-every",
        type=seconds,
        default=300.0,
        metavar="S",
        help="seconds after which a trial saves itself before its next round or epoch, to go on "
        "from there when it is interrupted; 0 for never (default: 300)",
    )


def check_execution(given: argparse.Namespace) -> None:
    """Raises `FedreproError` for an executor, a device or a cluster that is not there.

    Whatever is stored: a command that has nothing to train refuses them too.
    """
    if "executor" not in given or (given.executor, given.device) in _ANYWHERE:
        return
    from fedrepro.benchmark.execution import executors
    from fedrepro.benchmark.execution.executors.base import ExecutorOptions

    options = ExecutorOptions(given.data_dir, given.device, given.jobs, given.cluster)
    executors.find(given.executor)(options)


def folder(text: str) -> Path:
    """The path of a folder; the empty text, which would be the working folder, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("the empty text names no folder")
    return Path(text)


def whole_number(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Reads a whole number that is neither below `least` nor above `most`."""

    def number(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= int(text) <= most:
                return int(text)
        limit = "" if most == math.inf else f" and at most {most}"
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}{limit}")

    return number


def seconds(text: str) -> float:
    """Seconds of `900`, `900s`, `15m`, `2h` or `1d`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)", text.strip(), re.ASCII)
    value = float(found[1]) * _UNITS[found[2]] if found else -1.0
    if not 0 <= value <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 15m, 900s or 2h")
    return value


def execution_options(given: argparse.Namespace) -> dict[str, Any]:
    """What `execute` and `rehearse` of `benchmark.execution.run` take of them."""
    names = ("data_dir", "device", "jobs", "executor", "cluster", "time_limit", "checkpoint_every")
    return {name: getattr(given, name) for name in names}


def comma_separated(text: str) -> list[str]:
    """The names in `3,A.13,figure-4`, at least one."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise argparse.ArgumentTypeError(f"'{text}' names nothing")
    return names


def parse_sets(pairs: list[str]) -> list[tuple[str, object]]:
    """`training.rounds=3` as (path, value); the value is read as TOML, or as text.

    Raises `FedreproError` for a pair without `=`, and for a value that exceeds `spec.limits`.
    """
    parsed: list[tuple[str, object]] = []
    for pair in pairs:
        path, separator, text = pair.partition("=")
        if not separator or not path:
            raise FedreproError(f"--set {pair}: expected PATH=VALUE, such as training.rounds=3")
        value: object = text
        # Besides wrong TOML: numbers of thousands of digits, and brackets by the thousand.
        with contextlib.suppress(ValueError, RecursionError):
            read = tomllib.loads(f"value = {text}")
            value = read["value"] if len(read) == 1 else text
        problem = limits.setting_problem(value)
        if problem is not None:
            raise FedreproError(f"--set {path.strip()}: {problem}")
        parsed.append((path.strip(), value))
    return parsed


def papers_with_profile(given: argparse.Namespace, root: Folders) -> Iterator[Paper]:
    """One by one, the papers named, or of all those with the profile; says which are left out.

    root: the folders that are searched (`specs`).

    Raises `InvalidSpecError` in the end with the mistakes of all specs.
    """
    problems: list[Problem] = []
    for id in dict.fromkeys(given.papers) or paper_ids(root):
        try:
            paper = load_paper(id, root)
        except InvalidSpecError as error:
            problems += error.problems
            continue
        if given.papers or given.profile in paper.profiles:
            yield paper
        else:
            skipped = f"{id} has no profile '{given.profile}': left out"
            print(printable(skipped), file=sys.stderr)
    if problems:
        raise InvalidSpecError(problems)


def refuse_selection(given: argparse.Namespace) -> None:
    """Raises `FedreproError` for options of `add_cells` that only one paper can have."""
    if given.tables or given.rows or given.on or given.sets or given.readings:
        names = "--tables, --rows, --on, --reading and --set"
        raise FedreproError(f"{names} need one paper: name it")


def chosen_plan(given: argparse.Namespace, paper: Paper) -> Plan:
    """The plan of a paper that the options of `add_cells` ask for.

    Raises `SpecError` for a name, a reading or a setting that does not exist.
    """
    from fedrepro.benchmark.planning.plan import make_plan
    from fedrepro.benchmark.spec.readings import under

    precision = [] if given.precision is None else [(PRECISION, given.precision)]
    return make_plan(
        under(paper, given.readings),
        given.profile,
        tables=given.tables,
        rows=given.rows,
        on=given.on,
        trials=given.trials,
        series=given.series,
        sets=[*parse_sets(given.sets), *precision],
    )


def estimator_for(given: argparse.Namespace, store: Store) -> TimeEstimator:
    """Learns from what is stored; asked for only if a trial is missing, or estimates are shown."""
    from fedrepro.benchmark.execution.executors.base import ExecutorOptions
    from fedrepro.benchmark.execution.executors.local import LocalExecutor
    from fedrepro.benchmark.planning.estimate import TrialTimes
    from fedrepro.benchmark.planning.summary import TimeEstimator
    from fedrepro.benchmark.training.training import device_name

    here = LocalExecutor(ExecutorOptions(None, given.device, given.jobs))
    name = device_name(here.device)
    return TimeEstimator(TrialTimes(name, store.records()), name, here.slots)
