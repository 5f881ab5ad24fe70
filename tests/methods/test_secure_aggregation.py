"""Masks that cancel in the sum and hide what each client sends."""

from __future__ import annotations

import torch

from fedrepro.methods.privacy.secure_aggregation import masked, unmasked_sum
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, weighted_average

CLIENTS = torch.tensor([0, 2, 3, 7])
SIZES = torch.tensor([10.0, 20.0, 30.0, 40.0], dtype=torch.float64)


def weights() -> State:
    stream = torch.Generator().manual_seed(0)
    return {
        "a.weight": torch.randn(4, 50, 40, generator=stream),
        "a.running_var": torch.rand(4, 50, generator=stream) * 100,
    }


def sent(state: State, trial: int = 0, t: int = 0) -> State:
    return masked(state, SIZES / SIZES.sum(), Seeds(trial), t, CLIENTS)


def test_the_sum_is_the_weighted_average_within_rounding() -> None:
    state = weights()
    plain = weighted_average(state, SIZES.unsqueeze(0))
    found = unmasked_sum(sent(state), state)
    for name, value in state.items():
        exact = torch.einsum("m,m...->...", SIZES / 100, value.double()).unsqueeze(0)
        assert found[name].dtype == value.dtype
        torch.testing.assert_close(found[name].double(), exact, rtol=1e-7, atol=1e-9)
        torch.testing.assert_close(found[name], plain[name], rtol=1e-5, atol=1e-6)


def test_one_clients_message_looks_the_same_whatever_it_hides() -> None:
    state = weights()
    nothing = {name: torch.zeros_like(value) for name, value in state.items()}
    for of in (state, nothing):
        bits = sent(of)["a.weight"][1].flatten()
        ones = torch.stack([(bits >> k) & 1 for k in range(64)]).double().mean(dim=1)
        # 2000 fair coins for each bit: six standard deviations.
        assert float((ones - 0.5).abs().max()) < 6 * 0.5 / 2000**0.5


def test_a_message_alone_gives_no_weights_back() -> None:
    state = weights()
    own = sent(state)["a.weight"][0].double() / 2.0**44
    true = state["a.weight"][0].double() * 0.1
    together = torch.stack([own.flatten(), true.flatten()])
    assert abs(float(torch.corrcoef(together)[0, 1])) < 0.1


def test_masks_change_with_the_round_and_the_trial() -> None:
    state = weights()
    first = sent(state)["a.weight"]
    assert not torch.equal(first, sent(state, t=1)["a.weight"])
    assert not torch.equal(first, sent(state, trial=1)["a.weight"])
    assert torch.equal(first, sent(state)["a.weight"])
