from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from fedrepro.benchmark.analytic import in_unit, judge_analytic, recompute, same_product
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec.model import Cell
from fedrepro.methods.registry import UnknownNameError
from tests.benchmark.audit.small_paper import cell as of_paper

CNN: Mapping[str, Any] = {
    "clients": {"image_size": 96, "channels": 3},
    "encoder": {"name": "cnn", "widths": [64, 128, 192, 256], "dim": 256},
}


def resnet(depth: int, version: str = "v1") -> Mapping[str, Any]:
    return {**CNN, "encoder": {"name": "resnet", "depth": depth, "version": version, "dim": 256}}


def federated(method: str, **training: Any) -> Mapping[str, Any]:
    defaults = {"rounds": 100, "local_epochs": 3, "n_clusters": 3, "head_rounds": 10}
    return {"method": method, "training": {**defaults, **training}}


def cell(
    printed: str, formula: str | None, experiment: Mapping[str, Any], unit: str | None = None
) -> Cell:
    given = {"kind": "analytic", "metric": None, "unit": unit, "formula": formula}
    return of_paper(printed, experiment=experiment, **given)


def test_flops_are_twice_the_multiply_adds_and_exact() -> None:
    found = recompute(cell("0.17", "flops", CNN, "G"))
    assert found.value == Decimal("0.164560256")
    assert any("82,280,128" in line for line in found.working)


@pytest.mark.parametrize(("depth", "printed"), [(18, "0.67"), (50, "1.42")])
def test_flops_of_table_e22s_resnets_print_as_published(depth: int, printed: str) -> None:
    verdict = judge_analytic(cell(printed, "flops", resnet(depth), "G"))
    assert verdict.detail == "EXACT"
    assert verdict.working


def test_flops_of_the_default_cnn_do_not_print_as_published_biases_counted_or_not() -> None:
    """Its strides were inferred from this very number, so that it is not convicted by them."""
    verdict = judge_analytic(cell("0.17", "flops", CNN, "G"))
    assert verdict.detail == "INCONCLUSIVE"
    assert "inferred" in verdict.reason
    assert verdict.difference == pytest.approx(0.164560256 - 0.17)
    assert "rounds to 0.16, not 0.17" in verdict.reason
    bias_additions = 47**2 * 64 + 23**2 * 128 + 11**2 * 192 + 5**2 * 256 + 256
    assert 164_560_256 + bias_additions < 165_000_000


def test_parameters_of_the_default_cnn_are_the_printed_2_4_million() -> None:
    assert recompute(cell("2.4", "parameters", CNN, "M")).value == Decimal("2.378304")
    assert judge_analytic(cell("2.4", "parameters", CNN, "M")).detail == "EXACT"
    assert judge_analytic(cell("2378304", "parameters", CNN)).detail == "EXACT"
    assert judge_analytic(cell("2378305", "parameters", CNN)).detail == "INCONCLUSIVE"
    assert judge_analytic(cell("11176511", "parameters", resnet(18))).detail == "MISPRINT?"


@pytest.mark.parametrize(
    ("method", "published"), [("fedavg", "2ST"), ("ifca", "(N+1)ST"), ("cpcfl", "(N+1)ST")]
)
def test_communication_counted_from_messages_is_table_2s(method: str, published: str) -> None:
    verdict = judge_analytic(cell(published, "communication", federated(method)))
    assert verdict.detail == "EXACT", verdict
    assert judge_analytic(cell("3ST", "communication", federated(method))).detail == "MISPRINT?"


def test_communication_of_clustered_methods_is_half_of_n_plus_one_times_fedavgs() -> None:
    lines = recompute(cell("", "communication", federated("cpcfl"))).working
    assert any(line.startswith("N = 3, T = 1: 3 S down + 1 S up = 4 S") for line in lines)
    assert any(line.startswith("N = 3, T = 3: 9 S down + 3 S up = 12 S") for line in lines)


@pytest.mark.parametrize(
    ("method", "n", "printed"),
    [("fedavg", 3, "2"), ("ifca", 3, "4"), ("cpcfl", 3, "4"), ("cpcfl", 5, "6")],
)
def test_communication_as_a_number_is_its_multiple_of_st(method: str, n: int, printed: str) -> None:
    experiment = federated(method, n_clusters=n)
    verdict = judge_analytic(cell(printed, "communication", experiment, ""))
    assert verdict.detail == "EXACT", verdict
    assert f"for N = {n}: {printed} ST" in verdict.working
    assert judge_analytic(cell("3", "communication", experiment, "")).detail == "MISPRINT?"


def test_communication_of_a_shared_encoder_is_cheaper_than_n_plus_one() -> None:
    shared = cell("(N+1)ST", "communication", federated("cpcfl", shared_encoder=True))
    text = recompute(shared).text
    assert text is not None
    slope, constant = text.removeprefix("(").removesuffix(")ST").split("N+")
    assert float(slope) < 1 < float(constant) < 2
    assert float(slope) + float(constant) == pytest.approx(2, abs=0.02)
    assert judge_analytic(shared).detail == "MISPRINT?"


def test_a_cell_that_cannot_be_recomputed_says_why() -> None:
    assert judge_analytic(cell("≈ 23", None, CNN)).detail == "NOT RUN"
    assert judge_analytic(cell("—", "flops", {})).detail == "NOT RUN"
    lacking = judge_analytic(cell("0.17", "flops", {}, "G"))
    assert lacking.detail == "ERROR"
    assert "encoder.name" in lacking.reason
    unknown = judge_analytic(cell("1", "flops", {**CNN, "encoder": {"name": "vit"}}))
    assert unknown.detail == "NOT RUN"
    assert "'vit' is not implemented" in unknown.reason
    words = judge_analytic(cell("few", "flops", CNN, "G"))
    assert words.detail == "ERROR"


def test_an_unknown_formula_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'flops'"):
        recompute(cell("1", "flop", CNN))
    with pytest.raises(SpecError, match="no formula"):
        recompute(cell("1", None, CNN))


def test_units_are_powers_of_a_thousand() -> None:
    assert in_unit(1234567, "M") == Decimal("1.234567")
    assert in_unit(7, None) == 7
    with pytest.raises(SpecError, match="'%'"):
        in_unit(7, "%")


def test_products_are_equal_whatever_the_order_of_factors() -> None:
    assert same_product("(N+1)ST", "S T · (N + 1)")
    assert same_product("2ST", "2TS")
    assert not same_product("2ST", "(N+1)ST")
    assert not same_product("2ST", "2SST")
