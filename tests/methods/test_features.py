import torch
from torch import Tensor

from fedrepro.methods.federated.self_supervised._features import (
    all_but,
    batchwise,
    choose,
    packed,
    padded,
    unpacked,
)
from fedrepro.methods.nn.layers import BatchNorm
from fedrepro.methods.state import State, clone


def bank(n: int, value: float = 0.0) -> Tensor:
    return torch.full((n, 3), value)


def test_features_of_unequal_numbers_travel_without_padding() -> None:
    banks = [bank(4, 1.0), bank(2, 2.0), bank(0), bank(3, 4.0)]
    payload = packed(banks)
    assert payload["features"].shape == (9, 3)
    for sent, received in zip(banks, unpacked(payload), strict=True):
        assert torch.equal(sent, received)


def test_a_client_receives_everybody_elses_features() -> None:
    banks = {0: bank(2, 0.0), 3: bank(1, 3.0), 5: bank(2, 5.0)}
    assert all_but(banks, 3)[:, 0].tolist() == [0, 0, 5, 5]
    assert all_but(banks, 7)[:, 0].tolist() == [0, 0, 3, 5, 5]
    assert all_but({0: bank(2)}, 0).shape == (0, 3)


def test_padding_marks_what_exists() -> None:
    stacked, exists = padded([bank(1, 1.0), bank(3, 2.0)])
    assert stacked[:, :, 0].tolist() == [[1, 0, 0], [2, 2, 2]]
    assert exists.tolist() == [[True, False, False], [True, True, True]]


def test_chosen_images_are_different_and_a_clients_own() -> None:
    own = torch.arange(20).view(2, 10) * 3
    chosen = choose(own, 4, [torch.Generator().manual_seed(i) for i in range(2)])
    for row, mine in zip(chosen.tolist(), own.tolist(), strict=True):
        assert len(set(row)) == 4
        assert set(row) <= set(mine)
    streams = [torch.Generator().manual_seed(i) for i in range(2)]
    assert sorted(choose(own, 99, streams)[1].tolist()) == own[1].tolist()


def test_batchwise_features_use_batch_statistics_and_leave_the_running_ones() -> None:
    norm = BatchNorm("n", 2)
    state = norm.new(torch.Generator())
    before = clone(state)
    x = torch.randn(1, 10, 2)

    def project(weights: State, piece: Tensor) -> Tensor:
        return norm(weights, piece, training=True)

    found = batchwise(project, state, x, batch_size=5)
    for half in (slice(0, 5), slice(5, 10)):
        piece = x[0, half]
        expected = (piece - piece.mean(0)) / (piece.var(0, correction=0) + 1e-5).sqrt()
        torch.testing.assert_close(found[0, half], expected)
    for name, value in before.items():
        assert torch.equal(state[name], value)


def test_no_batch_is_left_with_a_single_image() -> None:
    sizes: list[int] = []

    def project(weights: State, piece: Tensor) -> Tensor:
        sizes.append(piece.shape[1])
        return piece

    batchwise(project, {}, torch.zeros(1, 9, 2), batch_size=4)
    assert sizes == [5, 4]
