import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy import stats

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import baseline
from fedrepro.benchmark.judging.baseline import Movement
from fedrepro.benchmark.results import (
    CellResult,
    ClaimResult,
    Provenance,
    Report,
    RunSummary,
    TableResult,
    Verdict,
)

OLD = (70.0, 71.0, 69.0, 70.5, 69.5)


def report(trials=OLD, *, word="SCALED", claim="HOLDS", source="1", rows=("A",), **more):
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
    claims = (ClaimResult("c", "s", "h", "supported", "r", claim, "r", None, ()),)
    table = TableResult(
        "3", "t", "1", "empirical", "accuracy", "%", 2.0, "m", cells, claims, (), (), (), (), "cmd"
    )
    run = RunSummary(
        "run", "d", (0,), 1, 1.0, {}, {}, source={"methods/a.py": source, "methods/b.py": "0"}
    )
    provenance = Provenance("1", "abc", False, "now", "cmd", "cpu", {}, (0,), {}, 1.0, 1.0)
    whole = Report("p", "t", "a", 2023, "reduced", None, True, (table,), (run,), provenance)
    return replace(whole, **more)


PLAIN = asdict(baseline.record(report()))


def moved(new, old=None):
    return baseline.compare(baseline.record(old or report()), new)


def test_the_same_numbers_have_not_moved():
    assert moved(report()) == []


def test_a_systematic_drop_is_a_regression_and_names_the_edited_file():
    (found,) = moved(report([v - 3 for v in OLD], source="2"))
    assert (found.what, found.regression) == ("value", True)
    assert found.difference == pytest.approx(-3.0)
    assert found.files == ("methods/a.py",)
    assert "3: A @ x" in found.sentence


def test_regressions_are_told_last_and_edited_files_once():
    movements = [
        Movement("value", "3: A @ x", "50", "40", -10.0, True, 2.0, ("a.py", "b.py")),
        Movement("value", "3: B @ x", "50", "51", 1.0, False, 2.0, ("b.py",)),
        Movement("claim", "3: c", "HOLDS", "UNRESOLVED", regression=True),
    ]
    lines = list(baseline.lines("p", movements, str.lower))
    assert [line.split()[0] for line in lines] == ["moved", "regressed", "regressed", "p:", "p:"]
    assert (
        lines[3] == "p: edited since the baseline, and behind how many of these: b.py (2), a.py (1)"
    )
    assert lines[4] == "p: 2 regressed, 1 moved within tolerance"


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
        assert baseline.tolerance(OLD, list(new)) == pytest.approx(expected)


def test_redrawn_random_numbers_rarely_raise_an_alarm():
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(4000):
        a, b = rng.normal(70, 1, 5), rng.normal(70, 1, 5)
        alarms += abs(a.mean() - b.mean()) > baseline.tolerance(list(a), list(b))
    assert alarms / 4000 < 0.02


def test_one_trial_allows_no_move():
    (found,) = moved(report([70.2]), old=report([70.0]))
    assert (found.regression, found.tolerance) == (True, 0.0)


def test_only_seeds_of_both_are_compared():
    assert moved(report([None, *OLD[1:]])) == []


def test_a_lost_cell_is_a_regression():
    (found,) = moved(report([None] * 5, word="ERROR", rows=("A",)))
    assert (found.what, found.regression, found.after) == ("verdict", True, "ERROR")


@pytest.mark.parametrize(
    ("before", "after", "regression"),
    [
        ("HOLDS", "UNRESOLVED", True),
        ("UNRESOLVED", "REVERSED", True),
        ("UNRESOLVED", "HOLDS", False),
        ("UNRESOLVED", "PARTLY", True),
        ("UNRESOLVED", "OPPOSITE HERE", True),
        ("HOLDS", "NOT JUDGED", True),
        ("PARTLY", "REVERSED", True),
        ("PARTLY", "UNRESOLVED", False),
        ("REVERSED", "PARTLY", False),
        ("REVERSED", "OPPOSITE HERE", False),
        ("OPPOSITE HERE", "REVERSED", False),
        ("UNRESOLVED", "NOT JUDGED", False),
    ],
)
def test_a_claim_that_gets_worse_is_a_regression(before, after, regression):
    (found,) = moved(report(claim=after), old=report(claim=before))
    assert (found.what, found.where, found.regression) == ("claim", "3: c", regression)


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
    old = replace(baseline.record(report()), series=None)
    assert baseline.compare(old, report(series=1)) == []


def test_a_gate_that_measures_nothing_does_not_pass():
    with pytest.raises(FedreproError, match="shares no trained cell"):
        moved(report(rows=("B",)))
    with pytest.raises(FedreproError, match="none"):
        baseline.record(report([None] * 5))


def test_a_baseline_survives_the_file(tmp_path):
    path = baseline.path_for(tmp_path / "baselines", "p", "reduced", "mnist")
    assert path.name == "p-reduced-mnist.json"
    baseline.save(path, report())
    assert baseline.compare(baseline.load(path), report()) == []
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["../../p", "a/b", "x" * 300])
def test_a_baseline_lies_in_its_folder_whatever_the_profile_is_called(tmp_path, name):
    with pytest.raises(FedreproError, match="cannot be the name"):
        baseline.path_for(tmp_path, "p", name, None)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no baseline"),
        ("{", "no baseline: Invalid JSON"),
        ("{}", "no baseline"),
        ("3", "no baseline"),
        (PLAIN | {"cells": []}, "no baseline: cells: "),
        (PLAIN | {"cells": {"3: A": 5}}, "no baseline: cells.3: A: "),
        (PLAIN | {"cells": {"3: A": {"trials": "x", "verdict": "SCALED", "run": None}}}, "trials"),
        (PLAIN | {"cells": {"3: A": {"trials": [1e999], "verdict": "E", "run": None}}}, "finite"),
        (PLAIN | {"sources": {"run": {"a.py": 5}}}, "no baseline: sources.run.a.py: "),
        ("[" * 100_000, "recursion limit"),
        ('{"cells": ' * 100_000, "recursion limit"),
    ],
)
def test_a_missing_or_damaged_baseline_is_one_clear_line(tmp_path, content, said):
    path = tmp_path / "b.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FedreproError, match=said) as caught:
        baseline.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_baseline_of_a_newer_schema_is_refused():
    old = replace(baseline.record(report()), schema=99)
    with pytest.raises(FedreproError, match="schema 99"):
        baseline.compare(old, report())
