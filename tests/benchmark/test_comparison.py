"""What moved between a baseline and a report, and between two reports or stores."""

import copy
import json
from dataclasses import asdict, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import stats

from fedrepro.benchmark.claims.answer import ClaimAnswer
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import comparison
from fedrepro.benchmark.judging.comparison import Movement
from fedrepro.benchmark.plain import as_plain
from fedrepro.benchmark.results import (
    CellResult,
    ClaimResult,
    Provenance,
    Report,
    RunSummary,
    TableResult,
    Verdict,
)
from fedrepro.cli import main
from fedrepro.reports.regressions import junit, lines

FAILED = Verdict("ERROR", "r")
OLD = (70.0, 71.0, 69.0, 70.5, 69.5)


def report(
    trials=OLD, *, word="SCALED", claim="HOLDS", table="PASS", source="1", rows=("A",), **more
):
    cells = tuple(
        CellResult(
            row=(row,),
            column=("x",),
            kind="empirical",
            metric="accuracy",
            unit="%",
            published="70.0",
            published_sd=None,
            trials=tuple(trials),
            mean=None,
            sd=None,
            interval=None,
            verdict=Verdict(word, "r"),
            run="run",
            command=None,
        )
        for row in rows
    )
    answer = ClaimAnswer(claim, "r", "ratio", 1)
    claims = (ClaimResult("c", "s", "h", None, "%", "supported", "r", answer, ()),)
    judged = (cells, claims, (), (), (), (), "cmd")
    shown = TableResult("3", "t", "1", "empirical", "accuracy", "%", 2.0, "m", *judged, word=table)
    run = RunSummary(
        "run", "d", (0,), 1, 1.0, {}, {}, source={"methods/a.py": source, "methods/b.py": "0"}
    )
    provenance = Provenance("1", "abc", False, "now", "cmd", "cpu", {}, (0,), {}, 1.0, 1.0)
    whole = Report("p", "t", "a", 2023, "reduced", None, True, (shown,), (run,), provenance)
    return replace(whole, **more)


PLAIN = asdict(comparison.recorded(report()))


def moved(new, old=None):
    return list(comparison.check(comparison.recorded(old or report()), new).movements)


def test_the_same_numbers_have_not_moved():
    assert moved(report()) == []


def test_a_systematic_drop_is_a_regression_and_names_the_edited_file():
    (found,) = moved(report([v - 3 for v in OLD], source="2"))
    assert (found.what, found.regression) == ("value", True)
    assert found.difference == pytest.approx(-3.0)
    assert found.files == ("methods/a.py",)
    assert "3: A @ x" in found.sentence


def test_regressions_are_told_last_and_edited_files_once():
    movements = (
        Movement("value", "3: A @ x", "50", "40", -10.0, True, 2.0, ("a.py", "b.py")),
        Movement("value", "3: B @ x", "50", "51", 1.0, False, 2.0, ("b.py",)),
        Movement("claim", "3: c", "HOLDS", "OPEN", regression=True),
    )
    found = replace(comparison.check(comparison.recorded(report()), report()), movements=movements)
    told = list(lines(found, str.lower))
    assert [line.split()[0] for line in told] == ["moved", "regressed", "regressed", "p:", "p:"]
    edited = "p: edited since the baseline, and behind how many of these: b.py (2), a.py (1)"
    assert told[3:] == [edited, "p: 2 regressed, 1 moved within tolerance"]


def test_a_move_smaller_than_the_recorded_standard_error_passes_but_is_told():
    (found,) = moved(report([v + 0.1 for v in OLD]))
    assert not found.regression
    assert found.tolerance == pytest.approx(np.std(OLD, ddof=1) / np.sqrt(5))
    assert "within the tolerance" in found.sentence


def test_the_tolerance_is_the_paired_one_where_pairing_helps_and_else_the_unpaired():
    rng = np.random.default_rng(0)
    for noise in (0.01, 1.0, 8.0):
        new = np.array(OLD) + rng.normal(0, noise, 5)
        paired = stats.t.ppf(0.995, 4) * stats.sem(new - OLD)
        unpaired = stats.t.ppf(0.995, 8) * np.sqrt((np.var(OLD, ddof=1) + np.var(new, ddof=1)) / 5)
        expected = max(stats.sem(OLD), min(paired, unpaired))
        assert comparison.tolerance(OLD, list(new)) == pytest.approx(expected)


def test_redrawn_random_numbers_rarely_raise_an_alarm():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(4000):
        a, b = rng.normal(70, 1, 5), rng.normal(70, 1, 5)
        alarms += abs(a.mean() - b.mean()) > comparison.tolerance(list(a), list(b))
    assert alarms / 4000 < 0.02


def test_one_trial_allows_no_move():
    (found,) = moved(report([70.2]), old=report([70.0]))
    assert (found.regression, found.tolerance) == (True, 0.0)


def test_only_seeds_of_both_are_compared():
    assert moved(report([None, *OLD[1:]])) == []


def test_a_lost_cell_is_a_regression_and_a_new_one_is_told():
    (found,) = moved(report([None] * 5, word="ERROR"))
    assert (found.what, found.regression, found.after) == ("verdict", True, "FAILED")
    both = report(rows=("A", "B"))
    (found,) = moved(report(), old=both)
    assert (found.where, found.after, found.regression) == ("3: B @ x", "absent", True)
    (found,) = moved(both, old=report())
    assert (found.where, found.before, found.regression) == ("3: B @ x", "absent", False)


@pytest.mark.parametrize(
    ("before", "after", "regression"),
    [
        ("HOLDS", "SAME DIRECTION", True),
        ("HOLDS", "NOT RUN", True),
        ("SAME DIRECTION", "OPEN", True),
        ("SAME DIRECTION", "HOLDS", False),
        ("OPEN", "OPPOSITE", True),
        ("ABSENT", "OPPOSITE", True),
        ("OPEN", "HOLDS", False),
        ("OPEN", "ABSENT", False),
        ("OPEN", "NOT COMPARED", False),
        ("OPPOSITE", "OPEN", False),
    ],
)
def test_a_claim_that_gets_worse_is_a_regression(before, after, regression):
    (found,) = moved(report(claim=after), old=report(claim=before))
    assert (found.what, found.where, found.regression) == ("claim", "3: c", regression)


@pytest.mark.parametrize(
    ("before", "after", "regression"),
    [
        ("PASS", "OPEN", True),
        ("PASS", "FAIL", True),
        ("PASS", "NOT RUN", True),
        ("OPEN", "FAIL", True),
        ("OPEN", "PASS", False),
        ("FAIL", "OPEN", False),
    ],
)
def test_a_table_that_gets_worse_is_a_regression(before, after, regression):
    (found,) = moved(report(table=after), old=report(table=before))
    assert (found.what, found.where, found.regression) == ("table", "3", regression)
    assert found.sentence == f"3: table {before} -> {after}"
    check = comparison.check(comparison.recorded(report(table=before)), report(table=after))
    told = ElementTree.fromstring(junit([check], "again")).find("testsuite/testcase[@name='table']")
    assert (told.find("failure") is not None) == regression


def test_a_baseline_without_words_of_tables_is_compared_by_all_else():
    old = replace(comparison.recorded(report()), tables={})
    assert comparison.check(old, report(table="FAIL")).movements == ()


def test_a_verdict_that_gets_better_is_told_but_passes():
    (found,) = moved(report(word="REPRODUCED"), old=report(word="INCONCLUSIVE"))
    assert not found.regression
    (found,) = moved(report(word="INCONCLUSIVE"), old=report(word="REPRODUCED"))
    assert found.regression


@pytest.mark.parametrize(
    "head", [{"profile": "paper"}, {"on": "mnist"}, {"paper": "q"}, {"series": 1}]
)
def test_a_baseline_of_another_profile_paper_data_set_or_series_is_refused(head):
    with pytest.raises(FedreproError, match=next(iter(head))):
        moved(report(**head))


def test_a_baseline_of_a_version_that_did_not_say_the_series_is_compared():
    old = replace(comparison.recorded(report()), series=None)
    assert comparison.check(old, report(series=1)).movements == ()


def test_a_gate_that_measures_nothing_does_not_pass():
    with pytest.raises(FedreproError, match="shares no trained cell"):
        moved(report(rows=("B",)))
    with pytest.raises(FedreproError, match="none"):
        comparison.save(Path("b.json"), comparison.recorded(report([None] * 5)))


def test_a_baseline_survives_the_file(tmp_path):
    path = comparison.path_for(tmp_path / "baselines", "p", "reduced", "mnist")
    assert path.name == "p-reduced-mnist.json"
    comparison.save(path, comparison.recorded(report()))
    assert comparison.load(path) == comparison.recorded(report())
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["../../p", "a/b", "x" * 300])
def test_a_baseline_lies_in_its_folder_whatever_the_profile_is_called(tmp_path, name):
    with pytest.raises(FedreproError, match="cannot be the name"):
        comparison.path_for(tmp_path, "p", name, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no baseline"),
        ("{", "no baseline: Invalid JSON"),
        ("{}", "no baseline"),
        ("3", "no baseline"),
        (PLAIN | {"cells": []}, "no baseline: cells: "),
        (PLAIN | {"cells": {"3: A": 5}}, "no baseline: cells.3: A: "),
        (PLAIN | {"cells": {"3: A": {"trials": "x", "verdict": "OPEN", "run": None}}}, "trials"),
        (PLAIN | {"cells": {"3: A": {"trials": [1e999], "verdict": "E", "run": None}}}, "finite"),
        (PLAIN | {"sources": {"run": {"a.py": 5}}}, "no baseline: sources.a.py.0: "),
        ("[" * 100_000, "recursion limit"),
        ('{"cells": ' * 100_000, "recursion limit"),
    ],
)
def test_a_missing_or_damaged_baseline_is_one_clear_line(tmp_path, content, said):
    path = tmp_path / "b.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FedreproError, match=said) as caught:
        comparison.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_baseline_of_a_newer_schema_is_refused(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps(PLAIN | {"schema": 99}))
    with pytest.raises(FedreproError, match="schema 99"):
        comparison.load(tmp_path / "b.json")


def test_a_baseline_with_sources_by_run_is_read(tmp_path):
    """Several versions of one file stay apart, and only a version of none of them is an edit."""
    sources = {"run": {"methods/a.py": "1", "methods/b.py": "0"}, "other": {"methods/a.py": "2"}}
    (tmp_path / "b.json").write_text(json.dumps(PLAIN | {"schema": 1, "sources": sources}))
    read = comparison.load(tmp_path / "b.json")
    assert read.sources == {"methods/a.py": ["1", "2"], "methods/b.py": ["0"]}
    for source, edited in (("1", ()), ("2", ()), ("3", ("methods/a.py",))):
        moves = comparison.check(read, report([v - 3 for v in OLD], source=source)).movements
        (found,) = (one for one in moves if one.what == "value")
        assert found.files == edited


def test_words_of_the_first_schema_are_not_held_against_those_of_now(tmp_path):
    """It had other rules for them: its values are compared alone."""
    cells = {place: cell | {"verdict": "SCALED"} for place, cell in PLAIN["cells"].items()}
    old = PLAIN | {"schema": 1, "cells": cells, "claims": {"3: c": "PARTLY"}}
    (tmp_path / "b.json").write_text(json.dumps(old))
    read = comparison.load(tmp_path / "b.json")
    assert comparison.check(read, report()).movements == ()
    (found,) = comparison.check(read, report([v - 3 for v in OLD])).movements
    assert (found.what, found.regression) == ("value", True)


def test_a_cell_that_the_first_schema_had_and_that_is_lost_is_a_regression(tmp_path):
    (tmp_path / "b.json").write_text(json.dumps(PLAIN | {"schema": 1}))
    read = comparison.load(tmp_path / "b.json")
    both = report(rows=("A", "B"))
    lost = both.tables[0].cells[0], replace(both.tables[0].cells[1], trials=(), verdict=FAILED)
    old = replace(read, cells={**read.cells, "3: B @ x": read.cells["3: A @ x"]})
    for cells in (lost, lost[:1]):
        now = replace(both, tables=(replace(both.tables[0], cells=cells),))
        assert [one.where for one in comparison.check(old, now).regressions] == ["3: B @ x"]


def test_a_report_of_the_first_schema_is_refused_in_a_line(tmp_path):
    old = copy.deepcopy(REPORT)
    claim = old["tables"][0]["claims"][0]
    claim |= {"word": claim.pop("answer")["word"]}
    (tmp_path / "report.json").write_text(json.dumps(old | {"schema": 1}))
    with pytest.raises(FedreproError, match="schema 1") as caught:
        comparison.read_reports(tmp_path / "report.json")
    assert len(str(caught.value).splitlines()) == 1


REPORT = json.loads(json.dumps(as_plain(report())))


def differing(folder, *reports):
    """The lines, and the exit code, of what differs between two reports in files."""
    places = [folder / f"{i}.json" for i in range(2)]
    for place, one in zip(places, reports, strict=True):
        place.write_text(json.dumps(one), "utf-8")
    return main(["diff", *map(str, places), "--json"])


def changed(**changes):
    other = copy.deepcopy(REPORT)
    other["tables"][0]["cells"][0] |= changes
    return other


@pytest.mark.parametrize(
    ("trials", "code"),
    [(OLD, 0), ([v + 0.1 for v in OLD], 0), ([v + 9 for v in OLD], 1), ([None, *OLD[1:]], 0)],
)
def test_reports_differ_in_values_that_left_their_tolerance(tmp_path, capsys, trials, code):
    assert differing(tmp_path, REPORT, changed(trials=list(trials))) == code
    assert [one["what"] for one in json.loads(capsys.readouterr().out)] == ["value"] * code


def test_words_cells_and_claims_that_differ_are_told(tmp_path, capsys):
    after = changed(verdict={"word": "FAILED"}, trials=[])
    after["tables"][0]["claims"][0]["id"] = "d"
    after["tables"][0]["cells"].append(REPORT["tables"][0]["cells"][0] | {"row": ["B"]})
    assert differing(tmp_path, REPORT, after) == 1
    assert [
        [one[name] for name in ("what", "where", "before", "after")]
        for one in json.loads(capsys.readouterr().out)
    ] == [
        ["verdict", "p reduced 3: A @ x", "NOT COMPARED", "FAILED"],
        ["verdict", "p reduced 3: B @ x", "absent", "NOT COMPARED"],
        ["claim", "p reduced 3: c", "HOLDS", "absent"],
        ["claim", "p reduced 3: d", "absent", "HOLDS"],
    ]


def test_diff_reads_files_folders_and_lists(tmp_path, capsys):
    (tmp_path / "report.json").write_text(json.dumps([REPORT]))
    later = tmp_path / "later.json"
    later.write_text(json.dumps(changed(trials=[v + 10 for v in OLD])))
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 0
    assert main(["diff", str(tmp_path), str(later)]) == 1
    assert "70 -> 80 (+10, beyond the tolerance of" in capsys.readouterr().out


def test_stores_are_judged_and_compared(tmp_path, capsys):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "store.json").write_text('{"schema": 1}')
    sides = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert main(["diff", *sides, "--papers", "fcl", "--profile", "paper"]) == 0
    assert "0 differences" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--papers", "cpcfk"], ["--profile", "nonesuch"]])
def test_options_of_stores_are_refused_where_no_side_is_one(tmp_path, capsys, words):
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    assert main(["diff", str(tmp_path), str(tmp_path), *words]) == 2
    assert "neither side is one" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (None, "no fedrepro report"),
        ("{", "Invalid JSON"),
        ("{}", "no fedrepro report"),
        ("[]", "share no table"),
        ("[" * 100_000, "recursion limit"),
        (json.dumps(REPORT).replace("70.5", "NaN"), "finite"),
        (json.dumps(REPORT).replace("70.5", "1e999"), "finite"),
        (json.dumps(REPORT).replace("70.5", '"70.5"'), "trials"),
        (json.dumps(changed(row=[5])), "no fedrepro report"),
        (json.dumps({**REPORT, "tables": 5}), "no fedrepro report"),
        (json.dumps({**REPORT, "on": ["x"]}), "on"),
    ],
)
def test_what_is_no_report_is_one_line(tmp_path, capsys, text, named):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(REPORT))
    if text is not None:
        bad.write_text(text)
    assert main(["diff", str(good), str(bad)]) == 2
    error = capsys.readouterr().err.strip()
    assert named in error
    assert len(error.splitlines()) == 1
    assert len(error) < 500
