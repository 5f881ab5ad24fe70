from dataclasses import replace

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Claim, Omission
from fedrepro.benchmark.spec.printed import Printed
from tests.benchmark.small_papers import OWN, MakePaper

SHARED = {"pretraining": {"method": "simclr"}}


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


def test_another_series_is_other_runs_of_the_same_cells(tiny_paper: MakePaper) -> None:
    paper = tiny_paper({"a": SHARED, "b": OWN})
    series = make_plan(paper, "smoke", series=3)
    expected = [run.in_seed_block(3) for run in make_plan(paper, "smoke").runs]
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
