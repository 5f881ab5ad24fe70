"""Results by table, row, column and seed, from CSV, JSON lines or records in memory.

What cannot be read is one line that names file and line; docs/your-results.md has the columns.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import FedreproError
from ..printable import one_line
from ..spec import limits
from ..spec.problems import shown as named
from ..spec.problems import suggestion

COLUMNS = ("table", "row", "column", "seed", "value")
OPTIONAL = ("metric", "unit", "round")
OURS = ("paper", "profile", "edited_files")
"""More columns of `report.trials.csv`: of these only the paper is read."""
BYTES = 50_000_000
"""Of one file: half a million lines as long as those of a template."""
_ROWS = 1_000_000
_JSON = (".jsonl", ".ndjson", ".json")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_WHOLE = re.compile(r"(\d{1,18})(?:\.0*)?")
_SHOWN = 60
"""Characters of a text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Row:
    """One result: of which cell and seed, and where it stands.

    place: file and line, for errors.
    row, column: parts of a label joined by `|`.
    unit: `fraction` or `%` where it is not the table's own.
    metric, round: what the value is said to be; None where nothing is said.
    """

    place: str
    table: str
    row: str
    column: str
    seed: int
    value: float
    metric: str | None = None
    unit: str | None = None
    round: str | None = None


def read_rows(file: Path, paper: str | None = None) -> list[Row]:
    """The results in a CSV file (comma, semicolon or tab) or in JSON lines.

    A line without a value is a trial that is not there. paper: the id that a column `paper` must
    give, if there is one.

    Raises `FedreproError` for a file that cannot be read, a column that is missing or unknown,
    a value that is no finite number, and results of another paper.
    """
    text = read_text(file)
    name = name_of(file)
    if file.suffix.lower() in _JSON:
        return from_records(_json_lines(text, name), paper)
    lines = csv_lines(text, name)
    return from_records(
        ((place, dict(zip(lines.header, line, strict=True))) for place, line in lines.body), paper
    )


def from_records(
    records: Iterable[tuple[str, Mapping[str, Any]]], paper: str | None = None
) -> list[Row]:
    """Results from pairs of a place and the values by column; raises as `read_rows`."""
    rows: list[Row] = []
    checked: set[tuple[str, ...]] = set()
    for place, record in records:
        names = tuple(map(str, record))
        if names not in checked:
            _check_names(names, place)
            checked.add(names)
        of = _text(record.get("paper"))
        if paper is not None and of not in ("", paper):
            raise FedreproError(f"{place}: is a result of {shown(of)}, and {paper} is judged")
        row = _row(place, record)
        if row is not None:
            rows.append(row)
        if len(rows) > _ROWS:
            raise FedreproError(f"{place}: more than {_ROWS:,} results")
    return rows


def read_text(file: Path) -> str:
    """The text of a file of results.

    Raises `FedreproError` for what is no file, too large or not UTF-8.
    """
    name = name_of(file)
    try:
        if not file.exists():
            raise FedreproError(f"{name}: there is no such file")
        if not file.is_file():
            raise FedreproError(f"{name} is no file")
        if file.stat().st_size > BYTES:
            raise FedreproError(f"{name} is larger than {BYTES:,} bytes")
        content = file.read_bytes()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else str(error)
        raise FedreproError(f"{name} cannot be read: {said}") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise FedreproError(f"{name}:{line}: is not UTF-8 text") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FedreproError(f"{name}:{line}: holds zero bytes; is this a binary file?")
    return text


@dataclass(frozen=True)
class Lines:
    """A CSV file: names of columns in lower case as `header`, and lines with their places."""

    header: tuple[str, ...]
    body: Iterator[tuple[str, list[str]]]


def csv_lines(text: str, name: str, *, lower: bool = True) -> Lines:
    """The lines of CSV text whose first line names the columns; empty lines are left out.

    Raises `FedreproError`, also while lines are read, for text that is no such table.
    """
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [part.strip() for part in next(reader, [])]
    except csv.Error as error:
        raise FedreproError(f"{name}:1: is no CSV: {error}") from None
    if not any(header):
        raise FedreproError(f"{name}: holds nothing; its first line must name the columns")
    if len(set(header)) < len(header):
        twice = next(one for one in header if header.count(one) > 1)
        raise FedreproError(f"{name}:1: column '{shown(twice)}' is there twice")

    def body() -> Iterator[tuple[str, list[str]]]:
        while True:
            try:
                line = next(reader, None)
            except csv.Error as error:
                raise FedreproError(f"{name}:{reader.line_num}: is no CSV: {error}") from None
            if line is None:
                return
            place = f"{name}:{reader.line_num}"
            if not any(part.strip() for part in line):
                continue
            if len(line) != len(header):
                raise FedreproError(
                    f"{place}: has {len(line)} fields, and the header names {len(header)}"
                )
            yield place, [part.strip() for part in line]

    return Lines(tuple(part.lower() if lower else part for part in header), body())


def name_of(file: Path) -> str:
    """A file as errors name it, from the working folder where it lies below that."""
    try:
        return one_line(named(file))
    except (OSError, RuntimeError, ValueError):  # a loop of links, half of a character
        return one_line(str(file))


def shown(text: str) -> str:
    """Text that stands in an error: one line, and not too long."""
    text = one_line(text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def number(value: Any, place: str) -> float | None:
    """A finite number; None for an empty text or a missing value.

    Raises `FedreproError` for anything else: formulas, truth values, numbers with commas.
    """
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        raise FedreproError(f"{place}: value {str(value).lower()} is no number")
    if isinstance(value, str):
        text = value.strip()
        if text.lower().lstrip("+-") in ("nan", "inf", "infinity"):
            raise FedreproError(f"{place}: value {text} is not finite; leave it empty if it failed")
        if not _NUMBER.fullmatch(text):
            hint = "; write a decimal point" if re.fullmatch(r"-?\d+,\d+", text) else ""
            raise FedreproError(f"{place}: value '{shown(text)}' is no number{hint}")
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise FedreproError(f"{place}: value '{shown(str(value))}' is no number") from None
    if not math.isfinite(found):
        raise FedreproError(f"{place}: value {found} is not finite; leave it empty if it failed")
    if abs(found) >= 10.0**limits.DIGITS:
        raise FedreproError(f"{place}: value {found:g} is beyond 1e{limits.DIGITS}")
    return found


def whole_number(value: Any, place: str, what: str = "seed") -> int:
    """A seed or a round; raises `FedreproError` for what is no whole number of at least 0."""
    found = None if isinstance(value, bool) else _WHOLE.fullmatch(str(value).strip())
    if found is None:
        said = f"{what} '{shown(str(value))}'"
        raise FedreproError(f"{place}: {said} is no whole number of at least 0")
    return int(found[1])


def _check_names(names: Sequence[str], place: str) -> None:
    known = (*COLUMNS, *OPTIONAL)
    for name in names:
        if name not in known and name not in OURS:
            hint = suggestion(name, known)
            raise FedreproError(f"{place}: unknown column '{shown(name)}'{hint}")
    lacking = [name for name in COLUMNS if name not in names]
    if lacking:
        raise FedreproError(
            f"{place}: column '{lacking[0]}' is missing; needed: {', '.join(COLUMNS)}"
        )


def _row(place: str, record: Mapping[str, Any]) -> Row | None:
    value = number(record["value"], place)
    if value is None:
        return None
    return Row(
        place=place,
        table=_text(record["table"]),
        row=joined(record["row"]),
        column=joined(record["column"]),
        seed=whole_number(record["seed"], place),
        value=value,
        metric=_text(record.get("metric")) or None,
        unit=_text(record.get("unit")) or None,
        round=_text(record.get("round")) or None,
    )


def _text(value: Any) -> str:
    """Text of a field, without the apostrophe that keeps spreadsheets from computing it."""
    return "" if value is None else str(value).strip().removeprefix("'")


def joined(value: Any) -> str:
    """A label as `Row` has it, whatever spaces stand around its parts."""
    return "|".join(part.strip() for part in _text(value).split("|"))


def _json_lines(text: str, name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for i, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        place = f"{name}:{i}"
        record = parse_json(line, place)
        if not isinstance(record, dict):
            raise FedreproError(f"{place}: is no JSON object; one result a line is read")
        yield place, record


def parse_json(text: str, place: str, *, finite: bool = True) -> Any:
    """JSON, by default of finite numbers only; raises `FedreproError` for anything else."""
    try:
        return json.loads(text, parse_constant=_refuse if finite else float)
    except RecursionError:
        raise FedreproError(f"{place}: is nested too deeply") from None
    except ValueError as error:
        said = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise FedreproError(f"{place}: is no JSON: {shown(said)}") from None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not finite")
