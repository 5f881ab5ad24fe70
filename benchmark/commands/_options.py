"""Options that several subcommands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.printable import printable

if TYPE_CHECKING:
    from fedrepro.benchmark.planning.plan import Plan
    from fedrepro.benchmark.spec.model import Paper


def add_papers(parser: argparse.ArgumentParser) -> None:
    """Zero or more papers; none means all."""
    parser.add_argument("papers", nargs="*", metavar="PAPER", help="paper ids (default: all)")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which cells of one paper, under which profile."""
    parser.add_argument("paper", metavar="PAPER", help="paper id, for example cpcfl")
    add_cells(parser)


def add_cells(parser: argparse.ArgumentParser) -> None:
    """Which cells, and under which profile."""
    parser.add_argument(
        "--tables",
        metavar="LIST",
        type=comma_separated,
        help="tables and figures, comma-separated (3,A.13,figure-4); default: all",
    )
    parser.add_argument(
        "--rows", metavar="PATTERN", help="only rows such as 'CP-CFL|*' (labels joined by |)"
    )
    parser.add_argument(
        "--profile",
        default="reduced",
        help="how much is run: reduced (minutes), paper (the published protocol), smoke (seconds)",
    )
    parser.add_argument("--on", metavar="SET", help="put the profile on this data set (mnist, ...)")
    parser.add_argument("--trials", type=trials, metavar="N", help="instead of the profile's")
    parser.add_argument(
        "--set",
        dest="sets",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="change a setting of every run (training.rounds=3); listed as a departure",
    )


def add_places(parser: argparse.ArgumentParser) -> None:
    """Where data, stored trials and reports lie."""
    default_data = os.environ.get("FEDREPRO_DATA")
    parser.add_argument(
        "--data-dir",
        type=folder,
        default=Path(default_data) if default_data else None,
        metavar="DIR",
        help="folder of real data sets (default: $FEDREPRO_DATA)",
    )
    parser.add_argument(
        "--store",
        type=folder,
        default=Path("results/store"),
        metavar="DIR",
        help="where finished trials are kept (default: results/store)",
    )
    parser.add_argument(
        "--out",
        type=folder,
        metavar="DIR",
        help="where the report goes (default: results/reports/PAPER-PROFILE)",
    )


def add_execution(parser: argparse.ArgumentParser) -> None:
    """How trials are run."""
    parser.add_argument(
        "--jobs",
        type=not_negative,
        default=None,
        metavar="N",
        help="worker processes; 0 trains in this one (default: cores)",
    )
    parser.add_argument(
        "--device", default="auto", metavar="NAME", help="cpu, cuda, cuda:1 or auto (default)"
    )
    parser.add_argument(
        "--download", action="store_true", help="fetch missing data sets into --data-dir"
    )
    parser.add_argument(
        "--executor",
        default="local",
        metavar="NAME",
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
        "(default: 20 times its estimate, at least 1800)",
    )


def folder(text: str) -> Path:
    """The path of a folder; the empty text, which would be the working folder, is refused."""
    if not text:
        raise argparse.ArgumentTypeError("the empty text names no folder")
    return Path(text)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not at least 1")
    return number


def trials(text: str) -> int:
    """A number of trials that a plan takes."""
    from fedrepro.benchmark.spec import limits

    number = positive(text)
    if number > limits.TRIALS:
        raise argparse.ArgumentTypeError(f"{text} is more than {limits.TRIALS}")
    return number


def not_negative(text: str) -> int:
    """A whole number of at least 0."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is not at least 0")
    return number


def seconds(text: str) -> float:
    """A finite number of at least 0."""
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return number


def execution_options(given: argparse.Namespace) -> dict[str, Any]:
    """What `benchmark.execution.run.execute` and `rehearse` take of the options of
    `add_execution`."""
    names = ("data_dir", "device", "jobs", "executor", "cluster", "time_limit")
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
    import contextlib
    import tomllib

    from fedrepro.benchmark.spec import limits

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


def chosen_papers(ids: Sequence[str]) -> tuple[Paper, ...]:
    """The papers called `ids`, or all.

    Raises `SpecError` for a paper that has no spec.
    """
    from fedrepro.benchmark.spec.load import load_paper, load_papers

    if not ids:
        return load_papers()
    return tuple(load_paper(id) for id in ids)


def print_skipped(paper: str, profile: str) -> None:
    """Says of one of all papers that it lacks the profile."""
    print(printable(f"{paper} has no profile '{profile}': left out"), file=sys.stderr)


def refuse_selection(given: argparse.Namespace) -> None:
    """Raises `FedreproError` for options of `add_cells` that only one paper can have."""
    if given.tables or given.rows or given.on or given.sets:
        raise FedreproError("--tables, --rows, --on and --set need one paper: name it")


def chosen_plan(given: argparse.Namespace, paper: Paper | None = None) -> Plan:
    """The plan that the options of `add_selection` ask for; `paper` where it has been read.

    Raises `SpecError` for a name or a setting that does not exist.
    """
    from fedrepro.benchmark.planning.plan import make_plan
    from fedrepro.benchmark.spec.load import load_paper

    return make_plan(
        load_paper(given.paper) if paper is None else paper,
        given.profile,
        tables=given.tables,
        rows=given.rows,
        on=given.on,
        trials=given.trials,
        sets=parse_sets(given.sets),
    )
