"""The report as JUnit XML, which CI systems show: one test case a cell and a claim.

DISCREPANT is a failure and FAILED an error. At the published protocol so are a table that says FAIL
and a claim that says OPPOSITE. On a scaled run, which refutes nothing, these are skipped
with their reason, as is all that decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from ...benchmark.judging.scoreboard import of_earlier_code
from ...benchmark.printable import printable
from ...benchmark.results import CellResult, Report, TableResult
from .. import evidence, junit_xml, layout

FILE = "report.junit.xml"

_PASSED = ("REPRODUCED", "HOLDS", "PASS")


def render(reports: Sequence[Report]) -> str:
    """The whole document; a suite is a table."""
    return junit_xml.document(_suite(one, table) for one in reports for table in one.tables)


def _suite(report: Report, table: TableResult) -> ElementTree.Element:
    name = f"{report.paper}.{report.profile}.{table.id.replace('.', '-')}"
    suite = junit_xml.suite(name, report.provenance.created)
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
        refuted = cell.verdict.detail == "DISCREPANT"
        _add(suite, layout.cell_name(cell), word, _reason(cell), refuted)
    if table.cells:
        failed = table.word == "FAIL" and not table.departures
        why = "; ".join((table.reason, *evidence.of_table(table)))
        _add(suite, "table", table.word, why, failed)
    for claim in table.claims:
        refuted = claim.word == "OPPOSITE" and not table.departures
        why = " ".join(filter(None, (claim.says, claim.reason, evidence.line(claim))))
        _add(suite, f"claim {claim.id}", claim.word, why, refuted)
    return suite


def _add(suite: ElementTree.Element, name: str, word: str, why: str, failed: bool) -> None:
    tag: junit_xml.Tag = "failure" if failed else "error" if word == "FAILED" else "skipped"
    junit_xml.add_case(suite, name, None if word in _PASSED else tag, f"{word}: {why}", word)


def _reason(cell: CellResult) -> str:
    again = f" Again: {cell.command}" if cell.command else ""
    here = "" if cell.mean is None else f" Here: {layout.number(cell.mean, layout.places(cell))}."
    return f"{cell.verdict.reason} Printed: {layout.published(cell) or 'nothing'}.{here}{again}"
