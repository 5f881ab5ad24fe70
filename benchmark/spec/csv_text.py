"""CSV as spreadsheets and data frames write it, line by line. Pandas fills up lines that are too
short, renames a column that is there twice, and forgets the numbers of lines."""

import csv
import io
import re

from ..errors import FedreproError

UNNAMED = ("", "Unnamed: 0")
"""What the index of a data frame is called, where it was saved as a column."""
SEPARATOR = re.compile(r'\s*"?sep=([^\w\s"]|\t)"?[,;\t]*\r?(?:\n|$)')
"""The first line with which Excel says what stands between fields."""


def csv_rows(text: str, place: str) -> list[tuple[int, list[str]]]:
    """The lines that hold something, each with its number and its fields, all equally many.

    Between fields stands what a first line `sep=;` says, else a tab or semicolon that is in all
    lines, else the most frequent mark of the first. Empty fields behind the last column, of commas
    at the end of lines, are left out. `place`: stands before the number of a line in errors. Raises
    `FedreproError` for lines that are no CSV, and for a line with more or fewer fields than the
    first one or a point of two meanings."""
    text = text.removeprefix("\ufeff")
    said = SEPARATOR.match(text)
    skipped = text[: said.end()].count("\n") if said else 0
    text = text[said.end() :] if said else text
    lines = [line.replace(",\t", ",") for line in text.splitlines() if line.strip()] or [""]
    in_all = (mark for mark in "\t;" if all(mark in line for line in lines))
    delimiter = said[1] if said else next(in_all, max("\t;,", key=lines[0].count))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for line in reader:
            if any(fields := [field.strip() for field in line]):
                rows.append((skipped + reader.line_num, fields))
    except csv.Error as error:
        raise FedreproError(f"{place}{skipped + reader.line_num}: is no CSV: {error}") from None
    held = [max(i for i, field in enumerate(fields, 1) if field) for _, fields in rows]
    named = len(rows[0][1]) if rows else 0
    width = min(named, max(held, default=0))
    for (number, fields), last in zip(rows, held, strict=True):
        if len(fields) < width or last > named:
            hint = "; put quotes around a field with a comma in it" if last > named else ""
            counts = f"has {len(fields)} fields, and the first line has {named}{hint}"
            raise FedreproError(f"{place}{number}: {counts}")
    for column in zip(*(fields for _, fields in rows), strict=False) if delimiter == ";" else ():
        points = [bool(re.fullmatch(r"[1-9]\d{0,2}\.\d{3}", one)) for one in column]
        others = [one for one, is_point in zip(column, points, strict=True) if not is_point]
        if any(points) and any(map(str.isdigit, others)) and not any("." in one for one in others):
            fault = "a point before three digits, among whole numbers; remove it, or add a digit"
            raise FedreproError(f"{place}{rows[points.index(True)][0]}: {fault}")
    return [(number, fields[:width]) for number, fields in rows]
