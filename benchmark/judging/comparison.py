"""What moved between two judged reports, or between a recorded baseline and a report.

Seed k is the same trial on both sides, so values are compared by seed. A cell's mean has left its
tolerance if it moved by more than

    max(s / sqrt(n), min(t * sd(d) / sqrt(n), t' * sqrt((s^2 + s'^2) / n)))

with d the n differences by seed, s and s' the deviations of the earlier and the later trials, and
t, t' two-sided 1 % points of Student's t with n - 1 and 2n - 2 degrees of freedom. The second part
asks whether the move could be chance, paired where pairing still helps and unpaired where an edit
has redrawn all random numbers; the first lets pass what is smaller than the earlier mean's own
standard error. With one trial the tolerance is zero.

Trials that start from one shared pre-training, as CP-CFL's do, vary less than pre-training itself:
an edit that trains another encoder can leave the tolerance by rounding alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, field, replace
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ..errors import FedreproError
from ..plain import as_plain
from ..results import Report
from ..stats.t_tests import t_quantile
from ..store.files import path_segment, write_whole
from .scoreboard import scoreboard

Values = Sequence[float] | NDArray[np.float64]
Sources = Mapping[str, Mapping[str, str]]
Read = TypeVar("Read")
SCHEMA = 2
REPORTS = 2
"""The schemas of baselines and of reports."""
LEVEL = 0.01
ABSENT = "absent"
_EXACT = 1e-9
_RANKS = {"HOLDS": 3, "PASS": 3, "SAME DIRECTION": 2, "OPPOSITE": 0, "FAIL": 0}
"""Of claims and tables; a lower rank is worse. All other words are between."""
_STRICT = ConfigDict(strict=True, allow_inf_nan=False)
"""For what is read back: no type is guessed, and no number is infinite or none."""


def _by_file(sources: Any) -> Any:
    """The hashes of each file, also from schema 1, which holds them by run."""
    if not isinstance(sources, dict) or not all(isinstance(one, dict) for one in sources.values()):
        return sources
    found: dict[str, list[Any]] = {}
    for source in sources.values():
        for file, content in source.items():
            known = found.setdefault(file, [])
            if content not in known:
                known.append(content)
    return found


@dataclass(frozen=True, config=_STRICT)
class RecordedCell:
    """A cell of a baseline.

    Attributes:
        trials: by seed in order, None where one is missing.
    """

    trials: tuple[float | None, ...]
    verdict: str
    run: str | None

    @property
    def by_seed(self) -> dict[int, float]:
        return {seed: value for seed, value in enumerate(self.trials) if value is not None}


@dataclass(frozen=True, config=_STRICT)
class Recorded:
    """A judged report as a baseline keeps it, and as reports are compared.

    Attributes:
        cells: by place, `3: CP-CFL|SimCLR @ T = 25`.
        claims: their words by place, `3: id`.
        tables: their words by id; none in older baselines.
        sources: by file of the code, its SHA-256; several where several versions made the runs.
        series: of its trials; None in older baselines, which do not say.
    """

    paper: str
    profile: str
    on: str | None
    created: str
    commit: str | None
    device: str
    cells: dict[str, RecordedCell]
    claims: dict[str, str]
    sources: Annotated[dict[str, list[str]], BeforeValidator(_by_file)]
    schema: int = SCHEMA
    series: int | None = None
    tables: dict[str, str] = field(default_factory=dict)


@plain_dataclass(frozen=True)
class Movement:
    """One thing that is not the same on both sides.

    Attributes:
        where: the cell, `3: CP-CFL|SimCLR @ T = 25`, the claim, `3: id`, or the table, `3`.
        before: word, or mean as text; 'absent' where the side lacks it.
        after: the same of the later side.
        difference: of the means, in the cell's unit.
        regression: beyond tolerance, or a worse word; a baseline lets other movements pass.
        tolerance: of the difference.
        files: edited in between, of the code behind the cell.
    """

    what: Literal["value", "verdict", "claim", "table"]
    where: str
    before: str
    after: str
    difference: float | None = None
    regression: bool = False
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


@plain_dataclass(frozen=True)
class BaselineCheck:
    """One paper against its baseline.

    Attributes:
        places: every cell, table and claim of the baseline that was compared, as in
            `Movement.where`.
        failed: trials that failed here, a sentence each.
    """

    baseline: Recorded
    places: tuple[str, ...]
    movements: tuple[Movement, ...]
    failed: tuple[str, ...]

    @property
    def regressions(self) -> tuple[Movement, ...]:
        return tuple(one for one in self.movements if one.regression)

    @property
    def passed(self) -> bool:
        """Whether nothing regressed and no trial failed."""
        return not self.regressions and not self.failed


def recorded(report: Report) -> Recorded:
    """A judged report as a baseline keeps it."""
    return _recorded(as_plain(report))


def compare(before: Recorded, after: Recorded, source: Sources | None = None) -> list[Movement]:
    """What moved in the tables that both sides have; an empty list says that nothing did.

    source: by run key of the later side, the SHA-256 of each file of its code; if given, movements
    name the files that were edited in between.

    Raises `FedreproError` if they have no table in common: that would compare nothing.
    """
    shared = _tables(before) & _tables(after)
    if not shared:
        raise FedreproError("the two sides share no table of one paper and profile")
    found: list[Movement] = []
    for place in dict.fromkeys((*before.cells, *after.cells)):
        if _table(place) in shared:
            old, new = before.cells.get(place), after.cells.get(place)
            code = (source or {}).get("" if new is None else new.run or "", {})
            edited = [file for file, now in code.items() if now not in before.sources.get(file, ())]
            found += _moved(place, old, new, tuple(sorted(edited)) if before.sources else ())
    found += _reworded("table", before.tables, after.tables, shared)
    return found + _reworded("claim", before.claims, after.claims, shared)


def check(baseline: Recorded, report: Report) -> BaselineCheck:
    """A report against its baseline.

    Raises `FedreproError` for a baseline of another paper, profile, data set or series. So it does
    for one that shares no trained cell with the report: a gate that measures nothing must not pass.
    """
    for name in ("paper", "profile", "on", "series"):
        then, here = getattr(baseline, name), getattr(report, name)
        if then != here and (name, then) != ("series", None):
            raise FedreproError(f"the baseline's {name} is {then}, this report's is {here}")
    now = recorded(report)
    if not any(cell.by_seed and place in now.cells for place, cell in baseline.cells.items()):
        raise FedreproError("the baseline shares no trained cell with this report")
    shared = _tables(baseline) & _tables(now)
    trained = {
        place for one in (baseline, now) for place, cell in one.cells.items() if cell.by_seed
    }
    cells = (place for place in baseline.cells if place in trained)
    places = (*cells, *baseline.tables, *baseline.claims)
    return BaselineCheck(
        baseline,
        tuple(place for place in places if _table(place) in shared),
        tuple(compare(baseline, now, {run.key: run.source for run in report.runs})),
        scoreboard(report).failed,
    )


def tolerance(old: Values, new: Values) -> float:
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
    """The file of a baseline: `<root>/cpcfl-reduced.json`, `<root>/cpcfl-reduced-mnist.json`.

    Raises `FedreproError` for a name that would lead out of `root`.
    """
    return root / path_segment("-".join(filter(None, (paper, profile, on))) + ".json")


def save(path: Path, baseline: Recorded) -> None:
    """Writes a baseline, replacing an older one.

    Raises `FedreproError` if nothing was trained or the file cannot be written.
    """
    if not any(cell.by_seed for cell in baseline.cells.values()):
        raise FedreproError("a baseline needs trained cells; this report has none")
    plain = asdict(baseline) | {"schema": SCHEMA}
    try:
        write_whole(path, (json.dumps(plain, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise FedreproError(f"cannot write the baseline {path}: {error.strerror}") from None


def load(path: Path) -> Recorded:
    """A recorded baseline; one of an older schema is compared by its values alone.

    Raises `FedreproError` if there is none, it is damaged, or a newer version wrote it.
    """
    found = _read(TypeAdapter(Recorded), path, "baseline")
    if found.schema < SCHEMA:
        found = _values_alone(found)
    if found.schema > SCHEMA:
        raise FedreproError(
            f"the baseline {path} has schema {found.schema}, this version reads up to {SCHEMA}"
        )
    return found


def _values_alone(older: Recorded) -> Recorded:
    """A baseline without its words, which older rules gave."""
    cells = {place: replace(cell, verdict="") for place, cell in older.cells.items()}
    return replace(older, cells=cells, claims={}, tables={})


def read_reports(path: Path) -> list[Recorded]:
    """The reports in a `report.json`, in what is compared of them.

    Raises `FedreproError` if it cannot be read or is no report.
    """
    found = _read(TypeAdapter(list[dict[str, Any]] | dict[str, Any]), path, "fedrepro report")
    reports = found if isinstance(found, list) else [found]
    for one in reports:
        if one.get("schema", REPORTS) != REPORTS:
            raise FedreproError(
                f"{path} has schema {one['schema']} of reports, this version reads {REPORTS}: "
                "make it again with `fedrepro report`"
            )
    try:
        return [_recorded(one) for one in reports]
    except ValidationError as error:
        raise _problem(error, path, "fedrepro report") from None
    except (KeyError, TypeError) as error:
        raise FedreproError(f"{path} is no fedrepro report: {error!r}") from None


def _read(kind: TypeAdapter[Read], path: Path, what: str) -> Read:
    """The content of a JSON file, of the type `kind`; raises `FedreproError` for any other."""
    try:
        return kind.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise FedreproError(f"there is no {what} {path}") from None
    except OSError as error:
        raise FedreproError(f"cannot read the {what} {path}: {error.strerror}") from None
    except ValidationError as error:
        raise _problem(error, path, what) from None


def _problem(error: ValidationError, path: Path, what: str) -> FedreproError:
    first: Any = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    problem = " ".join(f"{place}: {first['msg']}".removeprefix(": ").split())
    return FedreproError(f"{path} is no {what}: {problem}")


def _recorded(report: Mapping[str, Any]) -> Recorded:
    """A report as plain data, in what is compared of it."""
    made = report["provenance"]
    plain = {
        "paper": report["paper"],
        "profile": report["profile"],
        "on": report.get("on"),
        "series": report.get("series"),
        "created": made["created"],
        "commit": made["commit"],
        "device": made["device"],
        "cells": {
            f"{table['id']}: {'|'.join(cell['row'])} @ {'|'.join(cell['column'])}": {
                "trials": cell["trials"],
                "verdict": cell["verdict"]["word"],
                "run": cell["run"],
            }
            for table in report["tables"]
            for cell in table["cells"]
        },
        "claims": {
            f"{table['id']}: {claim['id']}": claim["answer"]["word"]
            for table in report["tables"]
            for claim in table["claims"]
        },
        "tables": {table["id"]: table["word"] for table in report["tables"]},
        "sources": {run["key"]: run["source"] for run in report["runs"]},
    }
    return TypeAdapter(Recorded).validate_json(json.dumps(plain))


def _table(place: str) -> str:
    return place.partition(": ")[0]


def _tables(side: Recorded) -> set[str]:
    return set(map(_table, (*side.cells, *side.claims)))


def _moved(
    place: str, old: RecordedCell | None, new: RecordedCell | None, files: tuple[str, ...]
) -> Iterator[Movement]:
    """What moved of a cell: its word, and its mean."""
    a, b = (ABSENT if side is None else side.verdict for side in (old, new))
    before, after = ({} if side is None else side.by_seed for side in (old, new))
    is_lost = bool(before) and not after
    if is_lost or (a != b and a):  # a baseline of older rules has no words
        is_worse = old is not None and (a == "REPRODUCED" or b == "DISCREPANT")
        yield Movement("verdict", place, a, b, regression=is_lost or is_worse, files=files)
    seeds = sorted(before.keys() & after.keys())
    x, y = np.array([[side[seed] for seed in seeds] for side in (before, after)])
    if np.abs(x - y).max(initial=0.0) <= _EXACT:
        return
    means = float(x.mean()), float(y.mean())
    allowed, difference = tolerance(x, y), means[1] - means[0]
    was, now = (f"{mean:.4g}" for mean in means)
    is_beyond = abs(difference) > max(allowed, _EXACT)
    yield Movement("value", place, was, now, difference, is_beyond, allowed, files)


def _reworded(
    what: Literal["claim", "table"],
    before: Mapping[str, str],
    after: Mapping[str, str],
    shared: Collection[str],
) -> list[Movement]:
    """What has another word in the tables `shared`; nothing where older rules left no words."""
    sides = {
        place: (before.get(place, ABSENT), after.get(place, ABSENT))
        for place in dict.fromkeys((*before, *after) if before else ())
        if _table(place) in shared
    }
    return [
        Movement(what, place, a, b, regression=_is_worse(a, b))
        for place, (a, b) in sides.items()
        if a != b
    ]


def _is_worse(before: str, after: str) -> bool:
    """Whether an answer is a worse one; what only one side has is told, and is not worse."""
    if ABSENT in (before, after):
        return before in ("HOLDS", "PASS")
    return _RANKS.get(after, 1) < _RANKS.get(before, 1)
