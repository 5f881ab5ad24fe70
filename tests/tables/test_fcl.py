"""FCL's tables are bound to runs, and its reduced profile means something."""

from pathlib import Path

import pytest

from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store
from fedrepro.benchmark.training.training import train_trial
from tests.tables import plans
from tests.tables.plans import config_of, trained


def plan_of(profile: str, *tables: str) -> Plan:
    return plans.plan_of("fcl", profile, *tables)


@pytest.mark.parametrize("profile", ["paper", "patient", "smoke"])
def test_every_cell_with_a_printed_value_has_a_run(profile: str) -> None:
    plan = plan_of(profile)
    without = [one for one in plan.cells if one.config is None]
    assert {one.reason for one in without} == {"nothing is printed", "descriptive"}
    described = {
        (one.cell.table, one.cell.column) for one in without if one.reason == "descriptive"
    }
    assert described == {("figure-2", ("Example",))}
    with_runs = (one for one in plan.cells if one.config and one.cell.table != "controls")
    assert len(list(with_runs)) == 270


def test_what_the_reduced_profile_leaves_out_is_said_to_be_for_time_and_takes_no_headline(
    tmp_path: Path,
) -> None:
    plan = plan_of("reduced")
    without = {one.cell.key: one.reason for one in plan.cells if one.config is None}
    others = {"nothing is printed", "descriptive"}
    assert {str(one).partition(": ")[0] for one in without.values()} == others | {"time"}
    report = judge(plan, load_trials(plan, Store(tmp_path)), command="", audit=False)
    left_out = [
        claim for table in report.tables for claim in table.claims if ": time: " in claim.reason
    ]
    assert 0 < len(left_out) <= 20
    assert not any(claim.headline for claim in left_out)


def test_tables_that_differ_in_their_evaluation_share_the_training() -> None:
    plan = plan_of("paper")
    tables = [("1", "CIFAR-10|IID"), ("2", "IID|CIFAR-10|10%"), ("3", "IID|CIFAR-10|1%")]
    for row in ("FedRot", "FedDC", "FedSwAV", "FedSimCLR", "FedCA", "Proposed"):
        starts = {config_of(plan_of("paper", table), row, column).start for table, column in tables}
        assert len(starts) == 1
    ablation = plan_of("paper", "figure-5")
    whole = config_of(ablation, "CL + FF + NM", "Non-1|linear").start
    assert whole == config_of(plan_of("paper", "1"), "Proposed", "CIFAR-10|Non-1").start
    assert whole != config_of(ablation, "CL + FF", "Non-1|linear").start
    assert len(plan.runs) == len(set(plan.runs))


def test_fedca_starts_from_the_model_that_it_aligns_to() -> None:
    aligned_to = trained(trained(config_of(plan_of("paper", "1"), "FedCA", "CIFAR-10|IID")))
    assert aligned_to.stage == "pretraining"
    assert aligned_to.data["name"] == "stl10"


@pytest.mark.slow
def test_the_measured_false_negative_ratio_comes_to_the_formula() -> None:
    for column, expected in [("IID|linear", 0.1), ("Non-1|linear", 0.5)]:
        start = trained(config_of(plan_of("patient", "figure-5"), "CL", column))
        metrics = train_trial(start, 0, data_dir=None, device="cpu")[0].metrics
        measured_ratio = metrics["false_negative_ratio"].read("final")
        formula = metrics["expected_false_negative_ratio"].read("final")
        assert measured_ratio == pytest.approx(formula, abs=0.01)
        assert formula == pytest.approx(expected, abs=0.02)
