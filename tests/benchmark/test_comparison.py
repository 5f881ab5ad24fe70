import copy
import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from pydantic_core import to_jsonable_python
from scipy import stats

from fedrepro.benchmark import results
from fedrepro.benchmark.claims.answer import ClaimAnswer, ClaimResult
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import baseline, comparison
from fedrepro.benchmark.judging.comparison import Movement, mean_tolerance, spread_changed
from fedrepro.cli import main
from fedrepro.reports.regressions import lines

OLD = (70.0, 71.0, 69.0, 70.5, 69.5)


def report(trials=OLD, *, word="SCALED", claim="HOLDS", table="PASS", rows=("A",), **more):
    values = (tuple(trials), None, None, None, results.Verdict(word, "r"), "run", None)
    cell = (("x",), "empirical", "accuracy", "%", "70.0", None, *values)
    cells = tuple(results.CellResult((row,), *cell) for row in rows)
    answer = ClaimAnswer(claim, "r", "ratio", 1)
    claims = (ClaimResult("c", "s", "h", None, "%", "supported", "r", answer, ()),)
    judged = (cells, claims, (), (), (), (), "cmd")
    shown = results.TableResult(
        "3", "t", "1", "empirical", "accuracy", "%", 2.0, "m", *judged, word=table
    )
    run = results.RunSummary("run", "d", (0,), 1, 1.0, {}, {})
    provenance = results.Provenance("1", "abc", False, "now", "cmd", "cpu", {}, (0,), {}, 1.0, 1.0)
    whole = results.Report("p", "t", "a", 2023, "reduced", None, True, (shown,), (run,), provenance)
    return replace(whole, **more)


PLAIN = asdict(baseline.recorded(report()))


def moved(new, old=None):
    return list(comparison.check(baseline.recorded(old or report()), new).movements)


def with_cells(of, *cells, **more):
    """A report whose table has these cells."""
    return replace(of, tables=(replace(of.tables[0], cells=cells, **more),))


def test_a_systematic_drop_is_a_regression():
    (found,) = moved(report([v - 3 for v in OLD]))
    assert (found.what, found.regression) == ("value", True)
    assert found.difference == pytest.approx(-3.0)
    assert "3: A @ x" in found.sentence


def test_regressions_are_told_last_and_where_to_look():
    movements = (
        Movement("value", "3: A @ x", "50", "40", -10.0, True, 2.0),
        Movement("value", "3: B @ x", "50", "51", 1.0, False, 2.0),
        Movement("claim", "3: c", "HOLDS", "OPEN", regression=True),
    )
    found = replace(comparison.check(baseline.recorded(report()), report()), movements=movements)
    told = list(lines(found, str.lower))
    assert [line.split()[0] for line in told] == ["moved", "regressed", "regressed", "p:", "p:"]
    assert told[3] == "p: the baseline was made now at abc"
    assert told[4] == "p: 2 regressed, 1 moved within tolerance"


BOTH, VALUE = report(rows=("A", "B")), ("value", "3: A @ x")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (report(), report(), []),
        (report(), report([70.0] * 5), [(*VALUE, "70", False), ("spread", "3: A @ x", "0", True)]),
        (report(), report([None, *OLD[1:]]),
         [("trials", "3: A @ x", "4 of these", True), (*VALUE, "70", False)]),
        (report(), report([None] * 5, word="ERROR"), [("verdict", "3: A @ x", "FAILED", True)]),
        (BOTH, report(), [("verdict", "3: B @ x", "missing", True)]),
        (report(), BOTH, [("verdict", "3: B @ x", "NOT COMPARED", False)]),
        (report(word="INCONCLUSIVE"), report(word="REPRODUCED"),
         [("verdict", "3: A @ x", "REPRODUCED", False)]),
        (report(word="REPRODUCED"), report(word="INCONCLUSIVE"),
         [("verdict", "3: A @ x", "INCONCLUSIVE", True)]),
    ],
)  # fmt: skip
def test_what_moves_is_a_regression_where_it_gets_worse(old, new, told):
    found = moved(new, old=old)
    assert [(one.what, one.where, one.after, one.regression) for one in found] == told


def test_a_move_within_what_other_seeds_give_passes_but_is_told():
    (found,) = moved(report([v + 0.1 for v in OLD]))
    assert not found.regression
    t = stats.t.isf(0.05 / 3 / 2, 4)
    assert found.tolerance == pytest.approx(t * np.std(OLD, ddof=1) * np.sqrt(2 / 5))
    assert "within the tolerance" in found.sentence
    (alone,) = moved(report([70.2]), old=report([70.0]))  # one trial allows no move
    assert (alone.regression, alone.tolerance) == (True, 0.0)


@pytest.mark.parametrize("new", [[82, 81, 83, 10, 10], [95, 65, 125, 66, 60]])
def test_a_run_cannot_widen_its_own_tolerance(new):
    found = moved(report(new), old=report([82, 81, 83, 80, 84]))
    assert ("spread", True) in {(one.what, one.regression) for one in found}


def test_other_seeds_of_unchanged_code_rarely_raise_an_alarm():
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(300):
        old, new = rng.normal(70, 1, (2, 30, 8))
        alarms += any(
            abs(a.mean() - b.mean()) > mean_tolerance(list(a), 8, 30)
            or spread_changed(list(a), list(b), 30)
            for a, b in zip(old, new, strict=True)
        )
    assert alarms / 300 < 0.07


def of_method(shift=0.0):
    """A report with twenty rows of one method, each moved by `shift` of its deviation."""
    rng = np.random.default_rng(5)
    rows = {chr(65 + k): rng.normal(70, k + 1, 5) + shift * (k + 1) for k in range(20)}
    base = report(rows=tuple(rows))
    cells = (replace(cell, trials=tuple(rows[cell.row[0]])) for cell in base.tables[0].cells)
    runs = (replace(base.runs[0], config={"method": "fedavg"}),)
    return replace(with_cells(base, *cells), runs=runs)


def test_a_move_that_no_cell_shows_is_seen_over_all_cells_of_a_method():
    found = moved(of_method(-1.2), old=of_method())
    assert [one.where for one in found if one.regression] == ["methods: fedavg, accuracy"]
    assert moved(of_method(), old=of_method()) == []


def test_exact_numbers_are_asked_for_where_versions_and_processor_are_the_same():
    made = replace(report().provenance, versions={"torch": "2.13.0"})
    old = baseline.recorded(report(provenance=made))
    edited = [*OLD[:-1], OLD[-1] + 1e-6]
    assert comparison.check(old, report(edited, provenance=made)).passed
    found = comparison.check(old, report(edited, provenance=made), exact=True)
    assert [one.what for one in found.regressions] == ["value"]
    other = replace(made, versions={"torch": "2.14.0"})
    found = comparison.check(old, report(edited, provenance=other), exact=True)
    assert found.passed
    assert found.inexact == "torch was 2.13.0 and is 2.14.0"


def test_failures_that_were_recorded_pass_and_others_do_not():
    def failing(*errors):
        return replace(report(), runs=(replace(report().runs[0], errors=errors),))

    old = baseline.recorded(failing("trial 3: diverged at round 7"))
    assert comparison.check(old, failing("trial 3: diverged at round 7")).passed
    assert comparison.check(old, failing("trial 3: diverged at round 2")).failed
    assert [one.what for one in comparison.check(old, report()).movements] == ["failure"]


def test_a_baseline_with_a_value_that_its_metric_cannot_have_is_refused():
    with pytest.raises(FedreproError, match=r"damaged: 3: A @ x: 142\.7% is no accuracy"):
        moved(report(), old=report([142.7, *OLD[1:]]))


@pytest.mark.parametrize(("what", "before", "worse", "others"), [
    ("claim", "HOLDS", ("SAME DIRECTION", "NOT RUN"), ()),
    ("claim", "SAME DIRECTION", ("OPEN",), ("HOLDS",)),
    ("claim", "OPEN", ("OPPOSITE",), ("HOLDS", "ABSENT", "NOT COMPARED")),
    ("claim", "ABSENT", ("OPPOSITE",), ()),
    ("claim", "OPPOSITE", (), ("OPEN",)),
    ("table", "PASS", ("OPEN", "FAIL", "NOT RUN"), ()),
    ("table", "OPEN", ("FAIL",), ("PASS",)),
    ("table", "FAIL", (), ("OPEN",)),
])  # fmt: skip
def test_a_claim_or_a_table_that_gets_worse_is_a_regression(what, before, worse, others):
    where = {"claim": "3: c", "table": "3"}[what]
    for after in worse + others:
        (found,) = moved(report(**{what: after}), old=report(**{what: before}))
        assert (found.what, found.where, found.regression) == (what, where, after in worse)
        assert found.sentence == f"{where}: {what} {before} -> {after}"


@pytest.mark.parametrize(
    ("version", "word", "regression"),
    [("2.14.0", "OPEN", False), ("2.13.0", "OPEN", True), ("2.14.0", "HOLDS", True)],
)
def test_on_another_version_alone_a_claim_may_turn_but_not_to_the_opposite(
    version, word, regression
):
    made = replace(report().provenance, versions={"torch": "2.13.0"})
    now = replace(made, versions={"torch": version})
    new = report([one - 0.1 for one in OLD], claim="OPPOSITE", provenance=now)
    found = comparison.check(baseline.recorded(report(claim=word, provenance=made)), new)
    assert [one.regression for one in found.movements if one.what == "claim"] == [regression]
    differs = version != "2.13.0"
    assert found.inexact == ("torch was 2.13.0 and is 2.14.0" if differs else "")


@pytest.mark.parametrize(
    "head", [{"profile": "paper"}, {"on": "mnist"}, {"paper": "q"}, {"series": 1}]
)
def test_a_baseline_of_another_profile_paper_data_set_or_series_is_refused(head):
    with pytest.raises(FedreproError, match=next(iter(head))):
        moved(report(**head))


def test_a_gate_that_measures_nothing_does_not_pass():
    with pytest.raises(FedreproError, match="has no trained cell of this report"):
        moved(report(rows=("B",)))
    with pytest.raises(FedreproError, match="nothing to record"):
        baseline.save(Path("b.json"), baseline.recorded(report([None] * 5)))


def test_a_baseline_survives_the_file(tmp_path):
    path = baseline.path_for(tmp_path / "baselines", "p", "reduced", "mnist")
    assert path.name == "p-reduced-mnist.json"
    baseline.save(path, baseline.recorded(report()))
    assert baseline.load(path) == baseline.recorded(report())
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    path.write_text("\ufeff" + path.read_text("utf-8"), "utf-8")  # as an editor of Windows saves it
    assert baseline.load(path) == baseline.recorded(report())


@pytest.mark.parametrize("edited", [
    lambda plain: plain["stated"].popitem(),
    lambda plain: plain["versions"].update(numpy="0"),
    lambda plain: plain["cells"].popitem()[1]["trials"].reverse(),
    lambda plain: plain.pop("sha256"),
])  # fmt: skip
def test_a_baseline_that_was_edited_is_refused(tmp_path, edited):
    baseline.save(path := tmp_path / "b.json", baseline.recorded(report()))
    plain = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(plain), "utf-8")  # another layout is no other content
    assert baseline.load(path) == baseline.recorded(report())
    edited(plain)
    path.write_text(json.dumps(plain), "utf-8")
    with pytest.raises(FedreproError, match="not as it was recorded"):
        baseline.load(path)


@pytest.mark.parametrize("name", ["../../p", "a/b", "x" * 300])
def test_a_baseline_lies_in_its_folder_whatever_the_profile_is_called(tmp_path, name):
    with pytest.raises(FedreproError, match="cannot be the name"):
        baseline.path_for(tmp_path, "p", name, None)


@pytest.mark.parametrize(("content", "said"), [
    (None, "no baseline"),
    ("{", "no baseline of this version: Invalid JSON"),
    ("{}", "no baseline"),
    ("3", "no baseline"),
    (PLAIN | {"cells": []}, "version: cells: "),
    (PLAIN | {"cells": {"3: A": 5}}, "version: cells.3: A: "),
    (PLAIN | {"cells": {"3: A": {"trials": "x", "verdict": "OPEN", "run": None}}}, "trials"),
    (PLAIN | {"cells": {"3: A": {"trials": [1e999], "verdict": "E", "run": None}}}, "finite"),
    (PLAIN | {"versions": {"torch": 5}}, "version: versions.torch: "),
    (PLAIN | {"schema": 1}, "schema: Input should be 2; record it again"),
    (PLAIN | {"schema": 99}, "schema: Input should be 2; record it again"),
    ("[" * 100_000, "recursion limit"),
    ('{"cells": ' * 100_000, "recursion limit"),
])  # fmt: skip
def test_a_missing_or_damaged_baseline_is_one_clear_line(tmp_path, content, said):
    path = tmp_path / "b.json"
    if content is not None:
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FedreproError, match=said) as caught:
        baseline.load(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


REPORT = json.loads(json.dumps(to_jsonable_python(report())))


def differing(folder, *reports, ask=("--json",)):
    places = [folder / f"{i}.json" for i in range(2)]
    for place, one in zip(places, reports, strict=True):
        place.write_text(json.dumps(one), "utf-8")
    return main(["diff", *map(str, places), *ask])


def changed(**changes):
    other = copy.deepcopy(REPORT)
    other["tables"][0]["cells"][0] |= changes
    return other


@pytest.mark.parametrize(("trials", "told"), [
    (OLD, []),
    ([v + 0.1 for v in OLD], ["value"]),
    ([*OLD, 70.0], ["value"]),
    ([v + 9 for v in OLD], ["value"]),
    ([None, *OLD[1:]], ["trials", "value"]),
])  # fmt: skip
def test_reports_differ_where_any_mean_or_trial_does(tmp_path, capsys, trials, told):
    assert differing(tmp_path, REPORT, changed(trials=list(trials))) == bool(told)
    assert [one["what"] for one in json.loads(capsys.readouterr().out)] == told


def test_words_cells_and_claims_that_differ_are_told(tmp_path, capsys):
    after = changed(verdict={"word": "FAILED"}, trials=[])
    after["tables"][0]["claims"][0]["id"] = "d"
    after["tables"][0]["cells"].append(REPORT["tables"][0]["cells"][0] | {"row": ["B"]})
    assert differing(tmp_path, REPORT, after) == 1
    names = "what", "where", "before", "after"
    assert [[one[n] for n in names] for one in json.loads(capsys.readouterr().out)] == [
        ["verdict", "p reduced 3: A @ x", "NOT COMPARED", "FAILED"],
        ["verdict", "p reduced 3: B @ x", "missing", "NOT COMPARED"],
        ["claim", "p reduced 3: c", "HOLDS", "missing"],
        ["claim", "p reduced 3: d", "missing", "HOLDS"],
    ]


def test_diff_reads_files_folders_and_lists(tmp_path, capsys):
    (tmp_path / "report.json").write_text(json.dumps([REPORT]))
    later = tmp_path / "later.json"
    later.write_text(json.dumps(changed(trials=[v + 10 for v in OLD])))
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 0
    assert main(["diff", str(tmp_path), str(later)]) == 1
    assert "70 -> 80 (+10, beyond the tolerance of" in capsys.readouterr().out
    (tmp_path / "report.json").write_text(json.dumps([REPORT, REPORT]))
    assert main(["diff", str(later), str(tmp_path)]) == 2
    assert "has two reports of p reduced, made now and now" in capsys.readouterr().err


def test_two_reports_without_trials_are_not_said_to_be_equal(tmp_path, capsys):
    untrained = changed(trials=[None])
    assert differing(tmp_path, untrained, untrained) == 3
    assert "nothing was compared: no cell has trials on both sides" in capsys.readouterr().err
    assert differing(tmp_path, REPORT, {**REPORT, "paper": "other"}) == 2


def test_two_reports_are_one_page_with_both_words_and_what_moved(tmp_path, capsys):
    after = changed(trials=[v + 10 for v in OLD])
    after["tables"][0] |= {"word": "FAIL", "title": "<b>"}
    page = tmp_path / "both.html"
    assert differing(tmp_path, REPORT, after, ask=("--html", str(page))) == 1
    text = re.sub(r"<[^>]+>", " ", page.read_text("utf-8").partition("<main>")[2])
    shown = " ".join(text.split())
    assert f"Table 3 {REPORT['tables'][0]['word']}" in shown
    assert "FAIL" in shown
    assert "value A @ x 70 80 +10.00" in shown


@pytest.mark.parametrize(("text", "named"), [
    (None, "no fedrepro report"),
    ("{", "Invalid JSON"),
    ("{}", "no fedrepro report"),
    ("[" * 100_000, "recursion limit"),
    (json.dumps(REPORT).replace("70.5", "NaN"), "finite"),
    (json.dumps(REPORT).replace("70.5", "1e999"), "finite"),
    (json.dumps(REPORT).replace("70.5", '"70.5"'), "trials"),
    (json.dumps(changed(row=[5])), "no fedrepro report"),
    (json.dumps({**REPORT, "tables": 5}), "no fedrepro report"),
    (json.dumps({**REPORT, "on": ["x"]}), "on"),
    (json.dumps({**REPORT, "schema": 1}), "be 2; make it again with `fedrepro report`"),
])  # fmt: skip
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


def test_cells_and_claims_that_state_something_else_are_regressions():
    now = report()
    (cell,), (claim,) = now.tables[0].cells, now.tables[0].claims
    claims = (replace(claim, holds="h turned round", headline="it is best", says="more"),)
    found = moved(with_cells(now, replace(cell, published="10.0"), claims=claims))
    told = [(one.where, one.regression) for one in found]
    assert told == [("3: A @ x", True), ("3: c", True), ("3: c, says", False),
                    ("3: c, headline", True)]  # fmt: skip
    (found,) = moved(with_cells(now, replace(cell, spread="sd 0.5")))
    a, b = (f"70.0 (margin None), spread {spread}" for spread in ("none", "sd 0.5"))
    assert (found.sentence, found.regression) == (f"3: A @ x: spec {a} -> {b}", True)
    (found,) = moved(with_cells(now, replace(cell, run="other")))
    shown = "3: A @ x: spec run run -> run other, with other settings"
    assert (found.sentence, found.regression) == (shown, False)
    old = baseline.recorded(now)
    cells = {place: replace(one, spread=None) for place, one in old.cells.items()}
    (found,) = comparison.check(replace(old, cells=cells), now).movements
    assert found.sentence == "printed spreads, claims' words: spec not recorded -> unknown"


def test_what_is_read_and_said_and_audited_is_compared_where_it_is_recorded():
    def read(at, kind, audit):
        now = report(first=results.FirstLines(totals=(f"audit: {audit}",)))
        (cell,), (claim,) = now.tables[0].cells, now.tables[0].claims
        claims = (replace(claim, answer=replace(claim.answer, kind=kind)),)
        return with_cells(now, replace(cell, read=at), claims=claims)

    new, old = read("final", "ratio", 0), read("best", "every trial", 1)
    told = [(one.where, one.after, one.regression) for one in moved(new, old)]
    assert told == [
        ("3: A @ x", "70.0 (margin None), read final", True),
        ("3: c, said of", "means", True),
        ("audit", "0", False),
    ]
    assert moved(new, replace(new, first=results.FirstLines())) == []


def test_a_changed_claim_whose_id_ends_with_audit_is_a_regression():
    before = replace(baseline.recorded(report()), stated={"3: passes-the-audit": "'A' > 'B'"})
    after = replace(before, stated={"3: passes-the-audit": "'B' > 'A'"})
    assert [one.regression for one in comparison.compare(before, after)] == [True]


def test_trials_that_a_failed_cell_has_gained_are_told():
    before, after = (baseline.recorded(report(t, word="ERROR")) for t in ([None] * 5, OLD))
    found = [one.sentence for one in comparison.compare(before, after)]
    assert found == ["3: A @ x: trials 0 -> 5"]


def test_another_metric_is_a_regression_where_the_baseline_has_one():
    now, old = report(), baseline.recorded(report())
    (cell,) = now.tables[0].cells
    now = with_cells(now, replace(cell, metric="f1_macro"))
    (found,) = comparison.check(old, now).regressions
    assert found.after == "70.0 (margin None), metric f1_macro"
    older = {place: replace(one, metric=None) for place, one in old.cells.items()}
    assert comparison.check(replace(old, cells=older), now).passed


def test_a_gate_in_which_no_fall_can_regress_is_refused():
    wide = (10.0, 60.0, 35.0, 80.0, 20.0)
    with pytest.raises(FedreproError, match="no cell can regress"):
        moved(report(wide), old=report(wide))
    first, second = BOTH.tables[0].cells
    both = with_cells(BOTH, first, replace(second, trials=wide))
    assert comparison.check(baseline.recorded(both), both).blind == ("3: B @ x",)


def test_a_single_trial_is_compared_where_all_trials_of_its_run_stand():
    def with_part(trials):
        first, second = report(trials, rows=("A", "B")).tables[0].cells
        return with_cells(BOTH, first, replace(second, trials=(None, trials[1], None, None, None)))

    near = [v + 0.1 for v in OLD]
    assert [one.where for one in moved(with_part(near), old=with_part(OLD))] == ["3: A @ x"]
    far = [v - 9 for v in OLD]
    assert {one.where for one in moved(with_part(far), old=with_part(OLD))} == {"3: A @ x"}
    lone = report([None, 70.0, None, None, None])
    assert moved(report([None, 70.1, None, None, None]), old=lone)[0].regression


def test_cells_of_single_trials_keep_no_method_from_being_compared():
    def with_single(shift):
        made = of_method(shift)
        cells = list(made.tables[0].cells)
        for k, seed in enumerate((0, 1, 2)):
            one = cells[k]
            alone = tuple(value if i == seed else None for i, value in enumerate(one.trials))
            cells.append(replace(one, row=(f"single {k}",), trials=alone))
        return with_cells(made, *cells, replace(cells[0], row=("not run",), trials=(None,) * 5))

    found = moved(with_single(-1.2), old=with_single(0.0))
    assert [one.where for one in found if one.what == "method"] == ["methods: fedavg, accuracy"]
