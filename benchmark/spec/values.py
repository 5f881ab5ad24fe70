"""Published values of a table: their number, kinds, spreads and margins, and their metrics."""

from decimal import Decimal

from ..metrics import looks_like_fraction, metric, outside
from . import limits
from .model import Table
from .problems import FileProblems
from .toml_file import Placed, Toml


def check_counts(data: Toml, rows: Placed, columns: Placed, report: FileProblems) -> None:
    """Whether each row of a table's raw TOML has as many values as there are columns."""
    if len(rows) * len(columns) > limits.CELLS or len(columns) > limits.COLUMNS:
        report.add(
            ("columns",),
            f"{_count(len(rows), 'row')} and {_count(len(columns), 'column')} are too many: at "
            f"most {limits.COLUMNS} columns and {limits.CELLS} cells",
        )
    for path, row in rows:
        published, here = row.get("published"), (*path, "published")
        if published is None and "figure" not in data:
            report.add(path, "'published' is missing (only figures have rows without values)")
        elif isinstance(published, list) and not columns:
            report.add(here, "the table has no columns")
        elif isinstance(published, list) and len(published) != len(columns):
            said = f"has {_count(len(published), 'value')}, the table has "
            report.add(here, said + _count(len(columns), "column"))


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def check_values(table: Table, has_sd: bool, report: FileProblems) -> None:
    """Whether published values are such as their kinds and metrics can have.

    has_sd: whether the file says something of printed spreads.
    """
    places = [
        (i, j, row, column, published.printed)
        for i, row in enumerate(table.row_entries)
        for j, (column, published) in enumerate(
            zip(table.column_entries, row.published or (), strict=False)
        )
    ]
    if any(one[-1].sd is not None for one in places) and not has_sd:
        report.add((), "spreads are printed, but there is no [sd] with their ddof and runs")
    largest: dict[int, Decimal] = {}
    measured = []
    for i, j, row, column, printed in places:
        at, kind = ("rows", i, "published", j), row.kind or column.kind or table.kind
        if kind == "control" and not printed.is_blank:
            report.add(at, 'a control table prints nothing: write ""')
        if kind not in ("empirical", "control") or row.skip or column.skip or printed.is_dash:
            continue
        if (row.metric or column.metric or table.metric) is None:
            report.add(("rows", i), "no metric; give one in the row, the column or the table")
        if printed.value is not None:
            measured.append((i, j, row, column, printed.value))
            largest[j] = max(largest.get(j, printed.value), printed.value)
        elif not printed.is_blank:
            said = f"'{printed.text}' is no number; give the row or column another kind, or skip"
            report.add(at, said)
    for i, j, row, column, value in measured:
        margins = (("rows", i), row.margin), (("columns", j), column.margin), ((), table.margin)
        where, margin = next(((at, one) for at, one in margins if one is not None), ((), None))
        if margin is None:
            report.add((), "empirical values need a [margin] with value and reason")
        name = row.metric or column.metric or table.metric
        unit = next((one for one in (row.unit, column.unit, table.unit) if one is not None), None)
        if (problem := outside(float(value), name, unit)) is not None:
            report.add(("rows", i, "published", j), problem)
        known = metric(name)
        if known is None or known.low is None or known.high is None:
            continue
        if largest[j] > 1 and row.unit is None and looks_like_fraction(float(value), name, unit):
            report.add(
                ("rows", i, "published", j),
                f"{value:g} stands among percents and looks like a fraction; "
                "if it is a percent, give its row unit = '%'",
            )
        low, high = known.bounds(unit)
        if margin is not None and margin.value >= high - low:
            report.add(
                (*where, "margin", "value"),
                f"{margin.value:g}{unit or ''} is as wide as the range of {name} ({low:g} to "
                f"{high:g}{unit or ''}), so nothing could be discrepant; give a smaller margin",
            )
