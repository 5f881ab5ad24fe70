from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from fedrepro.methods.data.federation import to_float
from fedrepro.methods.federated.base import Round
from fedrepro.methods.federated.personalized import fedpac
from fedrepro.methods.state import part
from fedrepro.methods.training.local_loss import Batch
from tests.methods.conftest import make_task, one_round

METHOD = fedpac.FedPAC(rounds=2, local_epochs=1, batch_size=5, learning_rate=0.01)


def test_first_the_classifier_learns_and_then_the_encoder() -> None:
    task, clients = make_task(), torch.arange(3)
    server = METHOD.start(task, 0)
    down = METHOD.broadcast(Round(task, 0, clients), server)
    heads_only = replace(METHOD, local_epochs=0).local_update(Round(task, 0, clients), down, {})
    for name, value in heads_only.per_client["encoder"].items():
        assert torch.equal(value, server.encoder[name].expand_as(value))
    assert not torch.equal(
        heads_only.per_client["classifier"]["head.0.weight"],
        down.per_client["classifier"]["head.0.weight"],
    )
    both = METHOD.local_update(Round(task, 0, clients), down, METHOD.new_memory(task))
    torch.testing.assert_close(
        heads_only.per_client["classifier"], both.per_client["classifier"], rtol=0, atol=0
    )


def test_alignment_is_the_mean_squared_distance_to_the_centroid() -> None:
    task = make_task()
    state, centroids = task.new_model("m"), torch.randn(3, 5)
    at = torch.arange(4).view(1, 4)
    found = [
        fedpac.Aligned(task, 1, centroids, weight).loss(state, {}, Batch((0,), at, at, 1))
        for weight in (0.0, 2.0)
    ]
    train = task.federation.train
    h = task.model.features(state, to_float(train.images[:4])[None])[0]
    expected = 2 * F.mse_loss(h, centroids[train.labels[:4]])
    torch.testing.assert_close((found[1] - found[0])[0], expected)
    early = fedpac.Aligned(task, 1, centroids, 2.0).loss(state, {}, Batch((0,), at, at, 0))
    torch.testing.assert_close(early, found[0])


def test_global_centroids_are_means_over_all_images_of_a_class() -> None:
    task, clients = make_task(sizes=(4, 9, 7)), torch.arange(3)
    server = METHOD.start(task, 0)
    _, up, after = one_round(METHOD, Round(task, 0, clients), server)
    train = task.federation.train
    rows = []
    for client in range(3):
        own = task.federation.train_of[client]
        weights = {k: v[client : client + 1] for k, v in up.per_client["encoder"].items()}
        rows.append(task.model.features(weights, to_float(train.images[own])[None])[0])
    h = torch.cat(rows)
    for c in range(3):
        torch.testing.assert_close(after.centroids[c], h[train.labels == c].mean(0))


def test_every_client_gets_a_mixture_of_all_classifiers() -> None:
    task, clients = make_task(), torch.arange(3)
    server = METHOD.start(task, 0)
    _, up, after = one_round(METHOD, Round(task, 0, clients), server)
    sent = up.per_client["classifier"]["head.0.weight"]
    low, high = sent.min(0).values, sent.max(0).values
    assert bool((after.heads["head.0.weight"] >= low - 1e-6).all())
    assert bool((after.heads["head.0.weight"] <= high + 1e-6).all())
    assert set(after.heads) == set(part(task.new_model("m"), "head"))


def test_the_global_model_has_the_classifiers_averaged_by_size() -> None:
    task = make_task(sizes=(4, 9, 7))
    server = METHOD.start(task, 0)
    heads = {name: torch.randn_like(value) for name, value in server.heads.items()}
    pool, choice = METHOD.personal_models(task, replace(server, heads=heads), {})
    assert choice.tolist() == [0, 0, 0]
    for name, value in heads.items():
        expected = np.average(value.numpy(), axis=0, weights=[4, 9, 7])
        np.testing.assert_allclose(pool[name][0].numpy(), expected, rtol=1e-5, atol=1e-6)
    assert all(torch.equal(pool[name], value) for name, value in server.encoder.items())


def test_two_clients_by_hand() -> None:
    # One class, one feature: h = 0 and 2, V = 1 and 3. For client 0, Q = diag(1, 3) + diag(0, 4):
    # α² + 7 (1 - α)² is least at α = 7/8. For client 1, Q = diag(5, 3): α = 3/8 and 5/8.
    found = fedpac.combination_weights(torch.tensor([1.0, 3.0]), torch.tensor([[[0.0]], [[2.0]]]))
    expected = torch.tensor([[7 / 8, 1 / 8], [3 / 8, 5 / 8]], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=0)


def test_a_client_keeps_its_own_where_others_are_far_away() -> None:
    means = torch.tensor([[[0.0]], [[1000.0]], [[900.0]]])
    found = fedpac.combination_weights(torch.ones(3), means)
    assert float(found[0, 0]) > 0.99


def random_quadratic(n: int, rank: int) -> NDArray[np.float64]:
    root = np.random.default_rng(n).standard_normal((rank, n))
    return root.T @ root


def best_of_all_supports(q: NDArray[np.float64]) -> float:
    """The least α'Qα on the simplex: on the inside of each face it solves Qα = μ 1."""
    n, values = len(q), []
    for count in range(1, n + 1):
        for support in map(list, combinations(range(n), count)):
            inner = q[np.ix_(support, support)]
            alpha = np.linalg.solve(inner, np.ones(count))
            alpha /= alpha.sum()
            if (alpha >= 0).all():
                values.append(float(alpha @ inner @ alpha))
    return min(values)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_minimum_is_the_best_of_all_supports(n: int) -> None:
    q = random_quadratic(n, n)
    found = fedpac.simplex_minimum(q)
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found @ q @ found == pytest.approx(best_of_all_supports(q), rel=1e-9)


@pytest.mark.parametrize(("n", "rank"), [(12, 12), (60, 60), (60, 5), (3, 1)])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_nothing_is_gained_by_moving_weight(n: int, rank: int, scale: float) -> None:
    """Karush, Kuhn and Tucker: the slope is least, and one number, wherever there is weight."""
    q = scale * random_quadratic(n, rank)
    found = fedpac.simplex_minimum(q)
    slope, least = q @ found, found @ q @ found
    assert (slope >= least - 1e-9 * scale * n).all()
    np.testing.assert_allclose(slope[found > 0], least, rtol=1e-6, atol=1e-9 * scale * n)


def test_a_client_without_variance_relies_on_itself() -> None:
    found = fedpac.combination_weights(torch.tensor([0.0, 1.0]), torch.tensor([[[0.0]], [[2.0]]]))
    torch.testing.assert_close(found[0], torch.tensor([1.0, 0.0], dtype=torch.float64))


def test_statistics_by_hand() -> None:
    h = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 2.0]])
    variance, means = fedpac.feature_statistics(
        h, torch.tensor([0, 0, 2, 2]), 3, torch.tensor([0, 2])
    )
    torch.testing.assert_close(means, torch.tensor([[1.0, 0], [0, 0], [0, 1.0]]).double())
    # Σ_y P(y) E|h|² - P(y)² |E h|² = (1 + 9 + 4 + 4) / 4 - 1 - 1, over n = 4.
    assert float(variance) == pytest.approx((18 / 4 - 2) / 4)
