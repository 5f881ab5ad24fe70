"""What differs between two judged reports, read back from their JSON.

A value has moved if the later mean lies outside the earlier 95 % interval and the earlier mean
outside the later one. Cells and claims that only one side has are differences too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from fedrepro.benchmark.errors import FedreproError

Plain = Mapping[str, Any]
_ABSENT = "absent"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both sides.

    where: `cpcfl reduced 3: CP-CFL|SimCLR @ T = 25`. before, after: words, or means as text.
    difference: of the means, in the cell's unit.
    """

    what: Literal["value", "verdict", "claim"]
    where: str
    before: str
    after: str
    difference: float | None = None

    @property
    def size(self) -> str:
        """How far a value moved, in words; empty for words."""
        if self.difference is None:
            return ""
        return f" ({self.difference:+.3g}, beyond both 95 % intervals)"

    def as_plain(self) -> dict[str, Any]:
        """The difference as JSON holds it."""
        return asdict(self)


def read_reports(path: Path) -> list[dict[str, Any]]:
    """The reports in a `report.json`.

    Raises `FedreproError` if it cannot be read or is no report.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FedreproError(
            f"{path}: {error.strerror}; give a report.json, its folder, or a store"
        ) from None
    except ValueError as error:
        raise FedreproError(f"{path} is no JSON: {error}") from None
    reports = found if isinstance(found, list) else [found]
    for one in reports:
        if not isinstance(one, dict) or not one.keys() >= {"paper", "profile", "tables"}:
            raise FedreproError(f"{path} is no fedrepro report")
    return reports


def differences(before: Sequence[Plain], after: Sequence[Plain]) -> list[Difference]:
    """Everything that changed, table by table in the order of the papers.

    Raises `FedreproError` if the two sides have no table in common: that would compare nothing.
    """
    tables, later = _tables(before), _tables(after)
    shared = [place for place in tables if place in later]
    if not shared:
        raise FedreproError("the two sides share no table of one paper and profile")
    return [one for place in shared for one in _table(place, tables[place], later[place])]


def _tables(reports: Sequence[Plain]) -> dict[str, Plain]:
    return {
        " ".join(filter(None, (one["paper"], one["profile"], one.get("on"), table["id"]))): table
        for one in reports
        for table in one["tables"]
    }


def _table(place: str, before: Plain, after: Plain) -> Iterator[Difference]:
    old, new = _cells(before), _cells(after)
    for name in dict.fromkeys((*old, *new)):
        where = f"{place}: {name}"
        a, b = old.get(name), new.get(name)
        words = _word(a), _word(b)
        if words[0] != words[1]:
            yield Difference("verdict", where, *words)
        if a is not None and b is not None and _moved(a, b):
            means = a["mean"], b["mean"]
            texts = f"{means[0]:.4g}", f"{means[1]:.4g}"
            yield Difference("value", where, *texts, means[1] - means[0])
    claims = [{one["id"]: one["word"] for one in table["claims"]} for table in (before, after)]
    for name in dict.fromkeys((*claims[0], *claims[1])):
        a_word, b_word = (side.get(name, _ABSENT) for side in claims)
        if a_word != b_word:
            yield Difference("claim", f"{place}: {name}", a_word, b_word)


def _cells(table: Plain) -> dict[str, Plain]:
    return {f"{'|'.join(c['row'])} @ {'|'.join(c['column'])}": c for c in table["cells"]}


def _word(cell: Plain | None) -> str:
    return _ABSENT if cell is None else str(cell["verdict"]["word"])


def _moved(a: Plain, b: Plain) -> bool:
    if a["mean"] is None or b["mean"] is None or a["mean"] == b["mean"]:
        return False
    return not (_inside(a["mean"], b["interval"]) or _inside(b["mean"], a["interval"]))


def _inside(value: float, interval: Sequence[float] | None) -> bool:
    return interval is not None and interval[0] <= value <= interval[1]
