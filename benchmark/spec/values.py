"""Published values of a table's file: their number, kinds, spreads, margins and metrics. As in
`spec.rules` they are read from the raw TOML, and what has a wrong shape is passed over."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from ..metrics import MetricRange, looks_like_fraction, metric, outside
from ..printable import plural
from . import limits, settings
from .fields import read_printed
from .lines import KeyPath
from .printed import Printed
from .problems import FileProblems
from .toml_file import Placed, Toml


class _Value(NamedTuple):
    """What is printed in a cell, and its row, column and table with their paths."""

    path: KeyPath
    column: int
    printed: Printed
    places: Placed

    def said(self, key: str) -> str | None:
        """Text that the nearest of row, column and table has for a key."""
        return next((one[key] for _, one in self.places if isinstance(one.get(key), str)), None)

    @property
    def margin(self) -> tuple[KeyPath, float]:
        """That of the row or column, else the table's in its own unit, with its path; 0 if none."""
        for at, place in self.places:
            value = settings.get(place, "margin.value")
            in_unit = at or (self.said("unit") or "") == (place.get("unit") or "")
            if in_unit and isinstance(value, (int, float, Decimal)):
                return (*at, "margin", "value"), float(value)
        return (), 0.0

    def has(self, *keys: str) -> bool:
        """Whether row or column, not the table, has one of these keys."""
        return any(key in one for _, one in self.places[:2] for key in keys)


def check_published(data: Toml, rows: Placed, columns: Placed, report: FileProblems) -> None:
    """Whether there are as many values as columns, and each is one that its metric can have."""
    if len(rows) * len(columns) > limits.CELLS or len(columns) > limits.COLUMNS:
        said = f"{plural(len(rows), 'row')} and {plural(len(columns), 'column')} are too many"
        most = f"at most {limits.COLUMNS} columns and {limits.CELLS} cells"
        report.add(("columns",), f"{said}: {most}")
    for path, row in rows:
        published, here = row.get("published"), (*path, "published")
        if published is None and "figure" not in data:
            report.add(path, "'published' is missing (only figures have rows without values)")
        elif isinstance(published, list) and not columns:
            report.add(here, "the table has no columns")
        elif isinstance(published, list) and len(published) != len(columns):
            said = f"has {plural(len(published), 'value')}, the table has "
            report.add(here, said + plural(len(columns), "column"))
    values = list(_values(data, rows, columns))
    measured, largest = list[tuple[_Value, float]](), dict[int, Decimal]()
    needs_margin = False
    for one in values:
        printed, kind = one.printed, one.said("kind")
        if kind == "control" and not printed.is_blank:
            report.add(one.path, 'a control table prints nothing: write ""')
        if kind not in ("empirical", "control") or one.has("skip") or printed.is_dash:
            continue
        if one.said("metric") is None:
            report.add(one.path[:-2], "no metric; give one in the row, the column or the table")
        if printed.value is not None:
            needs_margin |= not one.has("margin")
            largest[one.column] = max(largest.get(one.column, printed.value), printed.value)
            measured += [(one, float(printed.value))] if kind == "empirical" else []
        elif not printed.is_blank:
            said = f"'{printed.text}' is no number; give the row or column another kind, or skip"
            report.add(one.path, said)
    for one, value in measured:
        name, unit = one.said("metric"), one.said("unit")
        if (problem := outside(value, name, unit)) is not None:
            report.add(one.path, f"{problem}; if it is another metric, its row or column names it")
        among_percents = largest[one.column] > 1 and "unit" not in one.places[0][1]
        if among_percents and looks_like_fraction(value, name, unit):
            said = f"{value:g} stands among percents and looks like a fraction"
            report.add(one.path, f"{said}; if it is a percent, give its row unit = '%'")
    _check_margins(measured, report)
    if any(one.printed.sd is not None for one in values) and "sd" not in data:
        report.add((), "spreads are printed, but there is no [sd] with their ddof and runs")
    if needs_margin and "margin" not in data:
        report.add((), "empirical values need a [margin] with value and reason")


def _check_margins(values: Sequence[tuple[_Value, float]], report: FileProblems) -> None:
    """Margins that reach from a printed value to both ends of its metric; of one that lacks an end,
    margins that exceed all that is printed for them."""
    wide, sizes = dict[KeyPath, str](), dict[tuple[KeyPath, float], list[float]]()
    for one, value in values:
        (at, margin), name, unit = one.margin, one.said("metric"), one.said("unit")
        known = metric(name) or MetricRange()
        low, high = known.bounds(unit)
        if value - margin <= low and value + margin >= high:
            said = f"{margin:g}{unit or ''} around {value:g} is all that {name} can be"
            wide.setdefault(at, f"{said} ({low:g} to {high:g}); give a smaller margin")
        elif known.low is None or known.high is None:
            sizes.setdefault((at, margin), []).append(abs(value))
    for (at, margin), printed in sizes.items():
        if margin > max(printed) > 0:
            said = f"{margin:g} exceeds all that is printed for it, at most {max(printed):g}"
            wide.setdefault(at, f"{said}; give a smaller one, or the metric its low and high")
    for at, said in wide.items():
        report.add(at, said)


def _values(data: Toml, rows: Placed, columns: Placed) -> Iterator[_Value]:
    for row_path, row in rows:
        published = row["published"] if isinstance(row.get("published"), list) else []
        for i, (value, column) in enumerate(zip(published, columns, strict=False)):
            if (printed := _printed_in(value)) is not None:
                places = ((row_path, row), column, ((), data))
                yield _Value((*row_path, "published", i), i, printed, places)


def _printed_in(value: Any) -> Printed | None:
    """What stands in a cell; None for what the schema refuses."""
    try:
        return read_printed(value.get("value") if isinstance(value, dict) else value)
    except ValueError:
        return None
