"""A judged table as lines of text: printed, reproduced and verdict, in columns."""

from collections.abc import Callable, Sequence

from ..benchmark.printable import one_line
from ..benchmark.results import CellResult, Report, TableResult, named
from . import evidence, layout

Paint = Callable[..., str]
"""Colours a text in the colour of a verdict's word."""


def render(report: Report, paint: Paint) -> str:
    """Every table of a report; `paint(text, word)` colours what carries a verdict's word."""
    return "\n".join(_table(report, table, paint) for table in (*report.tables, *report.controls))


def _table(report: Report, table: TableResult, paint: Paint) -> str:
    head = f"{report.paper}, {named(table.id)}: {table.title} (profile {report.profile})"
    unit = f", {table.metric} in {table.unit}" if table.unit else ""
    lines = [one_line(head), one_line(f"{layout.section(table)}{unit}; published | here")]
    if table.run_on:
        lines.append(one_line(f"run on {table.run_on}"))
    answered = "; ".join((table.reason, *evidence.of_table(table)))
    badge = one_line(f"{table.word} · {report.profile}")
    lines += [f"{paint(badge, table.word)}: {one_line(answered)}", ""]
    lines += _grid(layout.grid(table), paint) if table.cells else []
    said = [
        *dict.fromkeys(("", c.verdict.word, _why(c)) for c in table.cells),
        *(("claim ", c.word, f"{c.says} {c.reason} {evidence.line(c)}") for c in table.claims),
        *(("audit ", one.status, f"{one.statement} {one.computed}") for one in table.findings),
    ]
    lines += ["", *(f"{what}{paint(one_line(w))}: {one_line(text)}" for what, w, text in said)]
    return "\n".join([*lines, "", one_line(f"run again: {table.command}"), ""])


def _why(cell: CellResult) -> str:
    """The reason of a verdict; in which of many settings a run differs, the report says."""
    said, _, settings = cell.verdict.reason.partition(" from the paper in ")
    return f"{said} from the paper; the report lists the settings." if settings else said


def _grid(laid: layout.Grid, paint: Paint) -> list[str]:
    header = ["", *(one_line(" ".join(column)) for column in laid.columns)]
    rows = [[one_line(" ".join(line.label)), *map(_text, line.cells)] for line in laid.lines]
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]

    def aligned(row: Sequence[str]) -> list[str]:
        first, *others = zip(row, widths, strict=True)
        return [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]

    lines = ["  ".join(aligned(header))]
    for line, row in zip(laid.lines, rows, strict=True):
        label, *shown = aligned(row)
        painted = (
            text if cell is None else paint(text, cell.verdict.word)
            for cell, text in zip(line.cells, shown, strict=True)
        )
        lines.append("  ".join([label, *painted]))
    return lines


def _text(cell: CellResult | None) -> str:
    if cell is None:
        return ""
    printed, word = one_line(layout.published(cell)) or ".", one_line(cell.verdict.word)
    if cell.mean is None:
        return f"{printed} {word}"
    here = f"{printed} | {layout.number(cell.mean, layout.places(cell))}"
    return here if word == "NOT COMPARED" else f"{here} {word}"
