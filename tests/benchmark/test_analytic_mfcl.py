import dataclasses
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch import nn

from fedrepro.benchmark.analytic import judge_analytic, recompute
from fedrepro.benchmark.analytic.networks import first_layers, measure, measure_layers
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Cell
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.spec.settings import merge
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.encoders.vgg import VGG
from fedrepro.methods.nn.mfcl_modules import Convolution, Pooling, client_autoencoder
from tests.whole_torchvision import ensure_torchvision

CELLS: Mapping[tuple[str, str, str], Cell] = {
    (cell.table, "|".join(cell.row), "|".join(cell.column)): cell
    for table in load_paper("mfcl").tables
    for cell in table.cells
    if cell.kind == "analytic" and cell.formula is not None
}


def value_of(cell: Cell, name: str) -> Decimal:
    (value,) = (r.value for r in recompute(cell).readings if r.name == name)
    return value


def reprinted(cell: Cell, text: str) -> Cell:
    return dataclasses.replace(cell, printed=Printed.parse(text))


def test_every_bound_cell_is_recomputed_or_says_why_not() -> None:
    assert {table for table, _, _ in CELLS} == {"3", "4", "9", "10", "15"}
    for (table, row, _), cell in CELLS.items():
        verdict = judge_analytic(cell)
        foreign = table == "4" and row != "MFCL(TN)"
        assert (verdict.detail == "NOT RUN") == foreign, (cell.label, verdict.reason)
        words = ("EXACT", "MISPRINT?", "INCONCLUSIVE", "NOT RUN")
        assert verdict.detail in words, (cell.label, verdict.reason)
        assert not foreign or "Section 5.2" in verdict.reason


@pytest.mark.parametrize("row", ["FedPAC", "MFCL(TN)"])
def test_a_count_is_told_and_judges_nothing(row: str) -> None:
    cell = CELLS["4", row, "α (bits)"]
    alone = judge_analytic(cell)
    assert cell.printed.value is not None
    for count in (1e3, float(cell.printed.value)):
        beside = judge_analytic(cell, count)
        assert beside.detail == alone.detail
        assert beside.reason.startswith(alone.reason + "; counted while")
        assert any(line.startswith("counted while") for line in beside.working)


@pytest.mark.parametrize("cell", CELLS.values(), ids=lambda cell: f"{cell.table}-{cell.label}")
def test_no_reading_is_hidden_and_the_verdict_is_what_they_say(cell: Cell) -> None:
    verdict = judge_analytic(cell)
    if verdict.detail == "NOT RUN" or cell.printed.value is None:
        return
    found = recompute(cell)
    low, high = cell.printed.bounds
    assert found.value == found.readings[0].value
    for reading in found.readings:
        assert reading.fits == (low <= reading.value <= high)
        start = f"{'fits' if reading.fits else 'does not fit'}: {reading.name}"
        assert any(line.startswith(start) for line in verdict.working), reading.name
    fits = [reading.fits for reading in found.readings]
    assert (verdict.detail == "EXACT") == any(fits)
    assert verdict.reason.startswith("under the interpretation '") == (any(fits) and not fits[0])


@pytest.mark.parametrize("depth", [18, 50])
@pytest.mark.parametrize("method", ["FedEMA", "FedSimCLR"])
def test_end_to_end_bits_fit_when_divided_by_the_rate_and_not_as_eq_4_is_printed(
    depth: int, method: str
) -> None:
    cell = CELLS["3", f"ResNet-{depth}|{method}", "#bits (p1)"]
    held = ResNet(depth, stem="cifar").build(3, 32).new(torch.Generator())
    weights = sum(v.numel() for name, v in held.items() if "running" not in name)
    assert value_of(cell, "Eq. 4 divided by R") == weights * 2 * 32 * 3
    as_printed = Fraction(recompute(cell).readings[0].value)
    assert abs(as_printed - Fraction(weights * 2 * 32, 3)) < Fraction(1, 1000)
    assert judge_analytic(cell).detail == "EXACT"
    assert [r.fits for r in recompute(cell).readings] == [False, True]


def test_bits_of_phase_1_of_resnet_18_do_not_fit_with_the_decoder_both_ways() -> None:
    cell = CELLS["3", "ResNet-18|MFCL", "#bits (p1)"]
    assert [r.value for r in recompute(cell).readings][1:] == [2 * 77_853 * 96]
    assert judge_analytic(cell).detail == "MISPRINT?"
    one_way = (77_853 + 38_976) * 96
    assert judge_analytic(reprinted(cell, f"{one_way}")).detail == "MISPRINT?"


def test_bits_of_phase_1_fit_resnet_50s_own_first_layers_counted_with_torch() -> None:
    widths = [(3, 64, 3), (64, 64, 1), (64, 64, 3), (64, 256, 1)]
    layers: list[nn.Module] = []
    for i, o, k in widths:
        layers += [nn.Conv2d(i, o, k), nn.GroupNorm(1, o)]
    for i, o, k in reversed(widths):
        layers += [nn.ConvTranspose2d(o, i, k), nn.GroupNorm(1, i)]
    layers.append(nn.Conv2d(3, 3, 3))
    weights = sum(v.numel() for layer in layers for v in layer.parameters())
    cell = CELLS["3", "ResNet-50|MFCL", "#bits (p1)"]
    assert value_of(cell, "Eq. 4 divided by R, network's own first layers") == weights * 2 * 96
    assert judge_analytic(cell).detail == "EXACT"
    assert "network's own first layers'" in judge_analytic(cell).reason


def test_representations_are_counted_before_the_pooling_and_differ_by_ten_on_resnet_50() -> None:
    first = CELLS["3", "ResNet-18|MFCL", "Rep. size"]
    assert recompute(first).value == 32 * 32 * 64 * 5000 * 8
    assert judge_analytic(first).reason.startswith("recomputed as 2621440000")
    second = CELLS["3", "ResNet-50|MFCL", "Rep. size"]
    assert judge_analytic(second).detail == "MISPRINT?"
    assert judge_analytic(reprinted(second, "52e7")).detail == "EXACT"
    bits = CELLS["3", "ResNet-50|MFCL", "#bits (p2)"]
    assert judge_analytic(bits).detail == "EXACT"
    assert judge_analytic(reprinted(bits, "50e10")).detail == "MISPRINT?"


@pytest.mark.parametrize("network", ["ResNet-18", "ResNet-50"])
def test_totals_of_mfcl_are_the_sum_of_both_phases(network: str) -> None:
    p1, p2, total = (
        CELLS["3", f"{network}|MFCL", column] for column in ("#bits (p1)", "#bits (p2)", "α (bits)")
    )
    name = "divided by R, module as listed, before its pooling"
    parts = 15 * value_of(p1, f"Eq. 4 {name}") + value_of(p2, f"Eq. 5 {name}")
    assert value_of(total, f"Eqs. 4 and 5 {name}") == parts


def test_traffic_on_vgg_counts_the_imagenet_networks_dense_layers() -> None:
    cell = CELLS["15", "FedSimCLR", "α (bits)"]
    assert value_of(cell, "Eqs. 4 and 5 divided by R") == 138_365_992 * 2 * 32 * 3 * 800
    assert judge_analytic(cell).detail == "EXACT"


def test_memory_of_resnet_18s_client_module_is_eq_6_without_the_decoder() -> None:
    verdicts = {
        table: judge_analytic(CELLS[table, row, "γ (Byte)"])
        for table, row in (("3", "ResNet-18|MFCL"), ("4", "MFCL(TN)"), ("15", "MFCL(TN)"))
    }
    assert {verdict.detail for verdict in verdicts.values()} == {"EXACT"}
    assert len({verdict.reason for verdict in verdicts.values()}) == 1
    by_hand = (2 * 38_976 + 2 * 32 * 32 * 64) * 128 * 4
    assert f"recomputed as {by_hand}," in verdicts["3"].reason


def test_flops_fit_nowhere_and_convict_no_print() -> None:
    cells = [cell for (_, _, column), cell in CELLS.items() if column == "β (FLOPs)"]
    verdicts = [judge_analytic(cell) for cell in cells]
    judged = [verdict for verdict in verdicts if verdict.detail != "NOT RUN"]
    assert len(judged) == 9
    for verdict in judged:
        assert verdict.detail == "INCONCLUSIVE"  # The paper has no formula for β.
        assert "no formula for β" in verdict.reason


def test_flops_of_a_local_epoch_by_hand() -> None:
    cell = CELLS["3", "ResNet-18|MFCL", "β (FLOPs)"]
    encoder = (3 * 64 + 64 * 64) * 9 * 32**2
    decoder = (64 * 64 + 64 * 3 + 3 * 3) * 9 * 16**2
    assert recompute(cell).value == 2 * (encoder + decoder) * 3 * 2 * 5000


def hooked(module: nn.Module, x: torch.Tensor) -> tuple[int, int]:
    """Values of convolutions and dense layers, and their multiply-adds, by torch's own hooks."""
    counted = [0, 0]

    def count(layer: nn.Module, inputs: Any, out: torch.Tensor) -> None:
        weight = layer.weight
        assert isinstance(weight, torch.Tensor)
        counted[0] += out[0].numel()
        at = inputs[0] if isinstance(layer, nn.ConvTranspose2d) else out
        counted[1] += weight.numel() * (at[0, 0].numel() if at.dim() == 4 else 1)

    for layer in module.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d | nn.Linear):
            layer.register_forward_hook(count)
    with torch.no_grad():
        module.eval()(x)
    return counted[0], counted[1]


@pytest.mark.parametrize(
    ("name", "encoder"), [("resnet18", ResNet(18)), ("resnet50", ResNet(50, version="v1.5"))]
)
def test_networks_are_measured_as_torchvisions_are(name: str, encoder: ResNet) -> None:
    ensure_torchvision()
    models = pytest.importorskip("torchvision.models")
    with torch.device("meta"):
        module = getattr(models, name)(weights=None)
        module.fc = nn.Identity()
        convolved, multiply_adds = hooked(module, torch.zeros(1, 3, 64, 64))
    found = measure(encoder, 3, 64)
    assert (found.convolved, found.multiply_adds) == (convolved, multiply_adds)
    assert found.weights == sum(v.numel() for v in module.parameters())


def test_plain_layers_are_measured_as_torchs_are() -> None:
    layers = (
        Convolution(3, 4, 7, 2, 3),
        Pooling(3, 2, 1),
        Convolution(4, 5, 3, 2, 1, transposed=True),
        Convolution(5, 3, normalised=False),
    )
    module = nn.Sequential(
        nn.Conv2d(3, 4, 7, 2, 3), nn.MaxPool2d(3, 2, 1), nn.ConvTranspose2d(4, 5, 3, 2, 1),
        nn.Conv2d(5, 3, 3, 1, 1),
    )  # fmt: skip
    images = torch.zeros(1, 3, 33, 33)
    found, side = measure_layers(layers, 33)
    assert (found.convolved, found.multiply_adds) == hooked(module, images)
    assert side == module(images).shape[-1]


def test_first_layers_of_a_network_are_those_of_the_paper_where_it_is_a_vgg() -> None:
    assert first_layers(VGG(), 3, 32, 2) == client_autoencoder(2).module
    own = first_layers(ResNet(50), 3, 64, 4)
    found = [one for one in own if isinstance(one, Convolution)]
    sizes = [(one.inputs, one.outputs, one.kernel, one.stride) for one in found]
    assert sizes == [(3, 64, 7, 2), (64, 64, 1, 1), (64, 64, 3, 1), (64, 256, 1, 1)]
    assert [i for i, one in enumerate(own) if isinstance(one, Pooling)] == [1]
    assert measure_layers(own, 64)[1] == 16


@pytest.mark.parametrize(("table", "rows", "weights"), [("9", 9, 77_853), ("10", 17, 521_565)])
def test_each_row_of_the_modules_follows_from_the_rule(table: str, rows: int, weights: int) -> None:
    cells = [cell for (of, _, _), cell in CELLS.items() if of == table]
    assert len(cells) == rows
    assert {judge_analytic(cell).detail for cell in cells} == {"EXACT"}
    assert f"{weights:,} weights" in judge_analytic(cells[-1]).working[1]


def test_a_missing_setting_and_a_method_without_equation_are_named() -> None:
    cell = CELLS["3", "ResNet-18|MFCL", "γ (Byte)"]
    without = {**cell.experiment, "costs": {}}
    lacking = judge_analytic(dataclasses.replace(cell, experiment=without))
    assert lacking.detail == "ERROR"
    assert "costs.images" in lacking.reason
    other = dataclasses.replace(cell, experiment=merge(cell.experiment, {"method": "heterofl"}))
    assert judge_analytic(other).detail == "NOT RUN"
