"""What differs between two judged reports, read back from their JSON.

A value has moved if the later mean lies outside the earlier 95 % interval and the earlier mean
outside the later one. Cells and claims that only one side has are differences too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.compare import (
    STRICT,
    Change,
    Means,
    changed_cells,
    changed_claims,
    read_as,
)
from fedrepro.benchmark.results import Report, as_plain


@dataclass(frozen=True, config=STRICT)
class _Verdict:
    word: str


@dataclass(frozen=True, config=STRICT)
class _Cell:
    row: tuple[str, ...]
    column: tuple[str, ...]
    mean: float | None
    interval: tuple[float, float] | None
    verdict: _Verdict

    @property
    def word(self) -> str:
        return self.verdict.word


@dataclass(frozen=True, config=STRICT)
class _Claim:
    id: str
    word: str


@dataclass(frozen=True, config=STRICT)
class _Table:
    id: str
    cells: tuple[_Cell, ...]
    claims: tuple[_Claim, ...]


@dataclass(frozen=True, config=STRICT)
class ReportRead:
    """What is compared of a report, as `report.json` holds it among other things."""

    paper: str
    profile: str
    tables: tuple[_Table, ...]
    on: str | None = None


def read_reports(path: Path) -> list[ReportRead]:
    """The reports in a `report.json`.

    Raises `FedreproError` if it cannot be read or is no report.
    """
    found = read_as(_ONE_OR_MORE, path, "fedrepro report")
    return found if isinstance(found, list) else [found]


def as_read(report: Report) -> ReportRead:
    """A report as if it had been read back."""
    return _ONE.validate_json(json.dumps(as_plain(report)))


def differences(before: Sequence[ReportRead], after: Sequence[ReportRead]) -> list[Change]:
    """Everything that changed in the tables that both sides have.

    Raises `FedreproError` if they have no table in common: that would compare nothing.
    """
    tables, later = _tables(before), _tables(after)
    shared = [place for place in tables if place in later]
    if not shared:
        raise FedreproError("the two sides share no table of one paper and profile")
    found: list[Change] = []
    for place in shared:
        old, new = tables[place], later[place]
        found += changed_cells(_cells(place, old), _cells(place, new), _moved)
        found += changed_claims(_claims(place, old), _claims(place, new))
    return found


def _tables(reports: Sequence[ReportRead]) -> dict[str, _Table]:
    return {
        " ".join(filter(None, (one.paper, one.profile, one.on, table.id))): table
        for one in reports
        for table in one.tables
    }


def _cells(place: str, table: _Table) -> Mapping[str, _Cell]:
    return {f"{place}: {'|'.join(c.row)} @ {'|'.join(c.column)}": c for c in table.cells}


def _claims(place: str, table: _Table) -> Mapping[str, str]:
    return {f"{place}: {claim.id}": claim.word for claim in table.claims}


def _moved(a: _Cell, b: _Cell) -> Means | None:
    if a.mean is None or b.mean is None or a.mean == b.mean:
        return None
    alike = _inside(a.mean, b.interval) or _inside(b.mean, a.interval)
    return None if alike else (a.mean, b.mean)


def _inside(value: float, interval: tuple[float, float] | None) -> bool:
    return interval is not None and interval[0] <= value <= interval[1]


_ONE = TypeAdapter(ReportRead)
_ONE_OR_MORE: TypeAdapter[ReportRead | list[ReportRead]] = TypeAdapter(
    ReportRead | list[ReportRead]
)
