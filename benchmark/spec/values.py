"""Printed values and margins against what their metrics can be."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from ..metrics import looks_like_fraction, metric, outside
from .fields import read_printed
from .lines import KeyPath
from .printed import Printed
from .problems import FileProblems
from .toml_file import Placed, Toml


class _Value(NamedTuple):
    """A printed number of the table's file, and what its row, column and table say of it."""

    path: KeyPath
    column: int
    value: float
    metric: str | None
    unit: str | None
    says_unit: bool
    margin: tuple[KeyPath, float] | None


def check_values(data: Toml, rows: Placed, columns: Placed, report: FileProblems) -> None:
    """Values that are none of their metric, fractions among percents, and margins of all values."""
    values = list(_values(data, rows, columns))
    largest: dict[int, float] = {}
    for one in values:
        largest[one.column] = max(largest.get(one.column, 0.0), one.value)
    told = set[KeyPath]()
    for one in values:
        if (problem := outside(one.value, one.metric, one.unit)) is not None:
            report.add(one.path, problem)
        known = metric(one.metric)
        if known is None or known.low is None or known.high is None:
            continue
        low, high = known.bounds(one.unit)
        is_fraction = looks_like_fraction(one.value, one.metric, one.unit)
        if is_fraction and largest[one.column] > 1 and not one.says_unit:
            report.add(
                one.path,
                f"{one.value:g} stands among percents and looks like a fraction; "
                "if it is a percent, give its row unit = '%'",
            )
        if one.margin is not None and one.margin[1] >= high - low:
            place, value = one.margin
            if place not in told:
                unit = one.unit or ""
                report.add(
                    place,
                    f"{value:g}{unit} is as wide as the range of {one.metric} ({low:g} to "
                    f"{high:g}{unit}), so nothing could be discrepant; give a smaller margin",
                )
            told.add(place)


def printed_in(value: Any) -> Printed | None:
    """What stands in a cell; None for what the schema refuses."""
    try:
        return read_printed(value.get("value") if isinstance(value, dict) else value)
    except ValueError:
        return None


def _values(data: Toml, rows: Placed, columns: Placed) -> Iterator[_Value]:
    for row_path, row in rows:
        published = row["published"] if isinstance(row.get("published"), list) else []
        for i, (value, (path, column)) in enumerate(zip(published, columns, strict=False)):
            cell, places = printed_in(value), (row, column, data)
            kind, name, unit = (
                next((place[key] for place in places if isinstance(place.get(key), str)), None)
                for key in ("kind", "metric", "unit")
            )
            skipped = "skip" in row or "skip" in column
            if cell is None or cell.value is None or kind != "empirical" or skipped:
                continue
            margins = [
                ((*at, "margin", "value"), float(margin["value"]))
                for at, place in zip((row_path, path, ()), places, strict=True)
                if isinstance(margin := place.get("margin"), dict)
                and isinstance(margin.get("value"), (int, float, Decimal))
            ]
            yield _Value(
                (*row_path, "published", i), i, float(cell.value), name, unit, "unit" in row,
                margins[0] if margins else None,
            )  # fmt: skip
