import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedrepro.methods.nn.layers import BatchNorm, is_buffer
from fedrepro.methods.objectives.base import Learner
from fedrepro.methods.objectives.byol import distance
from fedrepro.methods.objectives.simclr import nt_xent
from fedrepro.methods.objectives.simsiam import negative_similarity
from fedrepro.methods.registry import find, names
from fedrepro.methods.state import State, clone, take
from tests.methods.conftest import cosine, small_learner
from tests.whole_torchvision import ensure_torchvision

ALL = names("objective")
CONTRASTIVE = ["byol", "simclr", "simsiam"]  # the rows of CP-CFL's Table 1
PREDICTING = ["byol", "simsiam"]
OF_TABLE_1 = [*CONTRASTIVE, "supervised"]
DIM, CLASSES = 6, 5


def learner(name: str, **options: Any) -> Learner:
    return small_learner(name, **options)[0]


def weights(name: str, models: int = 1, seed: int = 0, **options: Any) -> State:
    return small_learner(name, models, seed=seed, **options)[1]


def views_of(models: int = 1, batch: int = 7, seed: int = 0) -> tuple[list[Tensor], Tensor]:
    g = torch.Generator().manual_seed(seed)
    shape = (models, batch, 3, 4, 4)
    image, noise = (torch.rand(shape, generator=g, dtype=torch.float64) for _ in range(2))
    x = [image, 0.8 * image + 0.2 * noise]
    return x, torch.randint(CLASSES, (models, batch), generator=g)


def loss_of(name: str, state: State, x: list[Tensor], y: Tensor) -> Tensor:
    bound = learner(name)
    used = x[: find("objective", name).n_views]
    return bound.loss(state, bound.memory(state), used, y)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 2.0])
def test_simclr_loss_equals_a_plain_loop_over_equation_8(temperature: float) -> None:
    z = torch.randn(2, 2, 5, 4, dtype=torch.float64)
    for model in range(2):
        both = [*z[0, model], *z[1, model]]
        losses = []
        for anchor in range(10):
            twin = (anchor + 5) % 10
            others = sum(
                math.exp(cosine(both[anchor], both[other]) / temperature)
                for other in range(10)
                if other != anchor
            )
            top = math.exp(cosine(both[anchor], both[twin]) / temperature)
            losses.append(-math.log(top / others))
        expected = sum(losses) / 10
        assert nt_xent(z[0], z[1], temperature)[model].item() == pytest.approx(expected, abs=1e-12)


def test_supervised_loss_equals_a_plain_loop_over_the_cross_entropy() -> None:
    state, (x, y) = weights("supervised"), views_of()
    w, b = state["encoder.dense.weight"][0], state["encoder.dense.bias"][0]
    v, c = state["head.0.weight"][0], state["head.0.bias"][0]
    losses = []
    for image, label in zip(x[0][0], y[0], strict=True):
        logits = v @ (w @ image.flatten() + b).clamp(min=0) + c
        losses.append(math.log(sum(math.exp(a) for a in logits.tolist())) - float(logits[label]))
    assert loss_of("supervised", state, x, y).item() == pytest.approx(sum(losses) / 7, abs=1e-12)


def module(state: State, name: str, norms: int) -> nn.Sequential:
    """A projector or predictor of two layers in torch.nn, `norms` of them batch-normalised."""
    layers: list[nn.Module] = []
    for i in range(2):
        weight = state[f"{name}.{i}.weight"][0]
        dense = nn.Linear(weight.shape[1], weight.shape[0], bias=i >= norms).double()
        dense.weight.data = weight
        if i >= norms:
            dense.bias.data = state[f"{name}.{i}.bias"][0]
        layers.append(dense)
        if i < norms:
            layers.append(nn.BatchNorm1d(weight.shape[0]).double())
        if i == 0:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def represent(state: State, x: Tensor) -> Tensor:
    w, b = state["encoder.dense.weight"][0], state["encoder.dense.bias"][0]
    return torch.relu(x[0].flatten(1) @ w.T + b)


def test_simclr_has_the_projector_of_section_4_1() -> None:
    state, (x, y) = weights("simclr"), views_of()
    assert state["projector.0.weight"].shape == (1, 256, DIM)
    assert state["projector.1.weight"].shape == (1, 256, 256)
    g = module(state, "projector", norms=0)
    z_i, z_j = (g(represent(state, view))[None] for view in x)
    torch.testing.assert_close(loss_of("simclr", state, x, y), nt_xent(z_i, z_j, 0.1))


@pytest.mark.parametrize("name", PREDICTING)
@pytest.mark.parametrize("output_norm", [True, False])
def test_byol_and_simsiam_have_the_networks_of_section_4_1(name: str, output_norm: bool) -> None:
    """Without its norm the projector's output is a plain layer, as in the code of Grill et al."""
    options: dict[str, Any] = {} if output_norm else {"projector_output_norm": False}
    bound, state, (x, _) = learner(name, **options), weights(name, **options), views_of()
    shapes = {"projector": [(512, DIM), (512, 512)], "predictor": [(64, 512), (512, 64)]}
    for network, expected in shapes.items():
        assert [state[f"{network}.{i}.weight"].shape[1:] for i in (0, 1)] == expected
    assert any(key.startswith("projector.norm1") for key in state) is output_norm
    if not output_norm:
        state["projector.1.bias"] += 0.3
    g, q = module(state, "projector", norms=1 + output_norm), module(state, "predictor", norms=1)
    z_i, z_j = (g(represent(state, view)) for view in x)
    pairs = [*zip(q(z_i), z_j, strict=True), *zip(q(z_j), z_i, strict=True)]
    mean = sum(cosine(p, z) for p, z in pairs) / len(pairs)
    found = bound.loss(state, bound.memory(state), x, None).item()
    assert found == pytest.approx(-mean if name == "simsiam" else 2 - 2 * mean, abs=1e-8)


def test_byol_moves_its_target_by_equations_10_and_11() -> None:
    bound, state = learner("byol"), weights("byol")
    memory = bound.memory(state)
    before, moved = clone(memory), weights("byol", seed=1)
    bound.update(moved, memory)
    assert {name.split(".")[0] for name in memory} == {"encoder", "projector"}
    for name, value in memory.items():
        if is_buffer(name):
            assert torch.equal(value, before[name])
        else:
            torch.testing.assert_close(value, 0.9 * before[name] + 0.1 * moved[name])


def test_byol_compares_with_the_target_and_not_with_the_online_network() -> None:
    bound, state, (x, y) = learner("byol"), weights("byol"), views_of()
    other = bound.memory(weights("byol", seed=1))
    same = bound.loss(state, bound.memory(state), x, y)
    assert not torch.allclose(bound.loss(state, other, x, y), same)


def test_losses_equal_those_of_lightly() -> None:
    ensure_torchvision()
    loss = pytest.importorskip("lightly.loss")
    a, b = torch.randn(2, 9, 16)
    ours = nt_xent(a[None], b[None], 0.1)[0]
    torch.testing.assert_close(ours, loss.NTXentLoss(temperature=0.1)(a, b))
    negative = loss.NegativeCosineSimilarity()(a, b)
    torch.testing.assert_close(negative_similarity(a[None], b[None])[0], negative)
    torch.testing.assert_close(distance(a[None], b[None])[0], 2 + 2 * negative)


@pytest.mark.parametrize("name", ALL)
def test_stacked_models_have_the_losses_and_gradients_that_they_have_alone(name: str) -> None:
    stacked, (x, y) = weights(name, models=3), views_of(models=3)
    before = clone(stacked)
    trained = [k for k in stacked if not is_buffer(k)]
    for k in trained:
        stacked[k].requires_grad_()
    losses = loss_of(name, stacked, x, y)
    gradients = torch.autograd.grad(losses.sum(), [stacked[k] for k in trained])
    assert losses.shape == (3,)
    for i in range(3):
        alone = take(before, [i])
        for k in trained:
            alone[k].requires_grad_()
        loss = loss_of(name, alone, [v[i : i + 1] for v in x], y[i : i + 1])
        torch.testing.assert_close(loss, losses[i : i + 1])
        for one, many in zip(
            torch.autograd.grad(loss.sum(), [alone[k] for k in trained]), gradients, strict=True
        ):
            torch.testing.assert_close(one, many[i : i + 1], atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_one_stream_gives_every_objective_the_same_encoder(name: str) -> None:
    bound = learner(name)
    expected = bound.encoder.new(torch.Generator().manual_seed(3))  # type: ignore[attr-defined]
    state = bound.new(torch.Generator().manual_seed(3))
    assert all(torch.equal(state[key], value) for key, value in expected.items())


def test_table_1_reads_as_published() -> None:
    columns = [
        "positive_samples",
        "negative_samples",
        "weight_sharing",
        "projector",
        "predictor",
        "stop_gradient",
    ]
    published = {
        "simclr": [True, True, True, True, False, False],
        "byol": [True, False, False, True, True, True],
        "simsiam": [True, False, True, True, True, True],
    }
    assert set(published) == set(CONTRASTIVE)
    for name, row in published.items():
        assert [getattr(find("objective", name), column) for column in columns] == row


@pytest.mark.parametrize("name", OF_TABLE_1)
def test_positive_samples_means_that_views_of_other_images_change_the_loss(name: str) -> None:
    state, (x, y) = weights(name), views_of()
    shifted = loss_of(name, state, [x[0], x[1].roll(1, dims=1)], y)
    changes = not torch.allclose(shifted, loss_of(name, state, x, y))
    assert changes == find("objective", name).positive_samples


@pytest.mark.parametrize("name", OF_TABLE_1)
def test_no_negative_samples_means_that_images_do_not_see_each_other(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BatchNorm, "__call__", lambda self, state, x, training=False: x)
    state, (x, y) = weights(name), views_of()
    alone = [loss_of(name, state, [v[:, i : i + 1] for v in x], y[:, i : i + 1]) for i in range(7)]
    together = loss_of(name, state, x, y)
    independent = torch.allclose(together, torch.stack(alone).mean(0))
    assert independent == (not find("objective", name).negative_samples)


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_weight_sharing_means_that_there_is_no_second_network(name: str) -> None:
    memory = learner(name).memory(weights(name))
    assert (not memory) == find("objective", name).weight_sharing


@pytest.mark.parametrize("name", OF_TABLE_1)
@pytest.mark.parametrize("network", ["projector", "predictor"])
def test_the_networks_that_an_objective_names_have_trained_weights(name: str, network: str) -> None:
    state, (x, y) = weights(name), views_of()
    own = [k for k in state if k.startswith(network + ".") and not is_buffer(k)]
    assert bool(own) == getattr(find("objective", name), network)
    for k in own:
        state[k].requires_grad_()
    if own:
        gradients = torch.autograd.grad(loss_of(name, state, x, y).sum(), [state[k] for k in own])
        assert all(g.abs().sum() > 0 for g in gradients)


@pytest.mark.parametrize("name", CONTRASTIVE)
def test_stop_gradient_means_that_the_gradient_is_not_that_of_the_whole_loss(name: str) -> None:
    """Finite differences see both branches; with a stop, the gradient sees one."""
    state, (x, y) = weights(name), views_of()
    key, step = "encoder.dense.bias", 1e-6
    state[key].requires_grad_()
    (gradient,) = torch.autograd.grad(loss_of(name, state, x, y).sum(), [state[key]])
    whole = torch.zeros_like(gradient)
    for i in range(DIM):
        sides = []
        for sign in (1, -1):
            moved = {k: v.detach().clone() for k, v in state.items()}
            moved[key][0, i] += sign * step
            sides.append(loss_of(name, moved, x, y).item())
        whole[0, i] = (sides[0] - sides[1]) / (2 * step)
    equal = torch.allclose(gradient, whole, atol=1e-6)
    assert equal == (not find("objective", name).stop_gradient)
