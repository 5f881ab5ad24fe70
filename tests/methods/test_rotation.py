import math

import numpy as np
import pytest
import torch

from fedrepro.methods.objectives.rotation import rotations
from tests.methods.conftest import MakeLearner


def test_rotations_are_numpys_quarter_turns_with_their_number() -> None:
    x = torch.rand(2, 3, 1, 4, 4)
    turned, turns = rotations(x)
    assert turned.shape == (2, 12, 1, 4, 4)
    for model in range(2):
        for place in range(12):
            image = x[model, place % 3, 0].numpy()
            expected = np.rot90(image, k=int(turns[model, place]))
            assert np.array_equal(turned[model, place, 0].numpy(), expected)
        assert sorted(turns[model].tolist()) == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3


def test_the_loss_equals_a_plain_loop_over_the_four_turns(small_learner: MakeLearner) -> None:
    learner, state, views = small_learner("rotation", models=2)
    losses = learner.loss(state, {}, views[:1], None)
    for model in range(2):
        own = {name: value[model] for name, value in state.items()}
        total = 0.0
        for image in views[0][model]:
            for turns in range(4):
                x = torch.from_numpy(np.rot90(image.numpy(), turns, axes=(1, 2)).copy())
                h = (own["encoder.dense.weight"] @ x.flatten() + own["encoder.dense.bias"]).clamp(0)
                logits = (own["rotation.0.weight"] @ h + own["rotation.0.bias"]).tolist()
                total += math.log(sum(math.exp(a) for a in logits)) - logits[turns]
        assert losses[model].item() == pytest.approx(total / 28, abs=1e-12)
