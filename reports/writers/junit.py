"""The report as JUnit XML, which CI systems show: one test case a cell, a table and a claim.

A failure is what makes the exit code 1 (`fails` of cells and tables); a cell without a trial and a
trial that failed are errors. All else that has not passed is skipped with its reason, claims too:
they inform, and the word of their table decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from ...benchmark.judging.scoreboard import of_earlier_code, scoreboard
from ...benchmark.printable import printable
from ...benchmark.results import CellResult, Report, TableResult
from .. import evidence, junit_xml, layout

FILE = "report.junit.xml"

_PASSED = ("REPRODUCED", "HOLDS", "PASS")


def render(reports: Sequence[Report]) -> str:
    """The whole document; a suite is a table."""
    return junit_xml.document(suite for one in reports for suite in _suites(one))


def _suites(report: Report) -> Iterator[ElementTree.Element]:
    name, created = f"{report.paper}.{report.profile}", report.provenance.created
    for table in report.tables:
        suite = junit_xml.suite(f"{name}.{table.id.replace('.', '-')}", created)
        yield _filled(suite, report, table)
    yield from junit_xml.failed_trials(name, created, scoreboard(report).failed)


def _filled(suite: ElementTree.Element, report: Report, table: TableResult) -> ElementTree.Element:
    statements = {
        "external": "" if report.external is None else report.external.statement,
        "earlier": of_earlier_code(report.edited),
    }
    if any(statements.values()):
        said = ElementTree.SubElement(suite, "properties")
        for what, statement in statements.items():
            if statement:
                ElementTree.SubElement(said, "property", name=what, value=printable(statement))
    for cell in table.cells:
        word = cell.verdict.word
        _add(suite, layout.cell_name(cell), word, _reason(cell), cell.fails)
    if table.cells:
        why = "; ".join((table.reason, *evidence.of_table(table)))
        _add(suite, "table", table.word, why, table.fails)
    for claim in table.claims:
        why = " ".join(filter(None, (claim.says, claim.reason, evidence.line(claim))))
        _add(suite, f"claim {claim.id}", claim.word, why)
    return suite


def _add(suite: ElementTree.Element, name: str, word: str, why: str, fails: bool = False) -> None:
    tag: junit_xml.Tag = "failure" if fails else "error" if word == "FAILED" else "skipped"
    junit_xml.add_case(suite, name, None if word in _PASSED else tag, f"{word}: {why}", word)


def _reason(cell: CellResult) -> str:
    again = f" Again: {cell.command}" if cell.command else ""
    here = "" if cell.mean is None else f" Here: {layout.number(cell.mean, layout.places(cell))}."
    return f"{cell.verdict.reason} Printed: {layout.published(cell) or 'nothing'}.{here}{again}"
