"""Files of results; a TOML map of exports says which file of a tool is which cell and seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..errors import FedreproError
from ..spec import lines, toml_file
from ..spec.fields import At, Count, InFile, Text
from ..spec.model import Paper
from ..spec.problems import InvalidSpecError, Reporter, validate
from .binding import cell_of
from .rows import Row, joined, name_of, read_rows, read_text
from .tools import READERS, Curves, choose, value_at

RESULTS = "results"


@dataclass(frozen=True)
class _Entry(InFile):
    """One value of one file.

    offset: added to the file's rounds, for tools that count them from 0. round: instead of the one
    that the cell shows.
    """

    tool: Literal["flower", "wandb", "mlflow"]
    file: Text
    key: Text
    table: Text
    row: Text
    column: Text
    seed: Count
    run: Text | None = None
    round: At | None = None
    offset: Count = 0
    unit: Text | None = None


def read_files(files: Sequence[Path], paper: Paper) -> list[Row]:
    """The results in all files: TOML maps of exports, JSON lines, and else CSV.

    Raises `FedreproError` for a file that cannot be read.
    """
    rows: list[Row] = []
    for file in files:
        is_map = file.suffix.lower() == ".toml"
        rows += read_map(file, paper) if is_map else read_rows(file, paper.id)
    return rows


def read_map(file: Path, paper: Paper) -> list[Row]:
    """The results that a map names, which is `[[results]]`, with what all of them share above.

    Files are relative to the map's folder.

    Raises `FedreproError` for a map or a file that cannot be read, and a name that is not there.
    """
    read_text(file)  # says in one line what is wrong with it
    report = toml_file.read(file)
    data = toml_file.parse(report)
    if data is None:
        raise InvalidSpecError(report.problems)
    entries = data.pop(RESULTS, None)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise FedreproError(f"{file}: a map of exports needs [[results]], one for each value")
    where = lines.find_lines(report.text)
    tables = {table.id: table for table in paper.tables}
    read: dict[tuple[str, str], Curves] = {}
    rows = []
    for i, own in enumerate(entries):
        place = f"{name_of(file)}:{lines.line_of(where, (RESULTS, i))}"
        entry = _checked({**data, **own}, file, place)
        row = Row(place, entry.table, joined(entry.row), joined(entry.column), entry.seed, 0.0,
                  unit=entry.unit)  # fmt: skip
        at = entry.round or cell_of(row, tables).read.at
        source = file.parent / entry.file
        known = entry.tool, str(source)
        if known not in read:
            read[known] = READERS[entry.tool](read_text(source), name_of(source))
        points = choose(read[known], entry.run, entry.key, place)
        moved = [(round + entry.offset, value) for round, value in points]
        rows.append(replace(row, value=value_at(moved, at, place), round=str(at)))
    return rows


def _checked(entry: Mapping[str, object], file: Path, place: str) -> _Entry:
    report = Reporter(file, "")
    found = validate(_Entry, entry, report)
    if found is None:
        raise FedreproError(f"{place}: {report.problems[0].message}")
    if found.seed < 0:
        raise FedreproError(f"{place}: seed {found.seed} is no whole number of at least 0")
    return found
