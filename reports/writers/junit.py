"""The report as JUnit XML, which CI systems show: one test case a cell, a table and a claim.

A failure is what makes the exit code 1 (`fails` of cells and tables); a cell without a trial and a
trial that failed are errors. All else that has not passed is skipped with its reason, claims too.
Texts are `printable`, since XML 1.0 cannot hold others; `ElementTree` escapes the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal
from xml.etree import ElementTree

from ...benchmark.printable import printable
from ...benchmark.results import CellResult, Report, TableResult
from .. import evidence, layout, scoreboard

FILE = "report.junit.xml"
Tag = Literal["failure", "error", "skipped"]
_PASSED = ("REPRODUCED", "HOLDS", "PASS")


def render(reports: Sequence[Report]) -> str:
    """The whole document; a suite is a table."""
    return document(suite for one in reports for suite in _suites(one))


def _suites(report: Report) -> Iterator[ElementTree.Element]:
    name, created = f"{report.paper}.{report.profile}", report.provenance.created
    for table in report.tables:
        suite = new_suite(f"{name}.{table.id.replace('.', '-')}", created)
        yield _filled(suite, report, table)
    yield from failed_trials(name, created, scoreboard.failed_trials(report))


def _filled(suite: ElementTree.Element, report: Report, table: TableResult) -> ElementTree.Element:
    external, earlier = report.external, scoreboard.of_earlier_code(report.edited)
    statements = {"external": external.statement if external else "", "earlier": earlier}
    if told := [one for one in statements.items() if one[1]]:
        said = ElementTree.SubElement(suite, "properties")
        for what, statement in told:
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
    tag: Tag = "failure" if fails else "error" if word == "FAILED" else "skipped"
    add_case(suite, name, None if word in _PASSED else tag, f"{word}: {why}", word)


def _reason(cell: CellResult) -> str:
    again = f" Again: {cell.command}" if cell.command else ""
    here = "" if cell.mean is None else f" Here: {layout.number(cell.mean, layout.places(cell))}."
    return f"{cell.verdict.reason} Printed: {layout.published(cell) or 'nothing'}.{here}{again}"


def new_suite(name: str, created: str) -> ElementTree.Element:
    """A suite without cases. created: when, in ISO 8601."""
    return ElementTree.Element("testsuite", name=printable(name), timestamp=created[:19], time="0")


def add_case(
    suite: ElementTree.Element, name: str, tag: Tag | None, message: str, kind: str = ""
) -> None:
    """A case of a suite; it passed if `tag` is None. kind: of a failure or an error, one word."""
    case = ElementTree.SubElement(
        suite, "testcase", classname=suite.get("name", ""), name=printable(name), time="0"
    )
    if tag is None:
        return
    outcome = ElementTree.SubElement(case, tag, message=printable(message))
    if tag != "skipped":
        outcome.set("type", kind)


def failed_trials(name: str, created: str, failed: Sequence[str]) -> Iterator[ElementTree.Element]:
    """A suite of trials that failed, each an error, if there are any."""
    if failed:
        trials = new_suite(f"{name}.trials", created)
        for one in failed:
            add_case(trials, one.partition(": ")[0], "error", one, "FAILED")
        yield trials


def document(suites: Iterable[ElementTree.Element]) -> str:
    """The whole document, with the counts of each suite."""
    root = ElementTree.Element("testsuites", name="fedrepro")
    for one in suites:
        one.set("tests", str(len(one.findall("testcase"))))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            one.set(count, str(len(one.findall(f"testcase/{tag}"))))
        root.append(one)
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f"<?xml version='1.0' encoding='utf-8'?>\n{text}\n"
