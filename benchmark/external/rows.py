"""Results by table, row, column and seed, from CSV or records. What cannot be read is one line that
names file and line; docs/your-results.md has the columns."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FedreproError
from ..printable import one_line
from ..spec import limits
from ..spec.csv_text import UNNAMED, csv_rows
from ..spec.problems import name_of, read_text, suggestion
from ..spec.table_cells import decimal_marks

COLUMNS = ("table", "row", "column", "seed", "value")
OPTIONAL = ("metric", "unit", "round")
OURS = ("paper", "profile", "edited_files", "departures", "series", "readings")
"""More columns of `report.trials.csv`: how it was made."""
PROFILE = "external"
"""Of reports on results; with that of ours by which these were made: `external: reduced (fast)`."""
_NONE = ("", "0")
_DEPARTS = {"edited_files": "edited", "departures": "departs from the paper"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"(\d{1,18})(?:\.0*)?")
_SHOWN = 60  # characters of a text that an error repeats


@dataclass(frozen=True, slots=True)
class Row:
    """One result: of which cell and seed, and where it stands; NaN for a line without a value.

    `place`: file and line, for errors. `row`, `column`: parts of a label joined by `|`. `unit`:
    `fraction` or `%` where it is not the table's own. `metric`, `round`: what the value is said to
    be. `profile`: of trials of ours. `made`: that with what differs, `paper (edited) (series 2)
    (fast)`. `departs`: whether files or settings do. `source`: tool, file, run, key and round of an
    export. `offset`: added to its rounds."""

    place: str
    table: str
    row: str
    column: str
    seed: int
    value: float
    metric: str | None = None
    unit: str | None = None
    round: str | None = None
    profile: str = ""
    made: str = ""
    departs: bool = False
    source: tuple[object, ...] | None = None
    offset: int = 0

    @property
    def profiles(self) -> set[str]:
        """The names alone."""
        return {one.partition(" (")[0] for one in self.profile.split("; ")}


def read_rows(file: Path, paper: str) -> list[Row]:
    """The results in a CSV file (comma, semicolon or tab). Raises `FedreproError` for a file that
    cannot be read, wrong columns, a value that is no finite number, and results of a paper but
    `paper`."""
    first, header, body = csv_lines(file)
    _check_names([name.lower() for name in header], first)
    lower = ((place, {name.lower(): value for name, value in line.items()}) for place, line in body)
    return from_records(lower, paper)


def from_records(records: Iterable[tuple[str, Mapping[str, Any]]], paper: str) -> list[Row]:
    """Results from pairs of a place and the values by column; raises as `read_rows`. Values have
    decimal commas where one can be nothing else, and none has a point."""
    records, rows = [*records], list[Row]()
    values = [_text(record.get("value")) for _, record in records]
    has_commas = decimal_marks(values) == "," and not any("." in one for one in values)
    for (place, record), text in zip(records, values, strict=True):
        if not rows:
            _check_names(tuple(map(str, record)), place)
        of = _text(record.get("paper"))
        if of not in ("", paper):
            raise refused(place, f"paper is {shown(of)}, and {paper} is judged")
        value = number(text.replace(",", ".") if has_commas else record["value"], place)
        if value is None and not _text(record["seed"]):
            continue
        value = math.nan if value is None else value
        metric, unit, round = (_text(record.get(name)) or None for name in OPTIONAL)
        row, column = joined(record["row"]), joined(record["column"])
        seed, table = whole_number(record["seed"], place), _text(record["table"])
        ours = ("profile", "series", "readings")
        profile, series, read = (_text(record.get(name)) for name in ours)
        how = [why for name, why in _DEPARTS.items() if _text(record.get(name)) not in _NONE]
        more = f"series {series}" if series not in _NONE else "", read
        profile = profile.removeprefix(f"{PROFILE}: ")
        marks = (f"({one})" for one in (*how, *more) if one)
        made = " ".join((profile, *(one for one in marks if one not in profile))).strip()
        by = profile, made, bool(how)
        rows.append(Row(place, table, row, column, seed, value, metric, unit, round, *by))
    return rows


def csv_lines(file: Path) -> tuple[str, list[str], Iterator[tuple[str, dict[str, str]]]]:
    """Where a CSV file names its columns, these, and of each further line the place and the fields
    by name. The index of a data frame is left out. Raises `FedreproError` for what is no table."""
    name = name_of(file)
    rows = csv_rows(read_text(file), f"{name}:")
    first, header = rows[0] if rows else (0, [])
    if not header:
        raise refused(name, "holds nothing; its first line must name the columns")
    if header[0] in UNNAMED and all(line[0].isdecimal() for _, line in rows[1:]):
        rows, header = [(number, line[1:]) for number, line in rows], header[1:]
    if "" in header:
        raise refused(f"{name}:{first}", f"column {header.index('') + 1} has no name")
    if twice := repeated(one.lower() for one in header):
        column = next(one for one in header if one.lower() == twice)
        raise refused(f"{name}:{first}", f"column '{shown(column)}' is there twice")
    lines = ((number, dict(zip(header, line, strict=True))) for number, line in rows[1:])
    return f"{name}:{first}", header, ((f"{name}:{number}", line) for number, line in lines)


def refused(place: str, said: str) -> FedreproError:
    """The error that says what is wrong where."""
    return FedreproError(f"{place}: {said}")


def shown(text: str) -> str:
    """Text that stands in an error: one line, and not too long."""
    text = one_line(text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def number(value: Any, place: str) -> float | None:
    """A finite number, None for nothing; raises `FedreproError` for formulas, commas and such."""
    if value is None or value == "":
        return None
    text = str(value).strip().replace("\u2212", "-")  # the minus of typesetting
    said = f"value '{shown(text)}' is"
    if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
        raise refused(place, f"{said} not finite; leave it empty if the trial failed")
    if isinstance(value, bool) or not _NUMBER.fullmatch(text):
        hint = "; write a decimal point" if re.fullmatch(r"-?\d+,\d+", text) else ""
        raise refused(place, f"{said} no number{hint}")
    found = float(text)
    if not math.isfinite(found) or abs(found) >= 10.0**limits.DIGITS:
        raise refused(place, f"{said} not finite, or beyond 1e{limits.DIGITS}")
    return found


def whole_number(value: Any, place: str, what: str = "seed") -> int:
    """A seed or a round; raises `FedreproError` for what is no whole number of at least 0."""
    found = _WHOLE.fullmatch(str(value).strip())
    if found is None or isinstance(value, bool):
        raise refused(place, f"{what} '{shown(str(value))}' is no whole number of at least 0")
    return int(found[1])


def _check_names(names: Sequence[str], place: str) -> None:
    known = (*COLUMNS, *OPTIONAL)
    for name in names:
        if name not in known and name not in OURS:
            raise refused(place, f"unknown column '{shown(name)}'{suggestion(name, known)}")
    if lacking := [name for name in COLUMNS if name not in names]:
        raise refused(place, f"column '{lacking[0]}' is missing; needed: {', '.join(COLUMNS)}")


def _text(value: Any) -> str:
    """Text of a field, without the apostrophe that keeps spreadsheets from computing it."""
    return "" if value is None else str(value).strip().removeprefix("'")


def joined(value: Any) -> str:
    """A label as `Row` has it, whatever spaces stand around its parts."""
    return "|".join(part.strip() for part in _text(value).split("|"))


def repeated(items: Iterable[Any]) -> Any:
    """The first item that is there more than once; None without any."""
    return next((item for item, times in Counter(items).items() if times > 1), None)
