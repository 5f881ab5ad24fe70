import math

import pytest
import torch
from torch import Tensor

from fedrepro.methods.clusters.balanced_clustering import sinkhorn
from fedrepro.methods.objectives._memory import unit
from fedrepro.methods.objectives.swav import PROTOTYPES, swapped_prediction
from tests.methods.conftest import MakeLearner
from tests.whole_torchvision import ensure_torchvision


def test_the_swapped_prediction_equals_a_plain_loop_over_equation_2() -> None:
    scores = torch.randn(2, 5, 3, dtype=torch.float64)
    codes = torch.rand(2, 5, 3, dtype=torch.float64).softmax(2)
    losses = swapped_prediction(scores, codes, 0.1)
    for model in range(2):
        total = 0.0
        for s, q in zip(scores[model], codes[model], strict=True):
            exponentials = [math.exp(float(value) / 0.1) for value in s]
            p = [e / sum(exponentials) for e in exponentials]
            total -= sum(
                float(share) * math.log(chance) for share, chance in zip(q, p, strict=True)
            )
        assert losses[model].item() == pytest.approx(total / 5, abs=1e-9)


def test_the_loss_equals_that_of_lightly(small_learner: MakeLearner) -> None:
    ensure_torchvision()
    loss = pytest.importorskip("lightly.loss")
    learner, state, views = small_learner("swav", prototypes=4)
    ours = learner.loss(state, {}, views, None)
    z = [unit(learner.projector(state, learner.encoder(state, x), training=True)) for x in views]  # type: ignore[attr-defined]
    scores = [(each @ unit(state[PROTOTYPES]).transpose(1, 2))[0] for each in z]
    torch.testing.assert_close(ours, loss.SwaVLoss()(scores, []), atol=1e-6, rtol=1e-6)


def test_queued_features_share_the_prototypes_with_the_batch(small_learner: MakeLearner) -> None:
    options = {"prototypes": 4, "queue_size": 9, "normalised_layers": 0}
    learner, state, views = small_learner("swav", **options)
    earlier = small_learner("swav", seed=1)[2]
    memory = learner.memory(state)
    learner.loss(state, memory, earlier, None)
    loss = learner.loss(state, memory, views, None)

    def scores_of(x: Tensor) -> Tensor:
        z = unit(learner.projector(state, learner.encoder(state, x)))  # type: ignore[attr-defined]
        return torch.bmm(z, state[PROTOTYPES].transpose(1, 2))

    expected = torch.zeros(1, dtype=torch.float64)
    for view in range(2):
        both = torch.cat([scores_of(views[view]), scores_of(earlier[view])], dim=1)
        codes = sinkhorn(both, 0.05, 3)[:, :7]
        expected += swapped_prediction(scores_of(views[1 - view]), codes, 0.1) / 2
    torch.testing.assert_close(loss, expected)
    assert memory["queue0.filled"].tolist() == [9]


def test_prototypes_are_brought_to_length_one_and_trained(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("swav", prototypes=4)
    state[PROTOTYPES] = (state[PROTOTYPES] * 3).requires_grad_()
    learner.loss(state, {}, views, None).sum().backward()
    lengths = state[PROTOTYPES].detach().norm(dim=2)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))
    assert bool(state[PROTOTYPES].grad.any())  # type: ignore[union-attr]
