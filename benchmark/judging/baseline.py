"""Regression guard: a report against the recorded one of the same paper and profile.

Seed k is the same trial in both, so values are compared by seed. A cell's mean has left its
tolerance if it moved by more than

    max(s / sqrt(n), min(t * sd(d) / sqrt(n), t' * sqrt((s^2 + s'^2) / n)))

with d the n differences by seed, s and s' the deviations of the recorded and the new trials, and
t, t' two-sided 1 % points of Student's t with n - 1 and 2n - 2 degrees of freedom. The second part
asks whether the move could be chance, paired where pairing still helps and unpaired where an edit
has redrawn all random numbers; the first lets pass what is smaller than the recorded mean's own
standard error. With one trial the tolerance is zero.

Trials that start from one shared pre-training, as CP-CFL's do, vary less than pre-training itself:
an edit that trains another encoder can leave the tolerance by rounding alone.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.results import CellResult, Report, RunSummary
from fedrepro.benchmark.stats.tost import t_quantile
from fedrepro.benchmark.store.files import write_whole
from fedrepro.benchmark.store.fingerprint import changed

SCHEMA = 1
LEVEL = 0.01
_EXACT = 1e-9
_GOOD = ("REPRODUCED", "COMPATIBLE", "EXACT")
_HEAD = ("paper", "profile", "on")
_TABLES = ("cells", "claims", "sources")


@dataclass(frozen=True)
class Movement:
    """Something that differs from the baseline.

    what: `value`, `verdict` or `claim`. where: `3: CP-CFL|SimCLR @ T = 25`, or a claim's `3: id`.
    difference, tolerance: of a value's mean, in the cell's unit. regression: beyond tolerance, or
    a worse word; other movements are told, but pass. files: edited since the baseline.
    """

    what: Literal["value", "verdict", "claim"]
    where: str
    before: str
    after: str
    regression: bool
    difference: float | None = None
    tolerance: float | None = None
    files: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The movement in one line."""
        size = ""
        if self.difference is not None and self.tolerance is not None:
            side = "beyond" if self.regression else "within"
            size = f" ({self.difference:+.3g}, {side} the tolerance of {self.tolerance:.3g})"
        return f"{self.where}: {self.what} {self.before} -> {self.after}{size}"


def told(paper: str, movements: Sequence[Movement], paint: Callable[[str], str]) -> Iterator[str]:
    """Lines for a terminal: what moved, last what regressed, then the edits behind them.

    Hundreds of cells may hang on the same edited files, which are therefore named once.
    """
    for movement in sorted(movements, key=lambda one: one.regression):
        word = paint("REGRESSED") if movement.regression else "moved    "
        yield f"{word} {paper} {movement.sentence}"
    edits = Counter(file for one in movements for file in one.files)
    if edits:
        files = ", ".join(f"{file} ({n})" for file, n in edits.most_common())
        yield f"{paper}: edited since the baseline, and behind how many of these: {files}"
    regressed = sum(one.regression for one in movements)
    yield f"{paper}: {regressed} regressed, {len(movements) - regressed} moved within tolerance"


def record(report: Report) -> dict[str, Any]:
    """What later reports are compared with, as plain data.

    Raises `FedreproError` for a report without a single reproduced number.
    """
    cells: dict[str, dict[str, Any]] = {
        _place(table.id, cell): {
            "trials": list(cell.trials),
            "verdict": cell.verdict.word,
            "run": cell.run,
        }
        for table in report.tables
        for cell in table.cells
    }
    if not any(_values(cell["trials"]) for cell in cells.values()):
        raise FedreproError("a baseline needs trained cells; this report has none")
    return {
        "schema": SCHEMA,
        **{name: getattr(report, name) for name in _HEAD},
        "created": report.provenance.created,
        "commit": report.provenance.commit,
        "device": report.provenance.device,
        "cells": cells,
        "claims": dict(_claims(report)),
        "sources": {run.key: dict(run.source) for run in report.runs if run.source},
    }


def compare(baseline: Mapping[str, Any], report: Report) -> list[Movement]:
    """How `report` differs from `baseline`; an empty list says that nothing moved.

    Tables and rows that the report leaves out are not compared.

    Raises `FedreproError` for a baseline of another paper, profile, data set or schema, or one
    that shares no trained cell with the report: a gate that measures nothing must not pass.
    """
    _check_head(baseline, report)
    runs = {run.key: run for run in report.runs}
    movements: list[Movement] = []
    shared = 0
    for table in report.tables:
        for cell in table.cells:
            old = baseline["cells"].get(_place(table.id, cell))
            if old is None:
                continue
            shared += bool(_values(old["trials"]))
            files = _edited(baseline, old["run"], runs.get(cell.run or ""))
            movements += _moved(_place(table.id, cell), old, cell, files)
    if not shared:
        raise FedreproError("the baseline shares no trained cell with this report")
    for where, word in _claims(report):
        before = baseline["claims"].get(where)
        if before is not None and before != word:
            worse = before == "HOLDS" or word == "REVERSED"
            movements.append(Movement("claim", where, before, word, worse))
    return movements


def tolerance(old: Sequence[float], new: Sequence[float]) -> float:
    """How far a mean may move, from values of the same seeds; the rule is the module's."""
    n = len(old)
    if n < 2:
        return 0.0
    before, after = float(np.std(old, ddof=1)), float(np.std(new, ddof=1))
    spread = float(np.std(np.subtract(new, old), ddof=1))
    paired = t_quantile(1 - LEVEL / 2, n - 1) * spread / math.sqrt(n)
    unpaired = t_quantile(1 - LEVEL / 2, 2 * n - 2) * math.sqrt((before**2 + after**2) / n)
    return max(before / math.sqrt(n), min(paired, unpaired))


def path_for(root: Path, paper: str, profile: str, on: str | None) -> Path:
    """Where a baseline lies: `<root>/cpcfl-reduced.json`, `<root>/cpcfl-reduced-mnist.json`."""
    return root / ("-".join(filter(None, (paper, profile, on))) + ".json")


def save(path: Path, report: Report) -> None:
    """Writes the baseline of `report`, replacing an older one.

    Raises `FedreproError` if nothing was trained or the file cannot be written.
    """
    text = json.dumps(record(report), indent=1, sort_keys=True, allow_nan=False) + "\n"
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise FedreproError(f"cannot write the baseline {path}: {error.strerror}") from None


def load(path: Path) -> dict[str, Any]:
    """A recorded baseline.

    Raises `FedreproError` if there is none, or it is damaged or of another schema.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FedreproError(f"there is no baseline {path}; record one first") from None
    except (OSError, ValueError) as error:
        raise FedreproError(f"cannot read the baseline {path}: {error}") from None
    plain: dict[str, Any] = found if isinstance(found, dict) else {}
    lacks = [key for key in _HEAD if key not in plain]
    lacks += [key for key in _TABLES if not isinstance(plain.get(key), dict)]
    if lacks:
        raise FedreproError(f"{path} is no baseline: it lacks '{lacks[0]}'")
    for place, cell in plain["cells"].items():
        if not isinstance(cell, dict) or not cell.keys() >= {"trials", "verdict", "run"}:
            raise FedreproError(f"{path} is damaged at cell '{place}'; record it again")
    return plain


def _check_head(baseline: Mapping[str, Any], report: Report) -> None:
    if baseline.get("schema") != SCHEMA:
        raise FedreproError(
            f"the baseline has schema {baseline.get('schema')}, this version reads {SCHEMA}"
        )
    for name in _HEAD:
        recorded, here = baseline[name], getattr(report, name)
        if recorded != here:
            raise FedreproError(f"the baseline's {name} is {recorded}, this report's is {here}")


def _moved(
    where: str, old: Mapping[str, Any], cell: CellResult, files: tuple[str, ...]
) -> Iterator[Movement]:
    word = cell.verdict.word
    if old["verdict"] != word:
        lost = bool(_values(old["trials"])) and not _values(cell.trials)
        worse = lost or (old["verdict"] in _GOOD and word not in _GOOD) or word == "DISCREPANT"
        yield Movement("verdict", where, old["verdict"], word, worse, files=files)
    before, after = _values(old["trials"]), _values(cell.trials)
    seeds = sorted(before.keys() & after.keys())
    if not seeds:
        return
    a, b = [before[seed] for seed in seeds], [after[seed] for seed in seeds]
    if max(abs(x - y) for x, y in zip(a, b, strict=True)) <= _EXACT:
        return
    difference, allowed = float(np.mean(b) - np.mean(a)), tolerance(a, b)
    yield Movement(
        "value",
        where,
        f"{np.mean(a):.4g}",
        f"{np.mean(b):.4g}",
        abs(difference) > max(allowed, _EXACT),
        difference,
        allowed,
        files,
    )


def _edited(
    baseline: Mapping[str, Any], run: str | None, now: RunSummary | None
) -> tuple[str, ...]:
    """Files of the cell's run that differ; none where either side has no source on record."""
    then = baseline["sources"].get(run, {})
    return tuple(changed(then, now.source)) if then and now is not None and now.source else ()


def _values(trials: Sequence[float | None]) -> dict[int, float]:
    return {seed: value for seed, value in enumerate(trials) if value is not None}


def _place(table: str, cell: CellResult) -> str:
    return f"{table}: {'|'.join(cell.row)} @ {'|'.join(cell.column)}"


def _claims(report: Report) -> Iterator[tuple[str, str]]:
    for table in report.tables:
        for claim in table.claims:
            yield f"{table.id}: {claim.id}", claim.word
