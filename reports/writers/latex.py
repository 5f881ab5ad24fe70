"""Every table as LaTeX (booktabs): printed over reproduced, with the verdict.

Needs `booktabs` and, for check marks, `amssymb`; each table is a `table` of its own, so that single
ones can be copied out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.results import CellResult, Report, TableResult
from fedrepro.reports import layout
from fedrepro.reports.parts import Parts, parts_of

FILE = "report.tex"
PARTS = ("tables",)

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    "±": r"$\pm$", "−": r"$-$", "≈": r"$\approx$", "—": "---", "×": r"$\times$", "→": r"$\to$",
    "✓": r"$\checkmark$",
}  # fmt: skip


def render(reports: Sequence[Report]) -> str:
    """All tables that have cells."""
    return "".join(whole(parts_of(reports, part), ()))


def part(report: Report, name: str) -> str:
    """The tables of one paper."""
    return "\n".join(render_table(report, table) for table in report.tables if table.cells)


def whole(parts: Parts, boards: Sequence[Scoreboard]) -> Iterator[str]:
    """The tables of every paper that has some."""
    yield "% needs \\usepackage{booktabs,amssymb}\n\n"
    for i, tables in enumerate(filter(None, parts("tables"))):
        yield f"\n{tables}" if i else tables


def render_table(report: Report, table: TableResult) -> str:
    """One table with the paper's rows and columns."""
    laid = layout.grid(table)
    width = laid.label_width
    columns = "l" * width + "r" * len(laid.columns)
    lines = [_header(laid, depth) for depth in range(laid.header_depth)]
    body = []
    for line in laid.lines:
        label = [*map(escape, line.label), *[""] * (width - len(line.label))]
        body.append(_row([*label, *map(_printed, line.cells)]))
        if any(cell is not None and cell.mean is not None for cell in line.cells):
            body.append(_row([*[""] * width, *map(_here, line.cells)]))
    caption = (
        f"{report.paper}, {layout.title(table)}: {table.title}. Printed, and beneath it the mean "
        f"of our trials with the verdict (profile {report.profile})."
    )
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(caption)}}}",
            rf"\label{{tab:{layout.anchor(report, table)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            *lines,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def escape(text: str) -> str:
    """Text in which nothing is a command."""
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _header(laid: layout.Grid, depth: int) -> str:
    spans = [
        escape(text) if width == 1 else rf"\multicolumn{{{width}}}{{c}}{{{escape(text)}}}"
        for text, width in laid.header(depth)
    ]
    return _row([*[""] * laid.label_width, *spans])


def _row(fields: Sequence[str]) -> str:
    return " & ".join(fields) + r" \\"


def _printed(cell: CellResult | None) -> str:
    return "" if cell is None else escape(layout.published(cell))


def _here(cell: CellResult | None) -> str:
    if cell is None:
        return ""
    word = rf"{{\scriptsize {escape(cell.verdict.word)}}}"
    if cell.mean is None:
        return word
    return f"{escape(layout.number(cell.mean, layout.places(cell)))} {word}"
