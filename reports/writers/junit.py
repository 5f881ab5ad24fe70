"""The report as JUnit XML, which CI systems show: one test case a cell and a claim.

DISCREPANT is a failure and ERROR an error. So is a claim of which the opposite is shown, in whole
or in part, at the published protocol. On a scaled run, which refutes nothing, it is skipped with
its reason, as is all that decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.printable import printable
from fedrepro.benchmark.results import CellResult, Report, TableResult
from fedrepro.reports import evidence, layout

FILE = "report.junit.xml"

_PASSED = ("REPRODUCED", "EXACT", "COMPATIBLE", "HOLDS")
_BEGIN = "<?xml version='1.0' encoding='utf-8'?>\n<testsuites name=\"fedrepro\">\n"
_END = "</testsuites>\n"


def render(reports: Sequence[Report]) -> str:
    """The whole document; a suite is a table.

    Texts are `printable`, since XML 1.0 cannot hold others; `ElementTree` escapes the rest.
    """
    root = ElementTree.Element("testsuites")
    for report in reports:
        for table in report.tables:
            _add_suite(root, report, table)
    ElementTree.indent(root, " ")
    suites = (ElementTree.tostring(suite, encoding="unicode").rstrip() for suite in root)
    return _BEGIN + "".join(f" {suite}\n" for suite in suites) + _END


def join(boards: Sequence[Scoreboard], files: Iterable[str]) -> Iterator[str]:
    """The suites of all papers in one document."""
    yield _BEGIN
    for file in files:
        yield file.removeprefix(_BEGIN).removesuffix(_END)
    yield _END


def _add_suite(root: ElementTree.Element, report: Report, table: TableResult) -> None:
    name = f"{report.paper}.{report.profile}.{table.id.replace('.', '-')}"
    suite = ElementTree.SubElement(
        root, "testsuite", name=printable(name), timestamp=report.provenance.created[:19], time="0"
    )
    if report.external is not None:
        said = ElementTree.SubElement(suite, "properties")
        statement = printable(report.external.statement)
        ElementTree.SubElement(said, "property", name="external", value=statement)
    for cell in table.cells:
        case = _case(suite, name, layout.cell_name(cell))
        _outcome(case, cell.verdict.word, _reason(cell), cell.verdict.word == "DISCREPANT")
    for claim in table.claims:
        case = _case(suite, name, f"claim {claim.id}")
        refuted = claim.word in ("REVERSED", "PARTLY") and not table.departures
        why = " ".join(filter(None, (claim.says, claim.reason, evidence.line(claim))))
        _outcome(case, claim.word, why, refuted)
    suite.set("tests", str(len(suite.findall("testcase"))))
    for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(count, str(len(suite.findall(f"testcase/{tag}"))))


def _case(suite: ElementTree.Element, classname: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", classname=printable(classname), name=printable(name), time="0"
    )


def _outcome(case: ElementTree.Element, word: str, why: str, failed: bool) -> None:
    if word in _PASSED:
        return
    tag = "failure" if failed else "error" if word == "ERROR" else "skipped"
    outcome = ElementTree.SubElement(case, tag, message=printable(f"{word}: {why}"))
    if tag != "skipped":
        outcome.set("type", word)


def _reason(cell: CellResult) -> str:
    again = f" Again: {cell.command}" if cell.command else ""
    here = "" if cell.mean is None else f" Here: {layout.number(cell.mean, layout.places(cell))}."
    return f"{cell.verdict.reason} Printed: {layout.published(cell) or 'nothing'}.{here}{again}"
