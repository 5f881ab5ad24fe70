import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import CENTRES, HEAD, soft_assignment, student_t
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.objectives import past_negatives
from fedrepro.methods.objectives._soft_clusters import (
    cluster_contrast,
    crossed_divergence,
    divergence,
    embedded_clustering,
    size_entropy,
    target_distribution,
)
from fedrepro.methods.objectives.base import Objective
from fedrepro.methods.objectives.byol import BYOL, BYOLLearner
from fedrepro.methods.objectives.byol_cc import BYOLCC
from fedrepro.methods.objectives.byol_dec import BYOLDEC
from fedrepro.methods.objectives.contrastive_clustering import ContrastiveClustering
from fedrepro.methods.objectives.crossed_kl import CrossedKL
from fedrepro.methods.objectives.simclr import SimCLR, nt_xent
from fedrepro.methods.objectives.simclr_dec import SimCLRDEC
from fedrepro.methods.state import State, repeat

NETWORK = CNN(widths=(3,), dim=5, padding=1).build(1, 6)
SIMCLR: dict[str, Any] = {"projector_widths": (6, 4), "temperature": 0.5}
BYOL_: dict[str, Any] = {"projector_widths": (6, 4), "predictor_width": 3, "sum_directions": True}


def views() -> list[Tensor]:
    return [torch.rand(1, 6, 1, 6, 6, generator=torch.Generator().manual_seed(k)) for k in (1, 2)]


def built(objective: Objective) -> tuple[Any, State, State]:
    """A learner, its weights, and the memory of other weights."""
    learner = objective.build(NETWORK, 5, 3)
    state, other = (learner.new(torch.Generator().manual_seed(k)) for k in (0, 9))
    return learner, state, learner.memory(other)


def simclr_loss(state: State, x: list[Tensor]) -> Tensor:
    return SimCLR(**SIMCLR).build(NETWORK, 5, 3).loss(state, {}, x, None)


def byol_loss(state: State, memory: State, x: list[Tensor]) -> Tensor:
    return BYOL(**BYOL_).build(NETWORK, 5, 3).loss(state, memory, x, None)


def soft_labels_by_torch(state: State, h: Tensor) -> Tensor:
    hidden = F.linear(h[0], state[f"{HEAD}.0.weight"][0], state[f"{HEAD}.0.bias"][0]).relu()
    logits = F.linear(hidden, state[f"{HEAD}.1.weight"][0], state[f"{HEAD}.1.bias"][0])
    return logits.softmax(1)[None]


def predictions(learner: BYOLLearner, state: State, x: list[Tensor]) -> list[Tensor]:
    return learner.predictions(state, [NETWORK(state, view) for view in x])


def projections(learner: Any, state: State, x: list[Tensor]) -> list[Tensor]:
    return [learner.projector(state, NETWORK(state, view)) for view in x]


def heads_by_torch(learner: Any, state: State, x: list[Tensor]) -> list[Tensor]:
    return [soft_labels_by_torch(state, NETWORK(state, view)) for view in x]


@pytest.mark.parametrize(
    ("objective", "seen"),
    [
        (ContrastiveClustering(**SIMCLR), heads_by_torch),
        (BYOLCC(**BYOL_), heads_by_torch),
        (SimCLRDEC(**SIMCLR), projections),
        (BYOLDEC(**BYOL_), predictions),
    ],
)
def test_the_loss_of_clusters_is_added_to_that_of_views(
    objective: Objective, seen: Callable[[Any, State, list[Tensor]], list[Tensor]]
) -> None:
    learner, state, memory = built(objective)
    x = views()
    a, b = seen(learner, state, x)
    base = simclr_loss(state, x) if isinstance(objective, SimCLR) else byol_loss(state, memory, x)
    if CENTRES in state:
        expected = base + embedded_clustering(a, b, state[CENTRES])
    else:
        expected = base + cluster_contrast(a, b, 1.0)
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


@pytest.mark.parametrize("select", [True, False])
def test_fedrlcs_loss_crosses_views_and_networks(select: bool) -> None:
    learner, state, memory = built(CrossedKL(**BYOL_, data_selection=select))
    x = views()
    q = [student_t(p, state[CENTRES]) for p in predictions(learner, state, x)]
    target = [
        student_t(learner.projector(memory, NETWORK(memory, v), training=True), state[CENTRES])
        for v in x
    ]
    expected = byol_loss(state, memory, x) + crossed_divergence(*q, *target, select)
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


def test_the_divergence_trains_centres_but_never_the_target_network() -> None:
    learner, state, memory = built(CrossedKL(**BYOL_, data_selection=False))
    for name, value in (*state.items(), *memory.items()):
        value.requires_grad_(not is_buffer(name) and not name.startswith("counted."))
    learner.loss(state, memory, views(), None).sum().backward()
    assert float(state[CENTRES].grad.abs().max()) > 0
    assert all(value.grad is None for value in memory.values())


def test_both_directions_of_byol_can_be_added() -> None:
    added = BYOL(**BYOL_).build(NETWORK, 5, 3)
    averaged = BYOL(**{**BYOL_, "sum_directions": False}).build(NETWORK, 5, 3)
    state = added.new(torch.Generator().manual_seed(0))
    memory = added.memory(state)
    x = views()
    torch.testing.assert_close(
        added.loss(state, memory, x, None), 2 * averaged.loss(state, memory, x, None)
    )


def test_a_cluster_head_assigns_from_the_encoders_output() -> None:
    _, state, _ = built(ContrastiveClustering(**SIMCLR))
    h = torch.rand(1, 4, 5)
    torch.testing.assert_close(soft_assignment(h, state), soft_labels_by_torch(state, h))


@pytest.mark.parametrize("objective", [SimCLRDEC(**SIMCLR), BYOLDEC(**BYOL_)], ids=["C", "NC"])
def test_centres_assign_where_they_were_trained(objective: Objective) -> None:
    learner, state, _ = built(objective)
    x = views()[0]
    expected = student_t(learner.embed(state, x, training=False), state[CENTRES])
    torch.testing.assert_close(soft_assignment(NETWORK(state, x), state), expected)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def soft_labels(*shape: int, seed: int = 0) -> Tensor:
    return torch.softmax(2 * draw(*shape, seed=seed), dim=-1)


def test_for_hard_labels_it_is_the_printed_similarity_over_its_largest_value() -> None:
    hard = torch.eye(3)[None]
    torch.testing.assert_close(
        past_negatives.similarity(hard, hard), torch.exp(hard @ hard.mT) / math.e
    )


def test_a_threshold_above_one_makes_all_others_negatives() -> None:
    z_a, z_b = draw(2, 6, 4), draw(2, 6, 4, seed=1)
    y_a, y_b = soft_labels(2, 6, 3), soft_labels(2, 6, 3, seed=1)
    found = past_negatives.pnp_contrast(z_a, z_b, y_a, y_b, 0.5, threshold=1.1)
    torch.testing.assert_close(found, nt_xent(z_a, z_b, 0.5))


def test_the_loss_is_the_loop_over_the_equation() -> None:
    z_a, z_b = draw(2, 6, 4), draw(2, 6, 4, seed=1)
    y_a, y_b = soft_labels(2, 6, 3), soft_labels(2, 6, 3, seed=1)
    tau, mu = 0.5, 0.9
    found = past_negatives.pnp_contrast(z_a, z_b, y_a, y_b, tau, mu)
    sizes = set()
    for m in range(2):
        expected = 0.0
        for own, other, y, y_o in ((z_a, z_b, y_a, y_b), (z_b, z_a, y_b, y_a)):
            for i in range(6):

                def gauss(j: int, labels: Tensor, i: int = i, y: Tensor = y, m: int = m) -> float:
                    return math.exp(-float(((y[m, i] - labels[m, j]) ** 2).sum()) / 2)

                def s(v: Tensor, i: int = i, own: Tensor = own, m: int = m) -> float:
                    return math.exp(float(F.cosine_similarity(own[m, i], v, dim=0)) / tau)

                others = [j for j in range(6) if j != i]
                pool = [j for j in others if max(gauss(j, y), gauss(j, y_o)) < mu] or others
                sizes.add(len(pool))
                positive = s(other[m, i])
                negatives = sum(s(own[m, j]) + s(other[m, j]) for j in pool)
                expected -= math.log(positive / (positive + negatives)) / 12
        assert float(found[m]) == pytest.approx(expected)
    assert len(sizes) > 2


def test_an_anchor_without_a_negative_repels_all_others() -> None:
    # Images 0 to 2 are labelled alike; image 3 differs and is the only negative that they have.
    y = torch.tensor([[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    assert past_negatives.negative_pool(y, y, 0.999)[0, 0].tolist() == [False, False, False, True]
    same = torch.full((1, 4, 2), 0.5, dtype=torch.float64)
    assert past_negatives.negative_pool(same, same, 0.999).sum().item() == 4 * 3
    z_a, z_b = draw(1, 4, 3), draw(1, 4, 3, seed=1)
    torch.testing.assert_close(
        past_negatives.pnp_contrast(z_a, z_b, same, same, 0.5, 0.999), nt_xent(z_a, z_b, 0.5)
    )


@pytest.fixture
def learner() -> past_negatives.PastNegativesLearner:
    options = past_negatives.PastNegatives(
        projector_widths=(6, 4), temperature=0.5, negative_threshold=0.99, cluster_weight=0.25
    )
    return options.build(NETWORK, 5, 3)


def test_the_first_round_chooses_by_the_current_model_and_later_ones_by_the_past(
    learner: past_negatives.PastNegativesLearner,
) -> None:
    state = repeat(learner.new(torch.Generator().manual_seed(0)), 2)
    past = repeat(learner.new(torch.Generator().manual_seed(1)), 2)
    views = [torch.rand(2, 5, 1, 6, 6, generator=torch.Generator().manual_seed(k)) for k in (2, 3)]
    assert not learner.memory(past)[past_negatives.KNOWN].any()  # a new client has no past
    memory = {**learner.memory(past), past_negatives.KNOWN: torch.tensor([False, True])}

    z_a, z_b, c_a, c_b = learner.both_heads(state, views)
    labels_of_past = [
        torch.softmax(learner.head(past, learner.encoder(past, x)), dim=2) for x in views
    ]
    clusters = cluster_contrast(c_a, c_b, 1.0)
    by_current = past_negatives.pnp_contrast(z_a, z_b, c_a, c_b, 0.5, 0.99) + 2.0 * clusters
    by_past = past_negatives.pnp_contrast(z_a, z_b, *labels_of_past, 0.5, 0.99) + 0.25 * clusters
    found = learner.loss(state, memory, views, None)
    torch.testing.assert_close(found, torch.stack([by_current[0], by_past[1]]))
    assert abs(float(by_past[1] - by_current[1])) > 1e-3


def reference_q(z: np.ndarray, mu: np.ndarray) -> np.ndarray:
    q = np.empty((len(z), len(mu)))
    for i, point in enumerate(z):
        kernels = [1 / (1 + ((point - centre) ** 2).sum()) for centre in mu]
        q[i] = np.array(kernels) / sum(kernels)
    return q


def reference_p(q: np.ndarray) -> np.ndarray:
    p = np.empty_like(q)
    for i in range(len(q)):
        raw = [q[i, m] ** 2 / sum(q[j, m] for j in range(len(q))) for m in range(q.shape[1])]
        p[i] = np.array(raw) / sum(raw)
    return p


def reference_kl(p: np.ndarray, q: np.ndarray) -> float:
    return sum(a * math.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)


def test_a_point_at_unit_distance_is_half_as_likely_as_one_at_the_centre() -> None:
    # One degree of freedom: kernels 1 and 1/2, not 1 and 1/sqrt(2) as the printed exponent gives.
    q = student_t(torch.zeros(1, 1, 1), torch.tensor([[[0.0], [1.0]]]))
    torch.testing.assert_close(q, torch.tensor([[[2 / 3, 1 / 3]]]))


def test_divergence_is_that_of_the_definition_also_where_p_is_zero() -> None:
    p, q = soft_labels(2, 5, 4), soft_labels(2, 5, 4, seed=1)
    p[0, 0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    found = divergence(p, q)
    for model in range(2):
        for i in range(5):
            expected = reference_kl(p[model, i].numpy(), q[model, i].numpy())
            assert float(found[model, i]) == pytest.approx(expected)


def test_embedded_clustering_is_the_mean_divergence_of_both_views() -> None:
    z_a, z_b, mu = draw(2, 6, 3), draw(2, 6, 3, seed=1), draw(2, 4, 3, seed=2)
    loss = embedded_clustering(z_a, z_b, mu)
    for model in range(2):
        expected = 0.0
        for z in (z_a, z_b):
            q = reference_q(z[model].numpy(), mu[model].numpy())
            p = reference_p(q)
            expected += sum(reference_kl(p[i], q[i]) for i in range(6)) / 6
        assert float(loss[model]) == pytest.approx(expected)


def test_no_gradient_flows_through_the_target_distribution() -> None:
    z = draw(1, 6, 3).requires_grad_()
    q = student_t(z, draw(1, 4, 3, seed=1))
    fixed = target_distribution(q.detach())
    (with_own,) = torch.autograd.grad(divergence(target_distribution(q), q).sum(), z)
    q = student_t(z, draw(1, 4, 3, seed=1))
    (with_fixed,) = torch.autograd.grad(divergence(fixed, q).sum(), z)
    torch.testing.assert_close(with_own, with_fixed)


def test_cluster_contrast_is_the_loop_over_columns_less_both_entropies() -> None:
    c_a, c_b, tau = soft_labels(2, 8, 3), soft_labels(2, 8, 3, seed=1), 0.7
    found = cluster_contrast(c_a, c_b, tau)
    for model in range(2):
        columns = [c[model].numpy()[:, k] for c in (c_a, c_b) for k in range(3)]

        def sim(u: np.ndarray, v: np.ndarray) -> float:
            return float(u @ v / np.linalg.norm(u) / np.linalg.norm(v))

        expected = 0.0
        for i, anchor in enumerate(columns):
            others = [math.exp(sim(anchor, c) / tau) for j, c in enumerate(columns) if j != i]
            positive = math.exp(sim(anchor, columns[(i + 3) % 6]) / tau)
            expected -= math.log(positive / sum(others)) / 6
        for c in (c_a, c_b):
            share = c[model].numpy().sum(0) / c[model].numpy().sum()
            expected += float((share * np.log(share)).sum())
        assert float(found[model]) == pytest.approx(expected)


@pytest.mark.parametrize(
    "loss", [lambda c: -size_entropy(c), lambda c: cluster_contrast(c, c, 1.0)]
)
def test_a_cluster_that_rounds_to_0_has_finite_slopes(loss: Callable[[Tensor], Tensor]) -> None:
    """A client of two images met it: the softmax of logits 200 apart is zero in float32."""
    logits = torch.tensor([[[200.0, 0.0, 190.0], [190.0, 0.0, 200.0]]], requires_grad=True)
    c = torch.softmax(logits, dim=2)
    assert not c[..., 1].any()
    loss(c).sum().backward()
    assert bool(logits.grad.isfinite().all())


def test_slopes_of_entropy_are_those_of_x_log_x_where_it_has_any() -> None:
    c = soft_labels(2, 8, 3).requires_grad_()
    (found,) = torch.autograd.grad(size_entropy(c).sum(), c)
    share = c.sum(1) / c.sum((1, 2)).unsqueeze(1)
    (expected,) = torch.autograd.grad(-torch.xlogy(share, share).sum(), c)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("select", [True, False])
def test_crossed_divergence_is_the_loop_over_agreeing_images(select: bool) -> None:
    q_a, q_b, t_a, t_b = (soft_labels(2, 9, 3, seed=k) for k in range(4))
    found = crossed_divergence(q_a, q_b, t_a, t_b, select)
    kept = 0
    for model in range(2):
        expected = 0.0
        for q, t in ((q_a, t_b), (q_b, t_a)):
            p = reference_p(t[model].numpy())
            for i in range(9):
                agree = int(q[model, i].argmax()) == int(t[model, i].argmax())
                kept += agree
                if agree or not select:
                    expected += reference_kl(p[i], q[model, i].numpy()) / 9
        assert float(found[model]) == pytest.approx(expected)
    assert 0 < kept < 36
