from dataclasses import replace

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Claim, Omission, Paper, TableProfile
from fedrepro.benchmark.spec.printed import Printed
from tests.benchmark.small_papers import MakePaper

SHARED = {"pretraining": {"method": "simclr"}}
OWN = {"pretraining": {"method": "simclr", "shared": False}}


def test_cells_that_read_one_history_share_a_run(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": {}, "same": {"training": {"n_clusters": 7}}}, at=(1, 2))
    plan = make_plan(paper, "smoke")
    assert len(plan.cells) == 4
    assert len(plan.runs) == 1
    assert plan.sharing() == {plan.runs[0]: 4}


def test_a_shared_encoder_is_trained_once_and_others_once_a_trial(tiny_paper: MakePaper) -> None:
    shared = make_plan(tiny_paper({"a": SHARED}, trials=3), "smoke")
    assert [shared.seeds(run) for run in shared.runs] == [(0,), (0, 1, 2)]
    own = make_plan(tiny_paper({"a": OWN}, trials=3), "smoke")
    assert [own.seeds(run) for run in own.runs] == [(0, 1, 2), (0, 1, 2)]
    assert len(shared.trials_to_run()) == 4


def with_more_trials(paper: Paper, row: str, trials: int) -> Paper:
    """A second table with only one of the rows, and more trials than the first."""
    (table,) = paper.tables
    cells = tuple(replace(one, table="more") for one in table.cells if one.row == (row,))
    more = {"smoke": TableProfile(trials=trials, why="its claims are close")}
    other = replace(table, id="more", cells=cells, claims=(), relations=(), profiles=more)
    return replace(paper, tables=(table, other))


def test_what_a_table_with_more_trials_reads_has_them_wherever_it_is_shown(
    tiny_paper: MakePaper,
) -> None:
    paper = with_more_trials(tiny_paper({"a": OWN, "b": SHARED, "c": {}}, trials=3), "a", 7)
    plan = make_plan(paper, "smoke")
    trials = {one.cell.row: plan.seeds(one.config) for one in plan.cells if one.config is not None}
    assert trials == {("a",): tuple(range(7)), ("b",): (0, 1, 2), ("c",): (0, 1, 2)}
    for run in plan.runs:
        if run.start is not None and run.start_trial is None:
            assert plan.seeds(run.start) == plan.seeds(run)
    (first,) = (table.id for table in paper.tables if table.id != "more")
    part = make_plan(paper, "smoke", tables=[first])
    assert {run.key: part.seeds(run) for run in part.runs}.items() <= {
        run.key: plan.seeds(run) for run in plan.runs
    }.items()
    assert plan.under(()).asked == plan.asked


def test_trials_that_are_asked_for_are_those_of_every_table(tiny_paper: MakePaper) -> None:
    paper = with_more_trials(tiny_paper({"a": {}, "c": {}}, trials=3), "a", 7)
    plan = make_plan(paper, "smoke", trials=2)
    assert {plan.seeds(run) for run in plan.runs} == {(0, 1)}
    assert plan.under(()).trials_to_run() == plan.trials_to_run()


def test_another_series_is_other_runs_of_the_same_cells(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": SHARED, "b": OWN})
    series = make_plan(paper, "smoke", series=3)
    expected = [run.in_series(3) for run in make_plan(paper, "smoke").runs]
    assert list(series.runs) == expected
    assert series.under(()).runs == series.runs
    profile = replace(paper.profiles["smoke"], series=3)
    declared = replace(paper, profiles={"smoke": profile})
    assert list(make_plan(declared, "smoke").runs) == expected
    assert make_plan(declared, "smoke", series=0).runs == make_plan(paper, "smoke").runs


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": "descriptive"}, "descriptive"),
        ({"kind": "analytic"}, "analytic: recomputed without training"),
        ({"skip": "quoted from another paper"}, "quoted from another paper"),
        ({"printed": Printed.parse("—")}, "nothing is printed"),
    ],
)
def test_cells_that_need_no_training_say_why(
    tiny_paper: MakePaper, change: dict[str, object], reason: str
) -> None:
    paper = tiny_paper({"a": {}})
    table = paper.tables[0]
    cells = tuple(replace(cell, **change) for cell in table.cells)  # type: ignore[arg-type]
    plan = make_plan(replace(paper, tables=(replace(table, cells=cells),)), "smoke")
    assert plan.runs == ()
    assert [cell.reason for cell in plan.cells] == [reason]


def test_a_profile_leaves_out_cells_by_a_value_of_theirs(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": {"training": {"n_clusters": 7}}, "b": {}})
    omit = (Omission("training.n_clusters", 7, "seven is too many"),)
    profile = replace(paper.profiles["smoke"], omit=omit)
    plan = make_plan(replace(paper, profiles={"smoke": profile}), "smoke")
    assert {c.cell.row: (c.reason, c.config is None) for c in plan.cells} == {
        ("a",): ("seven is too many", True),
        ("b",): (None, False),
    }


def test_a_map_is_made_of_the_trial_that_its_figure_draws() -> None:
    plan = make_plan(load_paper("calibre"), "reduced", tables=["figure-1"])
    seeds = {one.config.method: plan.seeds(one.config) for one in plan.drawings if one.config}
    assert seeds == {"embedding": (0,)}
    assert {plan.seeds(one) for one in plan.runs} == {(0,), tuple(range(10))}


def test_rows_and_settings_narrow_and_change_a_plan(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": {}, "b": {"method": "ifca"}})
    plan = make_plan(paper, "smoke", rows="b", sets=[("training.rounds", 1)])
    assert [run.method for run in plan.runs] == ["ifca"]
    assert plan.runs[0].options["rounds"] == 1
    assert [d.why for d in plan.cells[0].departures] == ["set on the command line"]


def test_a_claim_without_a_cell_is_found_before_anything_is_trained(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": {}})
    lost = replace(paper.tables[0], claims=(Claim("c", "says", "'b' > 'a'"),))
    with pytest.raises(SpecError, match="'b' matches no row"):
        make_plan(replace(paper, tables=(lost,)), "smoke")


@pytest.mark.parametrize("profile", ["paper", "reduced", "smoke"])
def test_every_empirical_cell_of_cpcfl_has_a_run(profile: str) -> None:
    plan = make_plan(load_paper("cpcfl"), profile)
    for planned in plan.cells:
        if planned.cell.kind == "empirical" and not planned.cell.printed.is_blank:
            assert planned.config is not None or planned.cell.skip, planned.reason
    assert len(plan.runs) < len(plan.cells) / 3
    if profile == "paper":
        assert not any(planned.departures for planned in plan.cells)
