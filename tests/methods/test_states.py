from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fedrepro.methods import state as states
from fedrepro.methods.data.federation import labelled
from fedrepro.methods.federated.client_memory import ClientMemory, ClientStates
from fedrepro.methods.nn.classifier import dense_head
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from tests.methods.conftest import stream


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


def test_weighted_average_of_counters_is_rounded_and_keeps_its_type() -> None:
    average = states.weighted_average({"steps": torch.tensor([2, 3])}, torch.tensor([[1.0, 3.0]]))
    assert average["steps"].dtype == torch.int64
    assert average["steps"].tolist() == [3]


def test_models_taken_or_repeated_lie_in_memory_of_their_own() -> None:
    state = pool(3)
    for copies in (states.take(state, [2, 2]), states.repeat(states.take(state, [2]), 2)):
        copies["head.bias"][0] += 1
        assert torch.equal(copies["head.bias"][1], state["head.bias"][2])


def test_spread_gives_equal_models_in_one_memory() -> None:
    state = pool(1)
    models = states.spread(state, 3)
    for name, value in states.repeat(state, 3).items():
        assert torch.equal(models[name], value)
        assert models[name].data_ptr() == state[name].data_ptr()


def test_part_selects_whole_prefixes_only() -> None:
    state = {name: torch.zeros(1) for name in ("head.0.bias", "header.bias", "encoder.w")}
    assert list(states.part(state, "head")) == ["head.0.bias"]


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


@pytest.mark.parametrize("index", [[2], [1, 2], [0, 2]])
def test_put_refuses_models_that_there_are_not(index: list[int]) -> None:
    with pytest.raises((IndexError, RuntimeError)):
        states.put(pool(2), index, pool(len(index), seed=1))


def test_numbers_are_the_same_in_every_process_and_version() -> None:
    assert Seeds(0).number("weights") == 133441691874178746
    assert Seeds(1).number("batches", 3) == 6513698346353964663


@dataclass
class Kept(ClientMemory):
    models: ClientStates
    scale: Tensor
    table: State = field(default_factory=dict)


def test_a_client_that_has_not_trained_gets_what_is_given_otherwise() -> None:
    states = ClientStates.of(3)
    states.remember(torch.tensor([2, 0]), {"w": torch.tensor([[2.0], [0.5]])})
    otherwise = {"w": torch.tensor([[7.0], [8.0], [9.0]])}
    found = states.recall(torch.tensor([2, 1, 0]), otherwise)
    assert found["w"].flatten().tolist() == [2.0, 8.0, 0.5]
    assert otherwise["w"].flatten().tolist() == [7.0, 8.0, 9.0]
    assert states.has_trained.tolist() == [True, False, True]


def test_what_is_recalled_can_be_changed_without_changing_what_is_kept() -> None:
    states, both = ClientStates.of(2), torch.arange(2)
    states.remember(both, {"w": torch.ones(2, 1)})
    states.recall(both, {"w": torch.zeros(2, 1)})["w"].zero_()
    assert states.state["w"].flatten().tolist() == [1.0, 1.0]


def test_a_client_that_trains_again_replaces_its_own_state_alone() -> None:
    states = ClientStates.of(2)
    states.remember(torch.arange(2), {"w": torch.tensor([1.0, 2.0])})
    states.remember(torch.tensor([1]), {"w": torch.tensor([5.0])})
    assert states.state["w"].tolist() == [1.0, 5.0]


def test_all_that_a_method_keeps_is_seen() -> None:
    kept = Kept(ClientStates.of(2), torch.ones(2))
    assert len(list(kept.tensors())) == 2
    kept.models.remember(torch.tensor([0]), {"a": torch.ones(1), "b": torch.ones(1)})
    kept.table = {"c": torch.zeros(2)}
    assert len(list(kept.tensors())) == 5
    assert not list(ClientMemory().tensors())


def test_every_class_keeps_its_share_and_at_least_one_image() -> None:
    labels = torch.tensor([0] * 40 + [1] * 20 + [2] * 3 + [3] * 37)
    own = torch.arange(5, 63)  # 35 of class 0, 20 of class 1, 3 of class 2, none of class 3
    for share, expected in [(0.1, [4, 2, 1]), (0.01, [1, 1, 1]), (1.0, [35, 20, 3])]:
        kept = labelled(own, labels, share, stream())
        assert torch.bincount(labels[kept]).tolist() == expected
        assert set(kept.tolist()) <= set(own.tolist())
        assert kept.tolist() == sorted(set(kept.tolist()))


def test_the_same_stream_keeps_the_same_images_and_larger_shares_more_of_them() -> None:
    labels, own = torch.arange(50) % 5, torch.arange(50)
    few, again, other = (labelled(own, labels, 0.2, stream(s)) for s in (0, 0, 1))
    assert torch.equal(few, again)
    assert not torch.equal(few, other)
    assert set(few.tolist()) < set(labelled(own, labels, 0.5, stream()).tolist())


@pytest.mark.parametrize("widths", [(), (7,), (7, 6), (7, 6, 4)])
def test_head_equals_a_torch_network_with_relu_between(widths: tuple[int, ...]) -> None:
    head = dense_head(5, widths, 3)
    state = head.new(torch.Generator().manual_seed(0))
    sizes = [5, *widths, 3]
    modules: list[nn.Module] = []
    for i in range(len(sizes) - 1):
        linear = nn.Linear(sizes[i], sizes[i + 1])
        linear.weight.data.copy_(state[f"head.{i}.weight"][0])
        linear.bias.data.copy_(state[f"head.{i}.bias"][0])
        modules += [linear, nn.ReLU()]
    h = torch.randn(1, 4, 5)
    torch.testing.assert_close(head(state, h)[0], nn.Sequential(*modules[:-1])(h[0]))
