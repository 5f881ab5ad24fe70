"""How judged tables are laid out, for every format: grids, number formats, shared deviations."""

import itertools
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from ..benchmark.audit.findings import Finding
from ..benchmark.audit.rounding import places_of
from ..benchmark.claims.answer import ClaimResult, ClaimWord, ControlWord
from ..benchmark.claims.printed import SupportWord
from ..benchmark.judging.answers import TableWord
from ..benchmark.results import CellResult, Departure, Report, TableResult, named
from ..benchmark.spec.printed import Printed

_MEANINGS = tomllib.loads(Path(__file__).with_name("statuses.toml").read_text("utf-8"))
VERDICTS: dict[str, str] = _MEANINGS["cells"]
CLAIMS: dict[ClaimWord, str] = _MEANINGS["claims"]
CONTROLS: dict[ControlWord, str] = _MEANINGS["controls"]
TABLES: dict[TableWord, str] = _MEANINGS["tables"]
FINDINGS: dict[str, str] = _MEANINGS["findings"]
SUPPORT: dict[SupportWord, str] = _MEANINGS["support"]
"""Every status in the order of a scoreboard, with its meaning."""

_DATA = ("pretraining.data", "clients.data")


class Line(NamedTuple):
    """One row of a grid: its label and its cells, None where the paper printed nothing."""

    label: tuple[str, ...]
    cells: tuple[CellResult | None, ...]


class Grid(NamedTuple):
    """A table as printed: column labels (parts from outer to inner) and lines."""

    columns: tuple[tuple[str, ...], ...]
    lines: tuple[Line, ...]

    @property
    def label_width(self) -> int:
        """Parts in the longest row label."""
        return max((len(line.label) for line in self.lines), default=1)

    @property
    def header_depth(self) -> int:
        """Parts in the longest column label."""
        return max((len(column) for column in self.columns), default=1)

    def header(self, depth: int) -> list[tuple[str, int]]:
        """The header line at `depth` as (text, columns spanned); equal neighbours are joined."""
        spans = []
        for _, alike in itertools.groupby(self.columns, lambda column: column[: depth + 1]):
            first, *others = alike
            spans.append((first[depth] if depth < len(first) else "", 1 + len(others)))
        return spans


def grid(table: TableResult) -> Grid:
    """The cells of a table in the paper's rows and columns, which are named with our data too."""
    columns = tuple(dict.fromkeys(cell.column for cell in table.cells))
    rows = tuple(dict.fromkeys(cell.row for cell in table.cells))
    by_place = {(cell.row, cell.column): cell for cell in table.cells}
    lines = (Line(row, tuple(by_place.get((row, column)) for column in columns)) for row in rows)
    ours = _data(table)
    return Grid(
        tuple(
            (f"{column[0]} (here {ours[column]})", *column[1:]) if column in ours else column
            for column in columns
        ),
        tuple(lines),
    )


def _data(table: TableResult) -> dict[tuple[str, ...], str]:
    """By column, our data sets, where printed columns differ in theirs; else empty."""
    printed: dict[str, set[str]] = {}
    ours: dict[tuple[str, ...], dict[str, dict[str, None]]] = {}
    for cell in table.cells:
        for one in (table.departures[i] for i in cell.departures if cell.mean is not None):
            if one.setting in _DATA:
                printed.setdefault(one.setting, set()).add(one.paper)
                ours.setdefault(cell.column, {}).setdefault(one.setting, {})[one.here] = None
    if all(len(sets) < 2 for sets in printed.values()):
        return {}
    named = {
        column: [" or ".join(found[setting]) for setting in _DATA if setting in found]
        for column, found in ours.items()
    }
    return {column: " to ".join(dict.fromkeys(sets)) for column, sets in named.items()}


_LARGE = 1e7  # from here on numbers are costs, which papers print as powers of ten


def number(value: float | None, places: int = 2, sign: bool = False) -> str:
    """A number with a true minus sign, '—' where there is none."""
    if value is None:
        return "—"
    if abs(value) >= _LARGE:
        mantissa, _, power = f"{value:{'+' if sign else ''}.2e}".partition("e")
        return f"{mantissa}e{int(power)}".replace("-", "−")
    # 'z': what is rounded to zero has no minus sign, and gets no plus sign.
    text = f"{value:z.{places}f}"
    if sign and value > 0 and text.strip("0."):
        text = f"+{text}"
    return text.replace("-", "−")


def span(interval: tuple[float, float], places: int = 2, sign: bool = False) -> str:
    """An interval as '[low, high]'."""
    return f"[{number(interval[0], places, sign)}, {number(interval[1], places, sign)}]"


def by_seed(cell: CellResult) -> str:
    """What each trial gave: '0: 81.20 · 1: 80.75'."""
    digits = places(cell)
    shown = (f"{seed}: {number(value, digits)}" for seed, value in enumerate(cell.trials))
    return " · ".join(shown)


def differences(values: Iterable[float]) -> str:
    """Differences by trial: '+1.20 −0.31 '."""
    return "".join(f"{number(value, 2, sign=True)} " for value in values)


def published(cell: CellResult) -> str:
    """The printed cell, spread included."""
    return cell.published + ("" if cell.published_sd is None else f" ± {cell.published_sd}")


def places(cell: CellResult) -> int:
    """Decimals of the published value, in which ours is shown."""
    printed = Printed.parse(cell.published)
    if printed.value is not None:
        return places_of(printed)
    return 2 if cell.unit == "%" else 4


def gathered(
    report: Report, what: Literal["departures", "unstated"]
) -> list[tuple[Departure, str]]:
    """Every deviation or unstated setting with its tables, 'all' or '3, fig. 4'; most first."""
    tables: dict[Departure, list[str]] = {}
    for table in report.tables:
        for departure in dict.fromkeys(getattr(table, what)):
            tables.setdefault(departure, []).append(named(table.id))
    told = []
    for departure, own in sorted(tables.items(), key=lambda one: -len(one[1])):
        titles = ", ".join(own).replace("Table ", "").replace("Figure", "fig.")
        told.append((departure, "all" if len(own) == len(report.tables) else titles))
    return told


def all_claims(report: Report) -> list[tuple[TableResult, ClaimResult]]:
    """Every claim with the table that it is about."""
    return [(table, claim) for table in report.tables for claim in table.claims]


def findings_of(table: TableResult, cell: CellResult) -> tuple[Finding, ...]:
    """Audit findings that concern a cell, those that cannot be true first."""
    concerning = [one for one in table.findings if (table.id, cell.row, cell.column) in one.cells]
    return tuple(sorted(concerning, key=lambda one: one.status != "inconsistent"))


def ranges(positions: Iterable[int]) -> str:
    """Positions as numbers that count from 1: (0, 1, 2, 5) → '1–3, 6'."""
    spans = []
    numbered = enumerate(sorted(positions), start=-1)
    for _, run in itertools.groupby(numbered, lambda one: one[1] - one[0]):
        first, *others = (position + 1 for _, position in run)
        spans.append(f"{first}–{others[-1]}" if others else str(first))
    return ", ".join(spans)


def has_more(table: TableResult, cell: CellResult) -> bool:
    """Whether there is more to say of a cell than its published value and its verdict."""
    verdict = cell.verdict
    told = cell.mean is not None or cell.command or cell.note or verdict.working
    return bool(told or verdict.word == "FAILED" or findings_of(table, cell))


def short(table: TableResult) -> str:
    """'3', 'fig. 4', 'text 3.5'."""
    kind, _, rest = table.id.partition("-")
    return {"figure": f"fig. {rest}", "text": f"text {rest}"}.get(kind, table.id)


def section(table: TableResult) -> str:
    """'Section 4.2', or 'Appendix E' as it is."""
    appendix = table.section.startswith("Appendix")
    return table.section if appendix else f"Section {table.section}"


def anchor(report: Report, table: TableResult) -> str:
    """The identifier of a table's section in a document of several papers."""
    return f"{report.paper}-{named(table.id)}".lower().replace(".", "-").replace(" ", "-")


def cell_name(cell: CellResult) -> str:
    """'CP-CFL SimCLR · T = 25'."""
    return f"{' '.join(cell.row)} · {' '.join(cell.column)}"
