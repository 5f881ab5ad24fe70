import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedrepro.methods.objectives._neighbourhood_matching import draw_candidates, neighbourhood_loss


def vectors(*shape: int, seed: int = 0) -> Tensor:
    drawn = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return drawn / drawn.norm(dim=-1, keepdim=True)


def literal(q: Tensor, candidates: Tensor, n: int, temperature: float) -> float:
    """Eqs. 8 to 11 as they are printed, one model, one number at a time."""
    k = len(candidates)
    total = 0.0
    for q_i in q:
        similarity = [float(q_i @ c) / (float(q_i.norm()) * float(c.norm())) for c in candidates]
        top = sorted(range(k), key=lambda m: -similarity[m])[:n]
        for j in top:
            members = [j, *(m for m in range(k) if m not in top)]  # L_j, Eq. 9
            assert len(members) == k - n + 1
            e = [math.exp(float(q_i @ candidates[a]) / temperature) for a in members]
            p = [value / sum(e) for value in e]  # Eq. 10
            total -= sum(value * math.log(value) for value in p) / n  # Eq. 11
    return total / len(q)


@pytest.mark.parametrize(("n", "temperature"), [(1, 0.2), (3, 0.2), (3, 1.0), (7, 0.5)])
def test_the_loss_equals_a_literal_transcription(n: int, temperature: float) -> None:
    q, candidates = vectors(2, 5, 4), vectors(2, 8, 4, seed=1)
    losses = neighbourhood_loss(q, candidates, n, temperature)
    for model in range(2):
        expected = literal(q[model], candidates[model], n, temperature)
        assert losses[model].item() == pytest.approx(expected, abs=1e-12)


def test_candidates_that_do_not_exist_have_no_part() -> None:
    q, candidates = vectors(2, 5, 4), vectors(2, 9, 4, seed=1)
    valid = torch.tensor([[True] * 4 + [False] * 5, [True] * 9])
    losses = neighbourhood_loss(q, candidates, 3, 0.3, valid)
    assert losses[0].item() == pytest.approx(literal(q[0], candidates[0, :4], 3, 0.3), abs=1e-12)
    assert losses[1].item() == pytest.approx(literal(q[1], candidates[1], 3, 0.3), abs=1e-12)


def test_fewer_candidates_than_neighbours_leave_nothing_to_be_unsure_of() -> None:
    q = vectors(1, 5, 4).requires_grad_()
    candidates = vectors(1, 9, 4, seed=1)
    for kept in (0, 2):
        valid = torch.arange(9).unsqueeze(0) < kept
        loss = neighbourhood_loss(q, candidates, 3, 0.3, valid)
        assert loss.item() == pytest.approx(0.0, abs=1e-12)
        (gradient,) = torch.autograd.grad(loss.sum(), [q])
        assert not gradient.any()


def test_the_gradient_is_that_of_finite_differences() -> None:
    q, candidates = vectors(1, 3, 4), vectors(1, 8, 4, seed=1)
    assert torch.autograd.gradcheck(
        lambda x: neighbourhood_loss(x, candidates, 3, 0.5), [q.requires_grad_()]
    )


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.floats(0.02, 5.0), st.integers(0, 10**6))
def test_the_loss_lies_between_certainty_and_the_uniform_distribution(
    n: int, temperature: float, seed: int
) -> None:
    q, candidates = vectors(1, 4, 3, seed=seed).float(), vectors(1, 6, 3, seed=seed + 1).float()
    loss = neighbourhood_loss(q, candidates, n, temperature).item()
    assert -1e-5 <= loss <= math.log(6 - n + 1) + 1e-5


def test_candidates_are_different_and_uniform_over_what_exists() -> None:
    valid = torch.ones(2, 12, dtype=torch.bool)
    valid[1, 9:] = False
    streams = [torch.Generator().manual_seed(i) for i in range(2)]
    counts = torch.zeros(2, 12)
    for _ in range(3000):
        drawn = draw_candidates(valid, 4, streams)
        for model in range(2):
            assert len(set(drawn[model].tolist())) == 4
            counts[model, drawn[model]] += 1
    torch.testing.assert_close(counts[0] / 3000, torch.full((12,), 4 / 12), atol=0.05, rtol=0)
    torch.testing.assert_close(counts[1, :9] / 3000, torch.full((9,), 4 / 9), atol=0.05, rtol=0)
    assert not counts[1, 9:].any()
