"""Options that several subcommands share, and what they ask for.

A subcommand lists its arguments as data (`ARGUMENTS`); `cli` adds them to its parser. What loads
torch or scipy is imported where it is needed: `fedrepro list` takes no seconds.
"""

import argparse
import contextlib
import math
import re
import tomllib
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec import limits, names
from fedrepro.benchmark.spec.folders import hidden, searched
from fedrepro.benchmark.spec.load import load_paper, load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.settings import FIXED, PRECISION
from fedrepro.commands._terminal import complain

if TYPE_CHECKING:
    from fedrepro.benchmark.execution.executors import ExecutorOptions
    from fedrepro.benchmark.planning.estimate import TrialTimes
    from fedrepro.benchmark.planning.plan import Plan
    from fedrepro.benchmark.store.store import Store

Argument = Callable[[argparse._ActionsContainer], object]
"""Adds an option, or several that exclude each other, to a parser or a group of one."""
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST_S = 1e8
_ANYWHERE = ((None, "auto"), (None, "cpu"))
"""Cluster and device that every machine has, which is known without torch."""


def option(*names: str, **settings: Any) -> Argument:
    """An argument, as `argparse.ArgumentParser.add_argument` takes it."""
    return lambda parser: parser.add_argument(*names, **settings)


def flag(name: str, help: str) -> Argument:
    """An option without a value."""
    return option(name, action="store_true", help=help)


def folder(name: str, help: str, **settings: Any) -> Argument:
    """An option or argument that names a folder; the empty text is refused."""
    return option(name, type=_folder, metavar="DIR", help=help, **settings)


def file(name: str, help: str, **settings: Any) -> Argument:
    """An option that names a file."""
    return option(name, type=Path, metavar="FILE", help=help, **settings)


def _folder(text: str) -> Path:
    if not text:  # which would be the working folder
        raise argparse.ArgumentTypeError("a folder is needed, not an empty text")
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


def comma_separated(text: str) -> list[str]:
    """The names in `3,A.13,figure-4`, at least one."""
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise argparse.ArgumentTypeError(f"{text!r} has no name between its commas")
    return names


def tables(default: str = "all") -> Argument:
    """Which tables; `default` says which are taken where none is named."""
    told = f"tables and figures, comma-separated (3,A.13,figure-4); default: {default}"
    return option("--tables", type=comma_separated, help=told)


def out(default: str = "default: results/reports/PAPER-PROFILE") -> Argument:
    """Where the report goes; `default` says where by itself."""
    return folder("--out", f"where the report goes ({default})")


def trials(help: str) -> Argument:
    """How many trials."""
    return option("--trials", type=whole_number(1, limits.TRIALS), metavar="N", help=help)


def profile(help: str = "default: reduced") -> Argument:
    """How much is run."""
    return option("--profile", default="reduced", help=help)


SPECS = folder(
    "--specs",
    "folder of papers of your own, in addition to the bundled ones; may be given again "
    "(default: $FEDREPRO_TABLES, else ./tables)",
    action="append",
    default=[],
)
PAPER = (SPECS, option("paper", metavar="PAPER", help="paper id, for example cpcfl"))
PAPERS = (SPECS, option("papers", nargs="*", metavar="PAPER", help="paper ids (default: all)"))
DATA = folder("--data-dir", "folder of real data sets (default: $FEDREPRO_DATA)")
STORED = Path("results/store")
STORE = folder("--store", f"folder of finished trials (default: {STORED})", default=STORED)
PLACES = (DATA, STORE)
CELLS_OF_A_TABLE = (
    option("--rows", metavar="PATTERN", help="only rows such as 'CP-CFL|*' (labels joined by |)"),
    trials("number of trials, instead of the profile's"),
    option("--series", type=whole_number(0, limits.TRIALS), metavar="N",
        help="which series of trials: two share no random number (default: the profile's)"),
    profile("how much is run: reduced (minutes; the default), paper (the published protocol), "
        "smoke (seconds), patient (reduced, with more trials and interim analyses)"),
    option("--on", metavar="SET", help="train on this data set (mnist, ...), not on the "
        "profile's, or on data of your own (own.npz, own.csv, folder/, torchvision:KMNIST, "
        "mypackage.my_data)"),
    option("--set", dest="sets", action="append", default=[], metavar="PATH=VALUE",
        help="change a setting of every run (training.rounds=3); listed as a deviation"),
    option("--precision", choices=typing.get_args(FIXED[PRECISION]), help="number format in which "
        "networks multiply (default: the paper's, else float32)"),
    option("--reading", dest="readings", action="extend", type=comma_separated, default=[],
        metavar="READING", help="take another interpretation of what the paper leaves open "
        "(fedrepro readings lists them)"),
)  # fmt: skip
CELLS = (tables(), *CELLS_OF_A_TABLE)
"""Which cells, how many trials, and under which profile."""
EXECUTION = (
    option("--jobs", type=whole_number(0), metavar="N", help="worker processes; 0 trains in this "
        "one (default: cores, or one for each GPU)"),
    option("--device", default="auto", help="cpu, cuda, cuda:1 or auto (default)"),
    flag("--download", "fetch missing data sets into --data-dir"),
    option("-v", "--verbose", action="store_true", help="show the traceback of a failed trial"),
    file("--cluster", "train on the cluster that this TOML file describes (docs/cluster.md)"),
    option("--time-limit", type=seconds, metavar="S", help="seconds after which a trial counts as "
        "hung; 0 for never (default: 20 times the longest finished one of its kind, at least "
        "1800)"),
    option("--checkpoint-every", type=seconds, default=300.0, metavar="S", help="seconds after "
        "which a trial saves itself before its next round or epoch, to continue from there when "
        "it is interrupted; 0 for never (default: 300)"),
)  # fmt: skip
"""How trials are run."""


def check(args: argparse.Namespace) -> None:
    """Checks where trials would run, whatever is stored. Of commands that read specs, it says which
    names of other packages are left out. `FedreproError` for a missing device or cluster."""
    for told in names.left_out() if "specs" in args else ():
        complain(told)
    if "cluster" not in args or (args.cluster, args.device) in _ANYWHERE:
        return
    from fedrepro.benchmark.execution.run import executor_for

    executor_for(where(args))


def where(args: argparse.Namespace) -> "ExecutorOptions":
    """Where trials run; on nothing else does an executor depend."""
    from fedrepro.benchmark.execution.executors import ExecutorOptions

    return ExecutorOptions(args.data_dir, args.device, args.jobs, args.cluster)


def execution(args: argparse.Namespace) -> dict[str, Any]:
    """What `benchmark.execution.run.execute` takes of them."""
    names = "data_dir device jobs download verbose cluster time_limit checkpoint_every"
    return {name: getattr(args, name) for name in names.split()}


def specs(args: argparse.Namespace) -> tuple[Path, ...]:
    """The folders in which papers are looked for, one's own first; `SpecError` without a paper. Of
    the papers that the command is asked for it says which one of one's own hides another."""
    folders = searched(args.specs)
    asked = getattr(args, "papers", None) or [getattr(args, "paper", None)]
    for id, (chosen, other) in hidden(folders).items():
        if id in asked or not any(asked):
            complain(f"{id} is read from {chosen}, not from {other}")
    return folders


def paper(args: argparse.Namespace) -> Paper:
    """The paper that is named."""
    return load_paper(args.paper, specs(args))


def papers(args: argparse.Namespace) -> tuple[Paper, ...]:
    """Those named, or all."""
    return load_papers(specs(args), ids=args.papers)


def papers_with_profile(args: argparse.Namespace) -> Iterator[Paper]:
    """The papers named, or of all those with the profile; says which are left out."""
    for paper in papers(args):
        if args.papers or args.profile in paper.profiles:
            yield paper
        else:
            complain(f"{paper.id} has no profile '{args.profile}': left out")


def parse_sets(pairs: list[str]) -> list[tuple[str, object]]:
    """`training.rounds=3` as (path, value), read as TOML or text; `FedreproError` without `=`."""
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


def one_is_named(args: argparse.Namespace) -> bool:
    """Whether one paper is; else `FedreproError` for options that only one paper can have."""
    alone = len(args.papers) == 1
    if not alone and (args.tables or args.rows or args.on or args.sets or args.readings):
        found = f", not {' and '.join(args.papers)}" if args.papers else ": name it"
        names = "--tables (such as 3,5), --rows, --on, --reading and --set"
        raise FedreproError(f"{names} need one paper{found}")
    return alone


def plan(args: argparse.Namespace, paper: Paper) -> "Plan":
    """The plan of a paper that `CELLS` ask for; raises `SpecError`."""
    from fedrepro._calls import plan

    precision = [] if args.precision is None else [(PRECISION, args.precision)]
    names = ("tables", "rows", "on", "trials", "series", "readings", "data_dir")
    same = {name: getattr(args, name) for name in names}
    sets = [*parse_sets(args.sets), *precision]
    same["download"] = getattr(args, "download", False)
    return plan(paper, args.profile, sets=sets, **same)


def estimator_for(args: argparse.Namespace, store: "Store") -> "TrialTimes":
    """Learns from what is stored; asked for only if a trial is missing, or estimates are shown."""
    from fedrepro.benchmark.execution.executors.local import LocalExecutor
    from fedrepro.benchmark.planning.estimate import TrialTimes
    from fedrepro.benchmark.training.training import device_name

    here = LocalExecutor(where(args))
    return TrialTimes(device_name(here.device), store.records(), workers=here.workers or 1)
