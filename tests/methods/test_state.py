from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedrepro.methods import state as states


def pool(models: int, seed: int = 0) -> states.State:
    g = torch.Generator().manual_seed(seed)
    return {
        "encoder.weight": torch.randn(models, 3, 2, generator=g),
        "head.bias": torch.randn(models, 4, generator=g),
    }


@settings(max_examples=25, deadline=None)
@given(models=st.integers(1, 6), averages=st.integers(1, 3), seed=st.integers(0, 99))
def test_weighted_average_equals_numpy(models: int, averages: int, seed: int) -> None:
    state = pool(models, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 9, (averages, models))
    result = states.weighted_average(state, torch.from_numpy(weights))
    for name, value in state.items():
        for row in range(averages):
            expected = np.average(value.double().numpy(), axis=0, weights=weights[row])
            np.testing.assert_allclose(result[name][row].numpy(), expected, atol=1e-6)


def test_weighted_average_with_one_hot_rows_picks_models() -> None:
    state = pool(3)
    picked = states.weighted_average(state, torch.tensor([[0.0, 5.0, 0.0], [1.0, 0.0, 0.0]]))
    chosen = states.take(state, [1, 0])
    for name in state:
        torch.testing.assert_close(picked[name], chosen[name])


def test_weighted_average_of_counters_is_rounded_and_keeps_its_type() -> None:
    average = states.weighted_average({"steps": torch.tensor([2, 3])}, torch.tensor([[1.0, 3.0]]))
    assert average["steps"].dtype == torch.int64
    assert average["steps"].tolist() == [3]


def test_weighted_average_refuses_a_row_without_weight() -> None:
    with pytest.raises(ValueError, match="positive weight"):
        states.weighted_average(pool(2), torch.tensor([[1.0, 1.0], [0.0, 0.0]]))


def test_take_copies_and_allows_repeats() -> None:
    state = pool(3)
    taken = states.take(state, [2, 2, 0])
    assert states.n_models(taken) == 3
    taken["head.bias"][0] = 0
    assert torch.equal(taken["head.bias"][1], state["head.bias"][2])
    assert not torch.equal(taken["head.bias"][0], taken["head.bias"][1])


def test_concatenate_undoes_take() -> None:
    state = pool(4)
    joined = states.concatenate(states.take(state, [i]) for i in range(4))
    assert all(torch.equal(joined[name], state[name]) for name in state)


def test_repeat_gives_equal_models_in_memory_of_their_own() -> None:
    copies = states.repeat(pool(1), 3)
    copies["head.bias"][0] += 1
    assert torch.equal(copies["head.bias"][1], copies["head.bias"][2])
    assert not torch.equal(copies["head.bias"][0], copies["head.bias"][1])


def test_spread_gives_equal_models_in_one_memory() -> None:
    state = pool(1)
    models = states.spread(state, 3)
    for name, value in states.repeat(state, 3).items():
        assert torch.equal(models[name], value)
        assert models[name].data_ptr() == state[name].data_ptr()


def test_part_selects_whole_prefixes_only() -> None:
    state = {name: torch.zeros(1) for name in ("head.0.bias", "header.bias", "encoder.w")}
    assert list(states.part(state, "head")) == ["head.0.bias"]


def test_clone_is_detached_and_shares_no_memory() -> None:
    state = {"w": torch.ones(1, 2, requires_grad=True)}
    copy = states.clone(state)
    copy["w"] += 1
    assert not copy["w"].requires_grad
    assert torch.equal(state["w"], torch.ones(1, 2))


def test_sizes_count_one_model_in_numbers_and_all_models_in_bytes() -> None:
    state = {**pool(5), "steps": torch.zeros(5, dtype=torch.int64)}
    assert states.n_parameters(state) == 3 * 2 + 4
    assert states.n_bytes(state) == 5 * ((3 * 2 + 4) * 4 + 8)


@pytest.mark.parametrize("index", [[0, 1], [3, 4, 5], [4], [5, 0, 2], torch.tensor([1, 2]), [-1]])
def test_put_writes_models_where_they_are_asked_for(index: torch.Tensor | list[int]) -> None:
    state, new = pool(6), pool(len(index), seed=1)
    expected = {name: value.numpy().copy() for name, value in state.items()}
    states.put(state, index, new)
    for name, value in expected.items():
        value[np.asarray(index)] = new[name].numpy()
        np.testing.assert_array_equal(state[name].numpy(), value)


def test_put_refuses_more_models_than_are_asked_for() -> None:
    with pytest.raises((RuntimeError, IndexError)):
        states.put(pool(3), [1], pool(2, seed=1))


@pytest.mark.parametrize("index", [[2], [1, 2], [0, 2]])
def test_put_refuses_models_that_there_are_not(index: list[int]) -> None:
    with pytest.raises((IndexError, RuntimeError)):
        states.put(pool(2), index, pool(len(index), seed=1))
