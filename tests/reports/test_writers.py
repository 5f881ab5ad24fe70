import csv
import io
import itertools
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import get_args
from xml.etree import ElementTree

import pytest
from pydantic import TypeAdapter, ValidationError

from fedrepro.benchmark.claims.answer import ClaimWord
from fedrepro.benchmark.external.rows import from_records
from fedrepro.benchmark.judging.answers import TableWord
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import Departure, Detail, Report, Verdict
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.settings import PRECISION
from fedrepro.reports.rows import OF_TRIALS
from fedrepro.reports.scoreboard import counts, exit_code
from fedrepro.reports.writers import csv as csv_format
from fedrepro.reports.writers import json as json_format
from fedrepro.reports.writers import junit, latex, trials

ROOT = Path(__file__).parents[2]


def with_words(report: Report, words: tuple[Detail, ...]) -> Report:
    cell = report.tables[0].cells[0]
    cells = tuple(
        replace(cell, row=(word,), verdict=replace(cell.verdict, detail=word)) for word in words
    )
    return replace(report, tables=(replace(report.tables[0], cells=cells),))


def outcomes(report: Report) -> dict[str, str]:
    suite = ElementTree.fromstring(junit.render([report])).find("testsuite")
    assert suite is not None
    return {str(case.get("name")): (case[0].tag if len(case) else "passed") for case in suite}


def test_every_trial_is_a_line_with_its_seed(report: Report) -> None:
    cell = replace(report.tables[0].cells[0], trials=(80.0, None, 81.0625), departures=(0, 1))
    known = replace(report, tables=(replace(report.tables[0], cells=(cell,)),))
    lines = list(csv.DictReader(io.StringIO(trials.render([known]))))
    assert [(line["seed"], line["value"]) for line in lines] == [("0", "80.0"), ("2", "81.0625")]
    assert {(line["row"], line["column"]) for line in lines} == {
        ("|".join(cell.row), "|".join(cell.column))
    }
    assert [*lines[0]] == list(OF_TRIALS)

    unstated = (Departure(PRECISION, "not stated", "bf16", "why"),)
    known = replace(known, edited=("methods/a.py",), series=7, readings=("fast",))
    known = replace(known, tables=(replace(known.tables[0], unstated=unstated),))
    lines = list(csv.DictReader(io.StringIO(trials.render([known]))))
    rows = from_records([("a:2", one) for one in lines], "toy")
    told = "reduced (edited) (departs from the paper) (series 7) (fast, bf16)"
    assert {one.made for one in rows} == {told}


@pytest.mark.parametrize("writer", [csv_format, trials])
@pytest.mark.parametrize("edited", [(), ("methods/a.py", "methods/b.py")])
def test_a_line_of_csv_says_how_many_files_were_edited_since(
    report: Report, writer: ModuleType, edited: tuple[str, ...]
) -> None:
    text = writer.render([replace(report, edited=edited)])
    told = {line["edited_files"] for line in csv.DictReader(io.StringIO(text))}
    assert told == {str(len(edited))}


def test_junit_fails_what_is_discrepant_and_skips_what_decides_nothing(report: Report) -> None:
    words: tuple[Detail, ...] = (
        "REPRODUCED", "EXACT", "DISCREPANT", "MISPRINT?", "ERROR", "SCALED", "DESCRIPTIVE",
        "NOT RUN", "INCONCLUSIVE", "COMPATIBLE", "SHIFTED",
    )  # fmt: skip
    found = outcomes(with_words(report, words))
    assert [found[f"{word} · 15 T = 40"] for word in words] == [
        *["passed"] * 2, "failure", "skipped", "error", *["skipped"] * 6,
    ]  # fmt: skip


@pytest.mark.parametrize("scaled", [True, False])
def test_junit_fails_what_is_not_seen_at_the_published_protocol_alone(
    worded: Report, scaled: bool
) -> None:
    table = replace(worded.tables[0], departures=worded.tables[0].departures if scaled else ())
    refuting = "skipped" if scaled else "failure"
    words: dict[TableWord, str] = {"PASS": "passed", "OPEN": "skipped", "FAIL": refuting}
    for word, expected in words.items():
        shown = replace(worded, tables=(replace(table, word=word),))
        assert outcomes(shown)["table"] == expected, word
        if expected != "passed":
            assert f"{word}: because of pass; differences are 1.2" in junit.render([shown])
    claims: tuple[ClaimWord, ...] = get_args(ClaimWord)
    found = outcomes(replace(worded, tables=(table,)))
    expected_of = {"HOLDS": "passed"}
    for claim in claims:
        name = f"claim {claim.lower().replace(' ', '-')}"
        assert found[name] == expected_of.get(claim, "skipped"), claim


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("failed", [(), ("trial 1: diverged",)])
def test_junit_fails_where_the_exit_code_does(
    worded: Report, scaled: bool, failed: tuple[str, ...]
) -> None:
    table = worded.tables[0]
    details: tuple[Detail, ...] = get_args(Detail)
    runs = (replace(worded.runs[0], errors=failed),)
    departures = table.departures[:1] if scaled else ()
    assert not scaled or departures
    for claim, detail, word in itertools.product(table.claims, details, get_args(TableWord)):
        cell = replace(table.cells[0], verdict=Verdict(detail, "r"))
        shown = replace(table, cells=(cell,), claims=(claim,), word=word, departures=departures)
        whole = replace(worded, tables=(shown,), runs=runs)
        cases = ElementTree.fromstring(junit.render([whole])).iter("testcase")
        told = any(one.tag in ("failure", "error") for case in cases for one in case)
        assert told == (exit_code([whole]) in (1, 2)), (claim.word, detail, word)


def test_junit_counts_what_it_holds(report: Report) -> None:
    for suite in ElementTree.fromstring(junit.render([report])):
        cases = list(suite)
        assert int(str(suite.get("tests"))) == len(cases)
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert int(str(suite.get(count))) == sum(case.find(tag) is not None for case in cases)


def test_csv_has_a_line_for_every_cell_and_reads_back(report: Report) -> None:
    known = replace(report, controls=report.tables[:1])
    lines = list(csv.DictReader(io.StringIO(csv_format.render([known, known]))))
    assert len(lines) == 2 * sum(len(one.cells) for one in (*known.tables, *known.controls))
    assert lines[0]["row"] == "CP-CFL|SimCLR"
    first = [lines[0][name] for name in ("published", "mean", "trials")]
    assert first == ["76.80", "81.0", "80 82 "]
    assert lines[1]["verdict"] == "NOT RUN"


def test_latex_rows_have_the_columns_that_they_announce(report: Report) -> None:
    text = latex.render_table(report, report.tables[0])
    columns = len(re.search(r"tabular}{(\w+)}", text)[1])  # type: ignore[index]
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    for row in rows:
        spans = [int(n) - 1 for n in re.findall(r"multicolumn{(\d+)}", row)]
        assert len(re.findall(r"(?<!\\)&", row)) + 1 + sum(spans) == columns
    assert r"\toprule" in text
    assert "81.00" in text


def test_a_finding_about_two_tables_counts_once(report: Report) -> None:
    assert len(report.tables) == 2
    assert counts([report], "findings") == {"inconsistent": 1}


def test_the_published_schema_is_that_of_the_results() -> None:
    published = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    assert published == json_format.schema(), "run python -m fedrepro.reports.writers.json"


def test_the_schema_holds_the_report_and_refuses_another_word(report: Report) -> None:
    kind = TypeAdapter(Report)
    document = json.loads(json_format.render([report]))
    assert kind.validate_json(json.dumps(document)) == report
    table = document["tables"][0]
    (cell, *_), (claim, *_) = table["cells"], table["claims"]
    words = (table, "word"), (cell["verdict"], "detail"), (claim["answer"], "word")
    for place, name in words:
        right, place[name] = place[name], "MAYBE"
        with pytest.raises(ValidationError):
            kind.validate_json(json.dumps(document))
        place[name] = right


PAGE = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}%s\end{document}"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX (pdflatex) is not installed")
@pytest.mark.parametrize("id", paper_ids())
def test_every_table_of_a_paper_compiles(id: str, tmp_path: Path) -> None:
    report = judge(make_plan(load_paper(id), "reduced"), {}, command="", audit=False)
    tables = tuple(
        replace(table, cells=tuple(replace(cell, mean=-1.5e9) for cell in table.cells))
        for table in report.tables
    )
    text = latex.render([report, replace(report, tables=tables)])
    # So many tables without a page between them are more than TeX keeps.
    text = text.replace(r"\end{table}", "\\end{table}\n\\clearpage")
    (tmp_path / "report.tex").write_text(PAGE % f"\n{text}\n", "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True)
    said = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, said[-2000:]
    assert "Missing character" not in (tmp_path / "report.log").read_text("utf-8", "replace")
