"""Two-stage objectives: the sum of their two losses, each from a network of torch's own layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from fedrepro.methods.clusters.soft_assignment import (
    CENTRES,
    HEAD,
    assigns,
    soft_assignment,
    student_t,
)
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.nn.layers import dense_layers_of, is_buffer
from fedrepro.methods.objectives._soft_clusters import (
    cluster_contrast,
    crossed_divergence,
    embedded_clustering,
)
from fedrepro.methods.objectives.base import Objective
from fedrepro.methods.objectives.byol import BYOL, BYOLLearner
from fedrepro.methods.objectives.byol_cc import BYOLCC
from fedrepro.methods.objectives.byol_dec import BYOLDEC
from fedrepro.methods.objectives.contrastive_clustering import ContrastiveClustering
from fedrepro.methods.objectives.crossed_kl import CrossedKL
from fedrepro.methods.objectives.past_negatives import PastNegatives
from fedrepro.methods.objectives.simclr import SimCLR
from fedrepro.methods.objectives.simclr_dec import SimCLRDEC
from fedrepro.methods.state import State, part, repeat

NETWORK = CNN(widths=(3,), dim=5, padding=1).build(1, 6)
SIMCLR: dict[str, Any] = {"projector_widths": (6, 4), "temperature": 0.5}
BYOL_: dict[str, Any] = {"projector_widths": (6, 4), "predictor_width": 3, "sum_directions": True}
OBJECTIVES: list[Objective] = [
    ContrastiveClustering(**SIMCLR),
    SimCLRDEC(**SIMCLR),
    BYOLCC(**BYOL_),
    BYOLDEC(**BYOL_),
    CrossedKL(**BYOL_),
    PastNegatives(**SIMCLR),
]


def views(models: int = 1, batch: int = 6) -> list[Tensor]:
    streams = [torch.Generator().manual_seed(k) for k in (1, 2)]
    return [torch.rand(models, batch, 1, 6, 6, generator=g) for g in streams]


def stacked(objective: Objective, models: int) -> tuple[Any, State, State]:
    """A learner, states of `models` different models, and a memory of other weights."""
    learner = objective.build(NETWORK, 5, 3)
    states = [learner.new(torch.Generator().manual_seed(k)) for k in range(models)]
    other = [learner.memory(learner.new(torch.Generator().manual_seed(9 + k))) for k in range(3)]

    def stack(parts: list[State]) -> State:
        return {name: torch.cat([p[name] for p in parts]) for name in parts[0]}

    return learner, stack(states), stack(other[:models])


def simclr_loss(state: State, x: list[Tensor]) -> Tensor:
    return SimCLR(**SIMCLR).build(NETWORK, 5, 3).loss(state, {}, x, None)


def byol_loss(state: State, memory: State, x: list[Tensor]) -> Tensor:
    return BYOL(**BYOL_).build(NETWORK, 5, 3).loss(state, memory, x, None)


def soft_labels_by_torch(state: State, h: Tensor) -> Tensor:
    hidden = F.linear(h[0], state[f"{HEAD}.0.weight"][0], state[f"{HEAD}.0.bias"][0]).relu()
    logits = F.linear(hidden, state[f"{HEAD}.1.weight"][0], state[f"{HEAD}.1.bias"][0])
    return logits.softmax(1)[None]


def test_contrastive_clustering_adds_the_clusters_of_the_encoders_output() -> None:
    learner, state, memory = stacked(ContrastiveClustering(**SIMCLR), 1)
    x = views()
    c = [soft_labels_by_torch(state, NETWORK(state, view)) for view in x]
    expected = simclr_loss(state, x) + cluster_contrast(c[0], c[1], 1.0)
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


def test_byol_with_clusters_reads_them_from_the_online_encoder() -> None:
    learner, state, memory = stacked(BYOLCC(**BYOL_), 1)
    x = views()
    c = [soft_labels_by_torch(state, NETWORK(state, view)) for view in x]
    expected = byol_loss(state, memory, x) + cluster_contrast(c[0], c[1], 1.0)
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


def test_dec_beside_simclr_clusters_projections() -> None:
    learner, state, memory = stacked(SimCLRDEC(**SIMCLR), 1)
    x = views()
    z = [learner.projector(state, NETWORK(state, view)) for view in x]
    expected = simclr_loss(state, x) + embedded_clustering(z[0], z[1], state[CENTRES])
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


def predictions(learner: BYOLLearner, state: State, x: list[Tensor]) -> list[Tensor]:
    return learner.predictions(state, [NETWORK(state, view) for view in x])


def test_dec_beside_byol_clusters_predictions() -> None:
    learner, state, memory = stacked(BYOLDEC(**BYOL_), 1)
    x = views()
    p = predictions(learner, state, x)
    expected = byol_loss(state, memory, x) + embedded_clustering(p[0], p[1], state[CENTRES])
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


@pytest.mark.parametrize("select", [True, False])
def test_fedrlcs_loss_crosses_views_and_networks(select: bool) -> None:
    learner, state, memory = stacked(CrossedKL(**BYOL_, data_selection=select), 1)
    x = views()
    q = [student_t(p, state[CENTRES]) for p in predictions(learner, state, x)]
    target = [
        student_t(learner.projector(memory, NETWORK(memory, v), training=True), state[CENTRES])
        for v in x
    ]
    expected = byol_loss(state, memory, x) + crossed_divergence(*q, *target, select)
    torch.testing.assert_close(learner.loss(state, memory, x, None), expected)


def test_without_its_clustering_loss_fedrlcs_is_byols() -> None:
    learner, state, memory = stacked(CrossedKL(**BYOL_, clustering_loss=False), 1)
    assert CENTRES not in state
    x = views()
    torch.testing.assert_close(learner.loss(state, memory, x, None), byol_loss(state, memory, x))


def test_the_divergence_trains_centres_but_never_the_target_network() -> None:
    learner, state, memory = stacked(CrossedKL(**BYOL_, data_selection=False), 1)
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
    _, state, _ = stacked(ContrastiveClustering(**SIMCLR), 1)
    h = torch.rand(1, 4, 5)
    torch.testing.assert_close(soft_assignment(h, state), soft_labels_by_torch(state, h))


@pytest.mark.parametrize("objective", [SimCLRDEC(**SIMCLR), BYOLDEC(**BYOL_)], ids=["C", "NC"])
def test_centres_assign_where_they_were_trained(objective: Objective) -> None:
    learner, state, _ = stacked(objective, 1)
    x = views()[0]
    expected = student_t(learner.embed(state, x, training=False), state[CENTRES])
    torch.testing.assert_close(soft_assignment(NETWORK(state, x), state), expected)


def test_weights_without_clusters_are_refused() -> None:
    _, state, _ = stacked(BYOL(**BYOL_), 1)
    assert not assigns(state)
    with pytest.raises(ValueError, match="neither a cluster head nor centres"):
        soft_assignment(torch.rand(1, 4, 5), state)


def test_a_network_read_off_its_weights_is_the_one_that_was_made() -> None:
    learner, state, _ = stacked(BYOL(**BYOL_), 1)
    h = torch.rand(2, 4, 5)
    two = repeat(state, 2)
    for name in ("projector", "predictor"):
        assert part(two, name)
        h_next = getattr(learner, name)(two, h)
        torch.testing.assert_close(dense_layers_of(name, two)(two, h), h_next)
        h = h_next
