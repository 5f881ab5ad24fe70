"""The report as JUnit XML, which CI systems show: one test case a cell, a table and a claim.

A failure is what makes the exit code 1 (`fails` of cells and tables); a cell without a trial and a
trial that failed are errors. All else that has not passed is skipped with its reason, claims too.
Texts are `printable`, since XML 1.0 cannot hold others; `ElementTree` escapes the rest.
"""

from collections.abc import Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree

from ...benchmark.printable import printable
from ...benchmark.results import CellResult, Report, TableResult
from .. import evidence, layout, scoreboard

FILE = "report.junit.xml"
Tag = Literal["failure", "error", "skipped"]
_PASSED = ("REPRODUCED", "HOLDS", "PASS")


def render(reports: Sequence[Report]) -> str:
    """The whole document; a suite is a table, with its counts."""
    root = ElementTree.Element("testsuites", name="fedrepro")
    for one in (suite for report in reports for suite in _suites(report)):
        one.set("tests", str(len(one.findall("testcase"))))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            one.set(count, str(len(one.findall(f"testcase/{tag}"))))
        root.append(one)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n"


def _suites(report: Report) -> Iterator[ElementTree.Element]:
    for table in report.tables:
        yield _filled(_suite(report, table.id.replace(".", "-")), report, table)
    if failed := scoreboard.failed_trials(report):
        trials = _suite(report, "trials")
        for one in failed:
            _add(trials, one.partition(": ")[0], "FAILED", one, "error")
        yield trials


def _suite(report: Report, name: str) -> ElementTree.Element:
    own = printable(f"{report.paper}.{report.profile}.{name}")
    created = report.provenance.created[:19]
    return ElementTree.Element("testsuite", name=own, timestamp=created, time="0")


def _filled(suite: ElementTree.Element, report: Report, table: TableResult) -> ElementTree.Element:
    external, earlier = report.external, scoreboard.of_earlier_code(report.edited)
    statements = {"external": external.statement if external else "", "earlier": earlier}
    if told := [one for one in statements.items() if one[1]]:
        said = ElementTree.SubElement(suite, "properties")
        for what, statement in told:
            ElementTree.SubElement(said, "property", name=what, value=printable(statement))
    for cell in table.cells:
        word = cell.verdict.word
        tag: Tag = "failure" if cell.fails else "error" if word == "FAILED" else "skipped"
        _add(suite, layout.cell_name(cell), word, f"{word}: {_reason(cell)}", tag)
    if table.cells:
        why = "; ".join((table.reason, *evidence.of_table(table)))
        tag = "failure" if table.fails else "skipped"
        _add(suite, "table", table.word, f"{table.word}: {why}", tag)
    for claim in table.claims:
        why = " ".join(filter(None, (claim.says, claim.reason, evidence.line(claim))))
        _add(suite, f"claim {claim.id}", claim.word, f"{claim.word}: {why}", "skipped")
    return suite


def _add(suite: ElementTree.Element, name: str, word: str, message: str, tag: Tag) -> None:
    own = {"classname": suite.get("name", ""), "name": printable(name), "time": "0"}
    case = ElementTree.SubElement(suite, "testcase", own)
    if word not in _PASSED:
        outcome = ElementTree.SubElement(case, tag, message=printable(message))
        if tag != "skipped":
            outcome.set("type", word)


def _reason(cell: CellResult) -> str:
    again = f" Again: {cell.command}" if cell.command else ""
    here = "" if cell.mean is None else f" Here: {layout.number(cell.mean, layout.places(cell))}."
    return f"{cell.verdict.reason} Printed: {layout.published(cell) or 'nothing'}.{here}{again}"
