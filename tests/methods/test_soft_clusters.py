"""Losses of deep clustering against numpy and plain loops over the equations."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import student_t
from fedrepro.methods.objectives._soft_clusters import (
    cluster_contrast,
    crossed_divergence,
    divergence,
    embedded_clustering,
    size_entropy,
    target_distribution,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def soft_labels(*shape: int, seed: int = 0) -> Tensor:
    return torch.softmax(2 * draw(*shape, seed=seed), dim=-1)


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


def test_soft_labels_and_targets_are_those_of_the_equations() -> None:
    z, mu = draw(2, 7, 3), draw(2, 4, 3, seed=1)
    q = student_t(z, mu)
    p = target_distribution(q)
    for model in range(2):
        expected = reference_q(z[model].numpy(), mu[model].numpy())
        np.testing.assert_allclose(q[model].numpy(), expected)
        np.testing.assert_allclose(p[model].numpy(), reference_p(expected))


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
def test_a_cluster_that_rounds_to_nothing_has_finite_slopes(
    loss: Callable[[Tensor], Tensor],
) -> None:
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


def test_gradients_agree_with_finite_differences() -> None:
    z, mu = draw(1, 4, 2).requires_grad_(), draw(1, 3, 2, seed=1).requires_grad_()
    target = soft_labels(1, 4, 3)

    def loss(z: Tensor, mu: Tensor) -> Tensor:
        q = student_t(z, mu)
        return crossed_divergence(q, q, target, target, select=False)

    torch.autograd.gradcheck(loss, (z, mu))
