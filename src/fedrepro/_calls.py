"""What a notebook or a script asks for: papers, a plan, a run, a judgement, a report."""

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedrepro._config import configured
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.external.exports import read_files
from fedrepro.benchmark.external.rows import Row, from_records
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.results import ProtocolScale
from fedrepro.benchmark.spec import limits, names
from fedrepro.benchmark.spec.folders import searched
from fedrepro.benchmark.spec.load import load_paper, load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.readings import under
from fedrepro.benchmark.store.store import Store

if TYPE_CHECKING:
    import pandas as pd

    from fedrepro._results import Results
    from fedrepro.benchmark.judging.evidence import Trials

_IN_PYTHON = Path("changed in Python", "paper.toml")
_WANTED: Mapping[str, tuple[Any, str]] = {
    "paper": ((str, Paper), "an id such as 'cpcfl'"),
    "profile": (str, "a name such as 'reduced'"),
    "tables": (Iterable, "ids such as ['3', 'A.13']"),
    "rows": (str, "one pattern such as 'CP-CFL|*'"),
    "on": (str, "a name such as 'mnist' or 'own.npz'"),
    "trials": (range(1, limits.TRIALS + 1), f"a whole number from 1 to {limits.TRIALS}"),
    "series": (range(limits.TRIALS + 1), f"a whole number from 0 to {limits.TRIALS}"),
    "jobs": (range(limits.SETTING), "a whole number of at least 0"),
    "readings": (Iterable, "names such as ['no-restarts']"),
    **dict.fromkeys(("data_dir", "store", "out"), ((str, PathLike), "a path")),
    "note": (str, "a text"),
}
"""By argument, of what types it may be, or which whole numbers, and how that is said."""


def papers() -> "pd.DataFrame":
    """One's own papers and the bundled ones, by id; `SpecError` for specs that are wrong."""
    import pandas as pd

    rows = {
        paper.id: {
            "title": paper.title,
            "year": paper.year,
            "tables": len(paper.printed),
            "cells": sum(len(table.cells) for table in paper.printed),
            "claims": sum(len(table.claims) for table in paper.printed),
            "profiles": ", ".join(paper.profiles),
            "address": paper.address,
        }
        for paper in load_papers(searched())
    }
    return pd.DataFrame(rows.values(), index=pd.Index(rows, name="paper"))


def plan(
    paper: str | Paper,
    profile: str | None = None,
    *,
    tables: Sequence[str] | str | None = None,
    rows: str | None = None,
    on: str | None = None,
    trials: int | None = None,
    series: int | None = None,
    sets: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
    readings: Sequence[str] = (),
    data_dir: Path | str | None = None,
    download: bool = False,
) -> Plan:
    """What a run would train: `.runs` are unique, `.cells` say which run each cell reads.

    `paper`: an id such as "cpcfl", of a paper in $FEDREPRO_TABLES, else `./tables`, or a bundled
    one. `profile`: how much is run; None for that of `fedrepro.toml`, else reduced. `tables`: ids,
    None for all. `rows`: a pattern such as "CP-CFL|*". `on`: a data set of the profile, or data of
    your own. `trials`, `series`: instead of the profile's. `sets`: changed settings by dotted path.
    `readings`: of what the paper leaves open. `data_dir`, `download`: of data of your own, as of
    `run`.

    Raises `SpecError` for a name or a setting that does not exist."""
    _refuse_others(locals())
    folder = data_dir or configured().get("data-dir")
    try:
        changes = {path.strip(): value for path, value in dict(sets or {}).items()}
    except (AttributeError, TypeError, ValueError):
        said = f"sets must be such as {{'training.rounds': 3}}, not {sets!r}"
        raise FedreproError(said) from None
    return make_plan(
        under(_paper(paper), _ids(readings) or ()),
        configured().get("profile", "reduced") if profile is None else profile,
        tables=_ids(tables),
        rows=rows,
        on=on,
        trials=trials,
        series=series,
        sets=changes,
        data_dir=Path(folder) if folder else None,
        download=download,
    )


def run(
    paper: str | Paper,
    profile: str | None = None,
    *,
    store: Path | str | None = None,
    data_dir: Path | str | None = None,
    jobs: int | None = None,
    device: str | None = None,
    download: bool = False,
    progress: bool = True,
    **selection: Any,
) -> "Results":
    """Trains what the store lacks, and judges every cell; `fedrepro run` in Python.

    `store`: the folder of finished trials, which are not trained again. `data_dir`: of real data
    sets; $FEDREPRO_DATA by default. `jobs`: worker processes, 0 for this one, None for one a core.
    What is None is taken from `fedrepro.toml` or pyproject.toml in the working folder first.
    Workers import nothing of the script that calls this, so that it needs no `if __name__ ==
    "__main__"`. `progress`: whether standard error shows it. `selection`: as of `plan`.

    Raises `FedreproError` for unknown names and an unwritable store, not for a trial that fails."""
    from rich.console import Console

    from fedrepro.benchmark.execution.display import Display
    from fedrepro.benchmark.execution.run import execute
    from fedrepro.benchmark.judging.evidence import load_trials

    clock, ours, kept = time.perf_counter(), configured(), _store(store)
    jobs = ours.get("jobs") if jobs is None else jobs
    _refuse_others({"jobs": jobs})
    chosen = plan(paper, profile, data_dir=data_dir, download=download, **selection)
    done = execute(
        chosen,
        kept,
        data_dir=chosen.data_dir,
        device=device or ours.get("device", "auto"),
        jobs=jobs,
        download=download,
        progress=Display() if progress else Display(Console(quiet=True)),
    )
    wall_s = time.perf_counter() - clock
    return _judged(chosen, load_trials(chosen, kept, done.not_run), "run", wall_s)


def stored(
    paper: str | Paper,
    profile: str | None = None,
    *,
    store: Path | str | None = None,
    stale: bool = False,
    **selection: Any,
) -> "Results":
    """Judges what a store holds, and trains nothing; takes and raises otherwise what `run` does.
    `stale`: whether trials of earlier code stand in for missing ones; the report says so then."""
    from fedrepro.benchmark.judging.evidence import load_trials

    chosen, kept = plan(paper, profile, **selection), _store(store)
    return _judged(chosen, load_trials(chosen, kept, include_stale=stale), "stored")


def judge(
    paper: str | Paper,
    results: "pd.DataFrame | Path | str | Sequence[Path | str]",
    *,
    tables: Sequence[str] | str | None = None,
    protocol: ProtocolScale = "scaled",
    note: str = "",
    audit: bool = True,
) -> "Results":
    """Judges results that were made elsewhere; `fedrepro judge` in Python.

    `results`: files (CSV, a TOML map of exports: docs/your-results.md), or a data frame with
    columns table, row, column, seed and value; metric, unit and round may be there. `tables`: ids;
    None for those that have results. `protocol`, `note`: how the numbers were made, as you declare
    it. Only "full", the published protocol, is compared with the published values. `audit`: whether
    to seek contradictions among the printed numbers, which takes seconds.

    Raises `FedreproError` for a file that cannot be read, and results that belong to no cell."""
    from fedrepro._results import Results
    from fedrepro.benchmark.judging.external import judge_external

    _refuse_others(locals())
    if protocol not in ("full", "scaled"):
        raise FedreproError(f"protocol must be 'full' or 'scaled', not {protocol!r}")
    found = _paper(paper)
    several: Any = [results] if isinstance(results, (str, Path)) else results
    named = isinstance(several, Sequence) and all(isinstance(one, (str, Path)) for one in several)
    files = [Path(one) for one in several] if named else []
    names = [file.name for file in files]
    report = judge_external(
        found,
        read_files(files, found) if files else _rows(results, found),
        command=f"fedrepro.judge({found.id!r}, {', '.join(names) or 'a data frame'})",
        tables=_ids(tables),
        protocol=protocol,
        note=note,
        files=names,
        audit=audit,
    )
    return Results(report)


def report(what: "Results | str | Sequence[Results]", out: Path | str) -> Path:
    """Writes a report in every format to the folder `out`, and gives the path of its HTML. `what`:
    judged results, one or several, or the id of a paper, whose reduced profile is taken. Raises
    `FedreproError` if the folder cannot be written."""
    from fedrepro._results import Results
    from fedrepro.reports.publish import write_report

    _refuse_others({"out": out})
    one = stored(what) if isinstance(what, str) else what
    several = [one] if isinstance(one, Results) else [*one] if isinstance(one, Iterable) else []
    if not several or not all(isinstance(each, Results) for each in several):
        raise FedreproError(f"what must be judged results, or a paper's id, not {what!r}")
    write_report([each.report for each in several], out)
    return Path(out) / "report.html"


def _refuse_others(given: Mapping[str, Any]) -> None:
    """`FedreproError` for the first argument that is not as `_WANTED` has it; None is a default."""
    for name, value in given.items():
        wanted, told = _WANTED.get(name, (object, ""))
        is_whole = isinstance(wanted, range)
        fits = type(value) is int and value in wanted if is_whole else isinstance(value, wanted)
        if not fits and (value is not None or name in ("paper", "out")):
            raise FedreproError(f"{name} must be {told}, not {value!r}")


def _paper(paper: str | Paper) -> Paper:
    """The paper with that id; warns of names that entry points of other packages give in vain. One
    that is not as its file has it is of no file, so that reports say so."""
    for told in names.left_out():
        warnings.warn(told, stacklevel=3)
    if isinstance(paper, str):
        return load_paper(paper, searched())
    if paper.file.is_file():
        written = under(load_paper(paper.id, paper.file.parent.parent), paper.readings)
        if repr(written) == repr(paper):  # a paper is compared by identity
            return paper
    first = paper.as_taken and replace(paper.as_taken, file=_IN_PYTHON)
    return replace(paper, file=_IN_PYTHON, as_taken=first)


def _ids(tables: Sequence[str] | str | None) -> Sequence[str] | None:
    return tables.split(",") if isinstance(tables, str) else tables and [*map(str, tables)]


def _store(folder: Path | str | None) -> Store:
    _refuse_others({"store": folder})
    return Store(Path(folder or configured().get("store", "results/store")), warn=warnings.warn)


def _judged(chosen: Plan, trials: "Trials", call: str, wall_s: float = 0.0) -> "Results":
    from fedrepro._results import Results
    from fedrepro.benchmark.judging.judge import judge

    command = f"fedrepro.{call}({chosen.paper.id!r}, {chosen.profile.name!r})"
    return Results(judge(chosen, trials, command=command, wall_s=wall_s))


def _rows(results: Any, paper: Paper) -> list[Row]:
    """The rows of a data frame; a missing value is a trial that is not there."""
    import pandas as pd

    if not isinstance(results, pd.DataFrame):
        raise FedreproError(f"results must be files or a data frame, not {type(results).__name__}")
    known = results.astype(object).where(results.notna(), None).to_dict("records")
    named = ({str(name): value for name, value in one.items()} for one in known)
    return from_records(((f"row {i}", one) for i, one in enumerate(named)), paper.id)
