"""What differs between two judged reports, read back from their JSON.

A value has moved if the later mean lies outside the earlier 95 % interval and the earlier mean
outside the later one. Cells and claims that only one side has are differences too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from ..errors import FedreproError
from ..plain import as_plain
from ..results import Report

STRICT = ConfigDict(strict=True, allow_inf_nan=False)
"""For what is read back: no type is guessed, and no number is infinite or none."""
_MOST_BYTES = 1 << 30
"""Of a report."""

Read = TypeVar("Read")


@plain_dataclass(frozen=True)
class Change:
    """One thing that is not the same on both sides.

    where: the cell, `3: CP-CFL|SimCLR @ T = 25`, or the claim, `3: id`.
    before, after: words, or means as text.
    difference: of the means, in the cell's unit.
    """

    what: Literal["value", "verdict", "claim"]
    where: str
    before: str
    after: str
    difference: float | None = None


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


_ONE = TypeAdapter(ReportRead)
_ONE_OR_MORE: TypeAdapter[ReportRead | list[ReportRead]] = TypeAdapter(
    ReportRead | list[ReportRead]
)


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
        old, new = (
            {f"{place}: {'|'.join(c.row)} @ {'|'.join(c.column)}": c for c in table.cells}
            for table in (tables[place], later[place])
        )
        words = ({where: cell.verdict.word for where, cell in side.items()} for side in (old, new))
        found += changed_words("verdict", *words)
        for where in filter(new.__contains__, old):
            found += _moved(where, old[where], new[where])
        claims = (
            {f"{place}: {claim.id}": claim.word for claim in table.claims}
            for table in (tables[place], later[place])
        )
        found += changed_words("claim", *claims)
    return found


def changed_words(
    what: Literal["verdict", "claim"], before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[Change]:
    """Cells or claims by place whose word differs; a place that a side lacks is 'absent' there."""
    for where in dict.fromkeys((*before, *after)):
        a, b = (side.get(where, "absent") for side in (before, after))
        if a != b:
            yield Change(what, where, a, b)


def changed_value(where: str, before: float, after: float) -> Change:
    """A cell whose mean differs."""
    return Change("value", where, f"{before:.4g}", f"{after:.4g}", after - before)


def read_as(kind: TypeAdapter[Read], path: Path, what: str) -> Read:
    """The content of a JSON file, of the type `kind`.

    what: 'baseline', for the message.

    Raises `FedreproError` for any other content, and if the file cannot be read.
    """
    try:
        # A pipe would wait for its other end, and a device may have no end.
        if path.exists() and not path.is_file():
            raise FedreproError(f"the {what} {path} is no file")
        if path.stat().st_size > _MOST_BYTES:
            raise FedreproError(f"the {what} {path} is larger than {_MOST_BYTES:,} bytes")
        return kind.validate_json(path.read_bytes())
    except FileNotFoundError:
        raise FedreproError(f"there is no {what} {path}") from None
    except OSError as error:
        raise FedreproError(f"cannot read the {what} {path}: {error.strerror}") from None
    except ValidationError as error:
        first: Any = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        problem = " ".join(f"{place}: {first['msg']}".removeprefix(": ").split())
        raise FedreproError(f"{path} is no {what}: {problem}") from None


def _tables(reports: Sequence[ReportRead]) -> dict[str, _Table]:
    return {
        " ".join(filter(None, (one.paper, one.profile, one.on, table.id))): table
        for one in reports
        for table in one.tables
    }


def _moved(where: str, a: _Cell, b: _Cell) -> Iterator[Change]:
    if a.mean is None or b.mean is None or a.mean == b.mean:
        return
    if not (_inside(a.mean, b.interval) or _inside(b.mean, a.interval)):
        yield changed_value(where, a.mean, b.mean)


def _inside(value: float, interval: tuple[float, float] | None) -> bool:
    return interval is not None and interval[0] <= value <= interval[1]
