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
        *dict.fromkeys(("", c.verdict.word, c.verdict.reason) for c in table.cells),
        *(
            ("claim ", one.word, f"{one.says} {one.reason} {evidence.line(one)}")
            for one in table.claims
        ),
        *(("audit ", one.status, f"{one.statement} {one.computed}") for one in table.findings),
    ]
    lines += [
        "",
        *(f"{what}{paint(one_line(word))}: {one_line(text)}" for what, word, text in said),
    ]
    return "\n".join([*lines, "", one_line(f"again: {table.command}"), ""])


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
