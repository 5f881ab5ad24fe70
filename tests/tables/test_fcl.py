from functools import partial

import pytest

from fedrepro.benchmark.training.training import train_trial
from tests.tables import plans
from tests.tables.plans import config_of, trained

plan_of = partial(plans.plan_of, "fcl")


def test_tables_that_differ_in_their_evaluation_share_the_training() -> None:
    plan = plan_of("paper")
    tables = [("1", "CIFAR-10|IID"), ("2", "IID|CIFAR-10|10%"), ("3", "IID|CIFAR-10|1%")]
    for row in ("FedRot", "FedDC", "FedSwAV", "FedSimCLR", "FedCA", "Proposed"):
        cells = [config_of(plan_of("paper", table), row, column) for table, column in tables]
        starts = {config.init_from for config in cells}
        assert len(starts) == 1
    ablation = plan_of("paper", "figure-5")
    whole = config_of(ablation, "CL + FF + NM", "Non-1|linear").init_from
    assert whole == config_of(plan_of("paper", "1"), "Proposed", "CIFAR-10|Non-1").init_from
    assert whole != config_of(ablation, "CL + FF", "Non-1|linear").init_from
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
