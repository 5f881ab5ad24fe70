import json
import shlex
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from pydantic_core import to_jsonable_python

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan, PlannedCell
from fedrepro.benchmark.results import Departure, Verdict
from fedrepro.benchmark.spec.choices import Unstated
from fedrepro.benchmark.spec.model import Claim, Figure, Margin, Override, Paper, Profile, Sd, Table
from fedrepro.benchmark.store.store import TrialRecord
from fedrepro.commands._options import parse_sets
from fedrepro.methods.outcome import Curve
from fedrepro.reports.scoreboard import exit_code, failed_trials
from tests.benchmark.audit.small_paper import cell as of_paper
from tests.benchmark.small_papers import drawn as unprinted

SCALED = Departure("training.rounds", "100", "2", "time")


def config(method, start=None):
    data, encoder = {"name": "digits"}, {"name": "cnn"}
    return RunConfig("federated", method, {"rounds": 2}, data, encoder, init_from=start)


def cell(row, text, *, column="T = 2", **more):
    more.setdefault("table", "3")
    return of_paper(text, row, column, **{"experiment": {}, **more})


def table(cells, *, id="3", claims=(), margin=2.0, figure=None, ddof=0, runs=5, unit="%"):
    holds = {"cells": tuple(cells), "claims": tuple(claims), "figure": figure, "sd": Sd(ddof, runs)}
    holds["margin"] = None if margin is None else Margin(margin, "because")
    told = {"unstated": (Unstated("stride", "2", "fits"),), "notes": ("a note",)}
    place = {"paper": "p", "file": Path("3.toml")}
    return Table(id, "title", "4.2", "empirical", "accuracy", unit, **holds, **told, **place)


def plan_of(tables, planned, *, drawings=(), trials=3):
    profile = Profile(3, on={"mnist": (Override("clients.data", "w", "mnist"),)}, name="paper")
    paper = Paper("p", "t", "a", 2023, {"paper": profile}, tables=tuple(tables))
    runs = dict.fromkeys(
        run
        for one in (*planned, *drawings)
        if one.config is not None
        for run in (one.config.init_from, one.config)
        if run is not None
    )
    return Plan(paper, profile, None, trials, tuple(planned), tuple(runs), tuple(drawings))


class Shelf:
    def __init__(self, *, errors=None, stale=None, arrays=None, released=True):
        self.records, self.errors, self.edits = {}, errors or {}, stale or {}
        self.arrays, self.released = arrays or {}, released

    def put(self, run, values, *, first=0, metric="accuracy"):
        """values: by trial, the metric by round."""
        train = {"checksum": "c", "is_release": self.released, "note": "folder"}
        made = {"device": "cpu", "versions": {"torch": "2"}, "wall_s": 1.5, "peak_bytes": 7}
        told = {"methods/a.py": "1"}, {**made, "data": {"digits/train": train}}
        for seed, curve in enumerate(values, first):
            metrics = {metric: Curve(tuple(range(1, len(curve) + 1)), tuple(curve))}
            measured = seed, metrics, {"parameters": 10.0 + seed}
            self.records[run, seed] = TrialRecord(run.key, run.as_dict(), *measured, *told)
        return self

    def find(self, run, seed):
        return self.records.get((run, seed))

    def stale(self, run, seed):
        return self.edits.get((run, seed), [])

    def error(self, run, seed):
        return self.errors.get((run, seed))

    def load_arrays(self, record):
        return self.arrays


OURS, BASE = config("ours"), config("base")
CLOSE = [[0.1, 0.700], [0.2, 0.701], [0.3, 0.702]]


def both_trained():
    """Ours, and a baseline whose trials lie ten points below."""
    return Shelf().put(OURS, CLOSE).put(BASE, [[0.1, 0.60], [0.2, 0.61], [0.1, 0.604]])


def judged(plan, store, **not_run):
    return judge(plan, load_trials(plan, store, **not_run), command="fedrepro run p")


def plan_for(one, departures=(), *, run=OURS, reason=None, read="final", **more):
    """A table of one cell; a text is what is printed in it."""
    one = cell("A|B", one) if isinstance(one, str) else one
    planned = PlannedCell(run, reason, read, departures, cell=one)
    return plan_of([table([one], **more)], [planned])


def single(text, values, departures=(), *, read="final", margin=2.0, own=None, **more):
    plan = plan_for(cell("A|B", text, margin=own, **more), departures, read=read, margin=margin)
    return only(judged(plan, Shelf().put(OURS, values)))


def bound(cells, runs, departures=()):
    return [
        PlannedCell(run, None, "final", departures, cell=one)
        for one, run in zip(cells, runs, strict=True)
    ]


def only(report):
    return report.tables[0].cells[0]


def test_a_cell_shows_its_reading_in_its_unit_by_trial():
    found = single("70.10", CLOSE)
    assert found.trials == pytest.approx((70.0, 70.1, 70.2))
    assert found.mean == pytest.approx(70.1)
    assert found.sd == pytest.approx(0.1)
    assert found.interval[0] == pytest.approx(70.1 - 4.302653 * 0.1 / np.sqrt(3))
    assert (found.published, found.verdict.word) == ("70.10", "REPRODUCED")
    early = single("20.00", CLOSE, read=1)
    assert early.trials == pytest.approx((10.0, 20.0, 30.0))
    best = single("90.00", [[0.9, 0.1], [0.8, 0.2]], read="best")
    assert best.trials[:2] == pytest.approx((90.0, 80.0))
    name, runs = "false_negative_ratio", [[0.9, 0.1], [0.8, 0.2]]
    plan = plan_for(cell("A|B", "10.0", metric=name), read="best")
    least = only(judged(plan, Shelf().put(OURS, runs, metric=name)))
    assert least.trials[:2] == pytest.approx((10.0, 20.0))
    fraction = single("0.70", CLOSE, unit="")
    assert fraction.trials == pytest.approx((0.70, 0.701, 0.702))


def test_a_run_with_a_departure_is_never_judged():
    found = single("70.10", CLOSE, (SCALED,))
    assert (found.verdict.word, found.verdict.detail) == ("NOT COMPARED", "SCALED")
    assert "training.rounds" in found.verdict.reason
    assert found.mean == pytest.approx(70.1)


def test_equal_departures_of_a_table_are_shown_once_in_the_order_of_its_cells():
    other = Departure("clients.count", "100", "5", "time")
    cells = [cell("A", "70.10"), cell("B", "60.00")]
    planned = [
        PlannedCell(OURS, None, "final", departures, cell=one)
        for one, departures in zip(cells, ((SCALED, other), (other, replace(SCALED))), strict=True)
    ]
    found = judged(plan_of([table(cells)], planned), Shelf().put(OURS, CLOSE)).tables[0]
    assert found.departures == (SCALED, other)
    assert [one.departures for one in found.cells] == [(0, 1), (1, 0)]


@pytest.mark.parametrize("released", [True, False])
def test_what_must_be_known_of_the_data_is_a_note_or_a_departure(released):
    [found] = judged(plan_for("70.10"), Shelf(released=released).put(OURS, CLOSE)).tables
    assert ("digits/train: folder" in found.notes) is released
    assert [one.here for one in found.departures] == ([] if released else ["folder"])
    verdict = found.cells[0].verdict
    assert verdict.detail == ("REPRODUCED" if released else "SCALED")
    assert ("data.digits/train" in verdict.reason) is not released


def test_pretraining_that_failed_is_named_and_on_data_that_are_not_the_release_scales_the_run():
    before = config("simclr")
    run = config("ours", start=before)
    shelf = Shelf().put(run, CLOSE)
    shelf.released = False
    report = judged(plan_for("70.10", run=run), shelf.put(before, CLOSE))
    assert only(report).verdict.detail == "SCALED"
    assert report.scaled
    failing = Shelf(errors={(before, 0): "diverged at round 1"})
    found = only(judged(plan_for("70.10", run=run), failing))
    assert found.verdict.word == "FAILED"
    assert "simclr on digits" in found.verdict.reason


def test_nothing_stored_is_not_run_and_a_failure_is_an_error():
    def verdict(store, **more):
        return only(judged(plan_for("70.10"), store, **more)).verdict

    assert verdict(Shelf()).word == "NOT RUN"
    failed = verdict(Shelf(errors={(OURS, 1): "diverged at round 7"}))
    assert (failed.word, "trial 1: diverged at round 7" in failed.reason) == ("FAILED", True)
    stale = verdict(Shelf(stale={(OURS, 0): ["methods/a.py"]}))
    assert (stale.word, "methods/a.py" in stale.reason) == ("NOT RUN", True)
    blocked = verdict(Shelf(), not_run={OURS.key: "stl10 is missing"})
    assert (blocked.word, blocked.reason) == ("NOT RUN", "stl10 is missing.")


@pytest.mark.parametrize("departures", [(), (SCALED,)])
@pytest.mark.parametrize("text", ["70.10", "70.10 ± 0.50", "90.00"])
def test_a_cell_that_lost_a_trial_names_it_and_is_not_judged_by_the_others(text, departures):
    shelf = Shelf(errors={(OURS, 0): "diverged at round 7"}).put(OURS, CLOSE[1:], first=1)
    found = only(judged(plan_for(text, departures), shelf))
    assert found.trials == pytest.approx((None, 70.1, 70.2))
    assert found.verdict.detail == ("SCALED" if departures else "INCONCLUSIVE")
    assert "2 of 3 trials finished; failed: trial 0: diverged at round 7." in found.verdict.reason
    assert found.verdict.difference == pytest.approx(found.mean - float(text.split()[0]))
    assert found.failed == ("trial 0: diverged at round 7",)
    assert to_jsonable_python(found)["failed"] == ["trial 0: diverged at round 7"]


def test_a_mean_over_fewer_clients_says_so_and_is_not_judged():
    name = "auroc_ovr_macro_by_client"
    shelf = Shelf().put(OURS, CLOSE, metric=name)
    for record in shelf.records.values():
        record.counts["undefined_auroc"] = 3
    found = only(judged(plan_for(cell("A|B", "70.10", metric=name)), shelf))
    assert found.verdict.word == "INCONCLUSIVE"
    assert "undefined for up to 3 clients" in found.verdict.reason


def test_a_cell_whose_trials_are_not_all_made_yet_is_not_judged_either():
    plan = plan_for("70.10")
    found = only(judged(plan, Shelf().put(OURS, CLOSE[:2])))
    assert found.verdict.word == "INCONCLUSIVE"
    assert "2 of 3 trials finished; the others are not stored." in found.verdict.reason
    assert found.failed == ()
    stale = Shelf(stale={(OURS, 2): ["methods/a.py"]}).put(OURS, CLOSE[:2])
    assert "methods/a.py" in only(judged(plan, stale)).verdict.reason
    assert only(judged(plan, Shelf().put(OURS, CLOSE))).verdict.word == "REPRODUCED"


def test_where_looks_are_declared_a_cell_is_judged_once_at_the_last():
    plan = plan_for("70.10")
    looking = replace(plan, profile=replace(plan.profile, looks=(3, 5)))

    def verdict(values, **shelf):
        asked = replace(looking, trials=len(values))
        stored = Shelf(**shelf).put(OURS, [v for v in values if v is not None])
        return only(judged(asked, stored)).verdict

    close = [*CLOSE, [0.1, 0.7], [0.1, 0.702]]
    early, last = verdict(CLOSE), verdict(close)
    assert early.word == "INCONCLUSIVE"
    assert "3 trials: a cell is judged once, with the 5 of the last interim" in early.reason
    assert last.word == "REPRODUCED"
    assert "its 90 % interval" in last.reason
    far = verdict([*close, [0.1, 0.2]])
    assert (far.word, far.interval, far.difference) == (last.word, last.interval, last.difference)
    assert "Of 6 trials the first 5 count: so many are declared." in far.reason
    # What is missing beyond the last look takes no verdict away, and before it does.
    assert verdict([*close, None]).word == "REPRODUCED"
    lost = verdict([*close[:4], None], errors={(OURS, 4): "diverged"})
    assert lost.word == "INCONCLUSIVE"
    assert "diverged" in lost.reason


@pytest.mark.parametrize("lost", ["ours", "base"])
def test_a_claim_never_holds_on_the_trials_that_are_left(lost):
    cells = [cell("Ours", "70.10"), cell("Base", "60.00")]
    main = table(
        cells,
        claims=[Claim("better", "s", "'Ours' > 'Base'"), Claim("worse", "s", "'Base' > 'Ours'")],
    )
    plan, shelf = plan_of([main], bound(cells, (OURS, BASE))), both_trained()
    words = [claim.word for claim in judged(plan, shelf).tables[0].claims]
    assert words == ["HOLDS", "OPPOSITE"]
    run = OURS if lost == "ours" else BASE
    del shelf.records[run, 1]
    shelf.errors[run, 1] = "diverged at round 7"
    for claim in judged(plan, shelf).tables[0].claims:
        assert claim.word == "OPEN"
        assert lost in claim.reason.lower()
        assert "2 of 3 trials finished; failed: trial 1: diverged at round 7." in claim.reason


@pytest.mark.parametrize("departures", [(), (SCALED,)])
def test_a_failed_trial_is_counted_and_makes_the_exit_code_1(departures):
    plan = plan_for("70.10", departures)
    assert exit_code([judged(plan, Shelf().put(OURS, CLOSE))]) == 0
    shelf = Shelf(errors={(OURS, 2): "diverged at round 7"}).put(OURS, CLOSE[:2])
    report = judged(plan, shelf)
    assert failed_trials(report) == ("ours on digits, trial 2: diverged at round 7",)
    assert exit_code([report]) == 1


def test_numbers_that_were_only_recomputed_are_a_result_where_nothing_waits_for_a_run():
    report = judged(plan_for("1", run=None), Shelf())
    (shown,) = report.tables
    (one,) = shown.cells
    counted = replace(one, kind="analytic", verdict=Verdict("EXACT", "r"))
    for cells, code in (((one,), 3), ((counted,), 0), ((counted, replace(one, run="key")), 3)):
        now = replace(report, tables=(replace(shown, cells=cells),))
        assert exit_code([now]) == code
        fine = judged(plan_for("70.10"), Shelf().put(OURS, CLOSE))
        assert exit_code([fine, now, fine]) == code


@pytest.mark.parametrize(
    ("text", "more", "word", "said"),
    [
        ("70.10", {"metric": "f1_macro"}, "FAILED", ""),  # was not measured
        ("70.10", {"read": 9}, "FAILED", "round 9"),
        ("", {}, "NOT COMPARED", ""),
        ("70.10", {"margin": None}, "INCONCLUSIVE", ""),
        ("0.70", {"unit": ""}, "INCONCLUSIVE", "unit"),
    ],
)
def test_what_was_not_measured_or_printed_or_has_no_margin_in_its_unit_is_not_judged(
    text, more, word, said
):
    found = single(text, CLOSE, **more)
    assert (found.verdict.word, said in found.verdict.reason) == (word, True)
    if word != "FAILED":
        assert found.mean == pytest.approx(70.1 if text != "0.70" else 0.701)


def test_cells_that_are_no_experiment_keep_their_words():
    words = {
        "NOT COMPARED": cell("A|B", "yes", kind="descriptive"),
        "NOT RUN": cell("A|B", "70.1", skip="quoted from another paper"),
    }
    for word, one in words.items():
        found = only(judged(plan_for(one, run=None, reason=one.skip or "descriptive"), Shelf()))
        assert found.verdict.word == word
        assert (found.run, found.command) == (None, None)
    dash = judged(plan_for("—", run=None, reason="nothing is printed"), Shelf())
    assert "dash" in only(dash).verdict.reason


def test_a_columns_own_margin_goes_before_the_tables_and_holds_in_its_unit():
    strict, loose = Margin(0.01, "fine"), Margin(50.0, "coarse")
    assert single("70.10", CLOSE).verdict.word == "REPRODUCED"
    assert single("70.10", CLOSE, own=strict).verdict.word != "REPRODUCED"
    found = single("70.10", CLOSE, margin=None, own=loose)
    assert found.verdict.word == "REPRODUCED"
    assert "±50 (coarse)" in (found.note or "")


def test_a_margin_that_covers_other_rows_says_how_many():
    rows = {"A": "70.10", "B": "69.00", "C": "60.00"}
    cells = [cell(row, text) for row, text in rows.items()]
    planned, shelf = bound(cells, [OURS] * len(cells)), Shelf().put(OURS, CLOSE)
    wide = judged(plan_of([table(cells, margin=6.0)], planned), shelf).tables[0].cells
    for one in wide[:2]:
        assert one.verdict.reason.endswith("This margin also covers 1 of 2 other rows.")
    narrow = judged(plan_of([table(cells, margin=2.0)], planned), shelf).tables[0].cells
    assert not any("other rows" in one.verdict.reason for one in narrow)


@pytest.mark.parametrize(
    ("ddof", "runs", "word"),
    [(None, 5, "REPRODUCED"), (0, None, "INCONCLUSIVE"), (None, 1, "INCONCLUSIVE")],
)
def test_a_spread_that_the_paper_does_not_explain_costs_no_report(ddof, runs, word):
    plan = plan_for("70.10 ± 0.50", ddof=ddof, runs=runs)
    assert only(judged(plan, Shelf().put(OURS, CLOSE))).verdict.word == word


def test_commands_re_run_a_cell_as_the_plan_did_with_what_was_set_on_the_command_line():
    sets = (("training.rounds", 3), ("clients.data", "mnist"), ("pretraining.shared", True))
    plan = replace(plan_for(cell("A b|B", "70.10")), trials=5, on="mnist")
    found = judged(plan, Shelf()).tables[0]
    assert found.command == "fedrepro run p --tables 3 --profile paper --on mnist --trials 5"
    assert "--rows 'A b|B'" in found.cells[0].command
    words = shlex.split(judged(replace(plan, sets=sets), Shelf()).tables[0].command)
    given = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    assert tuple(parse_sets(given)) == sets


def claims_report(selected=("3",)):
    protocol = {"clients": {"data": "stl10", "count": 60}, "training": {"rounds": 100}}
    cells = [
        cell(row, text, experiment=protocol) for row, text in (("Ours", "70.10"), ("Base", "60.00"))
    ]
    figure = table(
        [],
        id="figure-4",
        claims=[Claim("shown", "s", "'Ours' > 'Base' at 'T = 2' in '3'")],
        figure=Figure("curves"),
    )
    main = table(cells, claims=[Claim("better", "s", "'Ours' > 'Base'")])
    planned = bound(cells, (OURS, BASE), (SCALED,))
    label = ("a", "Ours")
    drawing = PlannedCell(OURS, None, "final", (SCALED,), cell=unprinted({}, row=label))
    plan = plan_of([main, figure], planned if "3" in selected else [], drawings=[drawing])
    return judged(plan, both_trained())


def test_claims_are_judged_on_scaled_runs_also_from_a_figure():
    main, figure = claims_report().tables
    assert [claim.word for claim in (*main.claims, *figure.claims)] == ["HOLDS", "HOLDS"]
    assert main.claims[0].support == "supported"
    assert {one.verdict.word for one in main.cells} == {"NOT COMPARED"}


def test_every_table_says_what_it_was_run_on_and_the_report_first_of_all():
    report = claims_report()
    main, figure = report.tables
    assert main.run_on == ("digits, 2 rounds, 3 trials (paper: STL-10, 60 clients, 100 rounds)")
    assert (figure.word, figure.answers) == ("NOT COMPARED", ())
    assert report.first.run_on == f"paper: {main.run_on}"
    assert report.first.totals[0] == "tables and figures: 0 pass, 0 fail, 1 open, 1 not compared"
    assert report.first.totals[1:] == (
        "all tables together: differences are 0.95 [0.84, 1.07] times the published",
        "of 2 claims 2 hold",
        "audit: 0 contradictions among the paper's own numbers",
    )


def test_a_table_of_which_nothing_was_trained_was_not_run():
    found = judged(plan_for("70.10"), Shelf()).tables[0]
    assert (found.word, found.reason) == ("NOT RUN", "no finished trial is stored")


MEANS = {f"M{i}": 0.5 + i / 20 for i in range(5)}  # of five methods, printed 50.00 to 70.00


def whole_table(truth, *, departures=(), copied=False, trials=6):
    """A table of five methods whose trials lie about the given means."""
    noise, cells, planned, shelf = np.random.default_rng(1), [], [], Shelf()
    for name, printed in MEANS.items():
        run = config(name)
        cells.append(cell(name, f"{100 * printed:.2f}"))
        planned.append(PlannedCell(run, None, "final", departures, cell=cells[-1]))
        spread = 0.0 if copied else 0.005
        shelf.put(run, [[0.1, v] for v in noise.normal(truth[name], spread, trials)])
    claims = [
        Claim("best", "s", "'M4' > 'M0', 'M1', 'M2', 'M3'"),
        Claim("bound", "s", "'M4' - 'M0' > 1"),
        Claim("always", "s", "'M4' > 'M0'", every_trial=True),
        Claim("near", "s", "'M4' ~ 30 'M0'"),
        Claim("size", "s", "'M4' - 'M0' = 20"),
    ]
    return judged(plan_of([table(cells, claims=claims)], planned, trials=trials), shelf)


SHUFFLED = dict(zip(MEANS, (0.6, 0.6, 0.59, 0.6, 0.6), strict=True))


@pytest.mark.parametrize(
    ("truth", "departures", "word", "code"),
    [
        (MEANS, (), "PASS", 0),
        (MEANS, (SCALED,), "PASS", 0),
        (SHUFFLED, (), "FAIL", 1),
        (SHUFFLED, (SCALED,), "FAIL", 0),
    ],
)
def test_a_table_that_fails_refutes_at_the_published_protocol_alone(truth, departures, word, code):
    report = whole_table(truth, departures=departures)
    (found,) = report.tables
    assert found.word == word, found.reason
    assert exit_code([report]) == code


def test_a_divisor_that_is_zero_leaves_no_number_that_json_cannot_hold():
    top, zero = config("top"), config("zero")
    cells = [cell("Top", "70.10"), cell("Zero", "1.00")]
    planned = bound(cells, (top, zero))
    shelf = Shelf().put(top, CLOSE).put(zero, [[0.0, 0.0], [0.0, 0.0], [0.0, 0.1]])
    plan = plan_of([table(cells, claims=[Claim("c", "s", "'Top' / 'Zero' > 1")])], planned)
    report = judged(plan, shelf)
    assert report.tables[0].claims[0].word == "NOT COMPARED"
    json.dumps(to_jsonable_python(report), allow_nan=False)


def test_copies_of_one_trial_are_never_evidence():
    (found,) = whole_table(MEANS, copied=True).tables
    assert found.word == "OPEN"
    assert {one.word for one in found.claims} == {"OPEN"}
    assert {one.verdict.word for one in found.cells} == {"INCONCLUSIVE"}


@pytest.mark.parametrize("left_out", [True, False])
def test_a_claim_is_judged_by_the_comparisons_that_a_profile_does_not_leave_out(left_out):
    why = {"omitted": {"paper": "time"}} if left_out else {}
    here = [cell("Ours", "70.0"), cell("Base", "60.0")]
    other = [cell(one, "65.0", column="B", **why) for one in ("Ours", "Base")]
    not_run = [PlannedCell(None, "time", "final", (), cell=one) for one in other]
    main = table([*here, *other], claims=[Claim("better", "s", "'Ours' > 'Base'")])
    report = judged(plan_of([main], [*bound(here, (OURS, BASE)), *not_run]), both_trained())
    (claim,) = report.tables[0].claims
    assert claim.word == ("HOLDS" if left_out else "NOT RUN")
    assert claim.reason.endswith("1 of 2 comparisons are left out.") is left_out
    assert claim.answer.left_out == left_out


def test_claims_on_tables_that_were_not_selected_say_so():
    (figure,) = claims_report(selected=()).tables
    assert figure.claims[0].word == "NOT RUN"
    assert "not selected" in figure.claims[0].reason


def drawn(figure, labels, **shelf):
    drawings = [PlannedCell(OURS, None, "final", cell=unprinted({}, row=label)) for label in labels]
    plan = plan_of([table([], id="figure-4", figure=figure)], [], drawings=drawings)
    return judged(plan, Shelf(**shelf).put(OURS, CLOSE)).tables[0].panels


def test_curves_are_split_into_panels():
    labels = [("15", "A"), ("15", "B"), ("30", "A")]
    first, second = drawn(Figure("curves", split=1), labels)
    assert (first.title, list(first.lines), list(second.lines)) == ("15", ["A", "B"], ["A"])
    rounds, values = first.lines["A"][2]
    assert rounds == [1.0, 2.0]
    assert values == pytest.approx([30.0, 70.2])
    assert first.y_label == "accuracy (%)"


def test_choices_and_counts_come_from_the_arrays_of_one_trial():
    arrays = {
        "choice": np.array([[0, 1], [1, 1]]),
        "class_counts": np.array([[5, 0], [0, 20]]),
        "group": np.array([0, 1]),
    }
    (choices,) = drawn(Figure("choices"), [("A",)], arrays=arrays)
    assert (choices.kind, choices.matrix, choices.groups) == ("choices", [[0, 1], [1, 1]], [0, 1])
    (counts,) = drawn(Figure("class-counts", x_label="who"), [("A",)], arrays=arrays)
    assert (counts.kind, counts.matrix, counts.x_label) == ("counts", [[5, 0], [0, 20]], "who")


def test_maps_show_images_by_class_and_clients_apart_where_asked():
    arrays = {
        "xy": np.array([[0.123, 1.0], [2.0, 3.0], [4.0, 5.0]], np.float32),
        "label": np.array([0, 1, 0]),
        "client": np.array([4, 4, 7]),
    }
    (whole,) = drawn(Figure("embedding"), [("A",)], arrays=arrays)
    assert whole.kind == "points"
    assert whole.lines == {"class 0": [([0.12, 4.0], [1.0, 5.0])], "class 1": [([2.0], [3.0])]}
    first, second = drawn(Figure("client-embeddings"), [("A",)], arrays=arrays)
    assert (first.title, second.title) == ("A client 5", "A client 8")
    assert list(second.lines) == ["class 0"]
    assert drawn(Figure("embedding"), [("A",)], arrays={}) == ()


def test_the_report_says_where_its_numbers_come_from():
    report = claims_report()
    assert report.scaled
    run = report.runs[0]
    assert (run.seeds, run.cells, run.wall_s) == ((0, 1, 2), 1, 4.5)
    assert run.counts == {"parameters": 11.0}
    assert report.provenance.device == "cpu"
    assert report.provenance.data["digits/train"]["checksum"] == "c"
    assert report.provenance.training_s == 9.0
    assert report.provenance.peak_bytes == 7
    assert report.tables[0].departures == (SCALED,)
    assert report.tables[0].unstated[0].here == "2"
    json.dumps(to_jsonable_python(report), allow_nan=False)


def test_printed_spreads_are_pooled_within_one_metric_only():
    cells = [
        cell("A", "70.10 ± 0.50"),
        cell("B", "70.10 ± 0.60"),
        replace(cell("C", "70.10 ± 9.00"), metric="f1_macro"),
    ]
    planned, shelf = bound(cells, [OURS] * len(cells)), Shelf().put(OURS, CLOSE)
    for key, record in shelf.records.items():
        both = {**record.metrics, "f1_macro": record.metrics["accuracy"]}
        shelf.records[key] = replace(record, metrics=both)
    found = judged(plan_of([table(cells)], planned), shelf).tables[0].cells
    assert [one.published_sd for one in found] == ["0.50", "0.60", "9.00"]
    widths = [one.verdict.interval[1] - one.verdict.interval[0] for one in found]
    assert widths[2] > 10 * widths[0]
    assert Decimal(found[0].published) == Decimal("70.10")
