"""A page takes steps for what it shows, not for pages before it nor for pairs of what it shows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fedrepro.benchmark.results import Report, Series
from fedrepro.reports.writers import html
from tests.benchmark.test_growth import calls_of


def another(report: Report, i: int) -> Report:
    """A paper with names of its own in all places where names may be kept."""

    def panel(series: Series) -> Series:
        return replace(series, lines={f"{name} {i}": v for name, v in series.lines.items()})

    tables = [
        replace(
            table,
            claims=tuple(replace(claim, id=f"{claim.id}-{i}") for claim in table.claims),
            panels=tuple(map(panel, table.panels)),
        )
        for table in report.tables
    ]
    return replace(report, paper=f"paper-{i}", tables=tuple(tables))


def test_a_page_takes_as_many_steps_however_many_were_written_before(report: Report) -> None:
    pages = [partial(html.part, another(report, i), "page") for i in range(10)]
    first, *_, last = [calls_of(page) for page in pages][1:]
    assert last < 1.02 * first


def test_a_table_takes_steps_in_proportion_to_its_rows(report: Report) -> None:
    table = report.tables[0]

    def steps(rows: int) -> int:
        cells = tuple(replace(table.cells[0], row=(f"row {i}",)) for i in range(rows))
        return calls_of(
            lambda: html.render([replace(report, tables=(replace(table, cells=cells),))])
        )

    steps(1)
    few, more, most = steps(50), steps(100), steps(150)
    assert most - more < 1.02 * (more - few)
