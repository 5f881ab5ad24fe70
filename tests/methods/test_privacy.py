from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp, kstest
from sklearn.datasets import load_digits
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet, to_float
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.self_supervised._features import batchwise, unpacked
from fedrepro.methods.federated.self_supervised.fcl import FCL, FCLMemory, FusionServer
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.privacy.datamix import datamix
from fedrepro.methods.privacy.instahide import LARGEST, coefficients, instahide, partners
from fedrepro.methods.privacy.secure_aggregation import masked, unmasked_sum
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, take, weighted_average
from tests.methods.conftest import PLAIN, stream


@pytest.mark.parametrize("mixed", [2, 3, 4, 6])
def test_coefficients_are_shares_and_none_is_too_large(mixed: int) -> None:
    share = coefficients(500, mixed, stream())
    assert share.shape == (500, mixed)
    torch.testing.assert_close(share.sum(1), torch.ones(500))
    assert bool((share >= 0).all())
    assert float(share.max()) <= LARGEST


def test_a_coefficients_distribution_is_that_of_a_bounded_uniform_simplex() -> None:
    """Independent: spacings of sorted uniform numbers, those with a large one rejected."""
    cuts = torch.rand(20000, 3, generator=stream(1)).sort(dim=1).values
    edges = torch.cat([torch.zeros(20000, 1), cuts, torch.ones(20000, 1)], dim=1)
    spacings = edges.diff(dim=1)
    spacings = spacings[spacings.amax(1) <= LARGEST]
    ours = coefficients(5000, 4, stream())
    for place in range(4):
        assert kstest(ours[:, place].numpy(), spacings[:, 0].numpy()).pvalue > 0.001


def test_every_image_is_mixed_with_different_others_and_equally_often() -> None:
    index = partners(11, 4, stream())
    assert torch.equal(index[:, 0], torch.arange(11))
    assert all(len(set(row.tolist())) == 4 for row in index)
    assert torch.equal(torch.bincount(index.flatten()), torch.full((11,), 4))


def test_encryption_equals_a_plain_loop_over_mixing_and_signs() -> None:
    images = torch.rand(7, 2, 3, 3)
    found = instahide(images, 3, stream(5))
    replay = stream(5)
    share, index = coefficients(7, 3, replay), partners(7, 3, replay)
    flips = torch.randint(0, 2, images.shape, generator=replay)
    for i in range(7):
        mixture = sum(float(share[i, j]) * (2 * images[index[i, j]] - 1) for j in range(3))
        sign = flips[i] * 2.0 - 1.0
        torch.testing.assert_close(2 * found[i] - 1, sign * mixture)


def test_half_of_all_signs_are_flipped_and_sizes_are_kept() -> None:
    images = torch.rand(200, 3, 8, 8) * 0.4 + 0.6  # every offset from grey is positive
    found = instahide(images, 1, stream())
    assert float((found < 0.5).double().mean()) == pytest.approx(0.5, abs=0.01)
    torch.testing.assert_close((2 * found - 1).abs(), 2 * images - 1)


def test_every_image_is_a_mixture_of_itself_and_one_other_alike_in_both_views() -> None:
    n = 7
    z = torch.eye(n).unsqueeze(1).repeat(1, 2, 1)
    mixed = datamix(z, torch.Generator().manual_seed(0), least=0.6)
    assert torch.equal(mixed[:, 0], mixed[:, 1])
    coefficients = mixed[:, 0]
    assert torch.allclose(coefficients.sum(1), torch.ones(n))
    assert torch.equal((coefficients > 0).sum(1), torch.full((n,), 2))
    assert bool((coefficients.diagonal() >= 0.6).all())
    # Every image lends itself to exactly one other.
    assert torch.equal((coefficients > 0).sum(0), torch.full((n,), 2))


@pytest.mark.parametrize("n", [1, 2])
def test_one_image_stays_and_two_are_mixed(n: int) -> None:
    z = torch.rand(n, 2, 3)
    mixed = datamix(z, torch.Generator().manual_seed(1))
    assert torch.equal(mixed, z) == (n == 1)


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


FCL_PRIVACY_CLIENTS, IMAGES = 4, 200
EVERYONE = torch.arange(FCL_PRIVACY_CLIENTS)


def digits() -> Tensor:
    """uint8, 800 x 1 x 8 x 8."""
    pixels = torch.tensor(load_digits().images[: FCL_PRIVACY_CLIENTS * IMAGES])
    return (pixels * 255 / 16).to(torch.uint8).unsqueeze(1)


def task_of(images: Tensor, trial: int = 0) -> Task:
    """Four clients of 200 images each, who upload features of all of them; no labels."""
    portion = ImageSet(images, None)
    index = torch.arange(FCL_PRIVACY_CLIENTS * IMAGES).split(IMAGES)
    group = torch.zeros(FCL_PRIVACY_CLIENTS, dtype=torch.int64)
    encoder = CNN(widths=(16, 32), dim=32, padding=1)
    return Task(
        Federation(portion, portion, index, index, group, 10),
        Classifier(encoder.build(1, 8), encoder.out_dim, dense_head(32, (), 10)),
        Seeds(trial),
        torch.device("cpu"),
        objective=MoCo(projector_widths=(32, 16), queue_size=IMAGES, temperature=0.3),
        augmentation=replace(PLAIN, crop_ratio=(1.0, 1.0)),
    )


def upload_of(
    task: Task, t: int = 0, **options: Any
) -> tuple[FCL, FCLMemory, FusionServer, Message]:
    """What all clients send after a round `t` that starts from new weights."""
    settings = {"learning_rate": 0.003, "local_epochs": 3, "batch_size": 50, **options}
    method = FCL(rounds=9, neighbours=2, **settings)
    memory, server = method.new_memory(task), method.start(task, 0)
    download = method.broadcast(Round(task, t, EVERYONE), server)
    return method, memory, server, method.local_update(Round(task, t, EVERYONE), download, memory)


def matched(mixed_images: int) -> int:
    """How many of 800 uploaded features are nearest to the feature of their own plain image."""
    task = task_of(digits())
    method, memory, _, upload = upload_of(task, mixed_images=mixed_images)
    learner, hits = method.learner(task), 0
    for client, sent in enumerate(unpacked(dict(upload.per_client["features"]))):
        shown = to_float(task.federation.train.images[memory.shown[client]])
        key = take(dict(upload.per_client["momentum"]), [client])
        own = batchwise(learner.project, key, shown.unsqueeze(0), method.batch_size)[0]
        nearest = (sent @ own.T).argmax(dim=1)
        hits += int((nearest == torch.arange(len(sent))).sum())
    return hits


def test_unencrypted_features_give_every_image_away() -> None:
    """The attack works: what follows is no weakness of the attacker."""
    assert matched(mixed_images=0) == FCL_PRIVACY_CLIENTS * IMAGES


@pytest.mark.parametrize("mixed_images", [1, 4])
def test_encrypted_features_are_matched_with_images_by_chance_alone(mixed_images: int) -> None:
    # By chance 800 guesses among 200 images hit 4 times, with a standard deviation of 2.
    assert matched(mixed_images) <= 4 + 4 * 2


def features_without_learning(images: Tensor, rounds: range, mixed_images: int) -> np.ndarray:
    """First values of the features of all clients, encrypted anew in each of `rounds`. Nothing is
    learnt, so that the features are all that could hang on the images."""
    task, found = task_of(images), []
    for t in rounds:
        _, _, server, upload = upload_of(task, t, learning_rate=0.0, mixed_images=mixed_images)
        assert set(upload.per_client) == {"weights", "momentum", "features"}
        for payload, start in (("weights", server.query), ("momentum", server.key)):
            for name, sent in upload.per_client[payload].items():
                torch.testing.assert_close(sent, start[name].expand_as(sent), rtol=0, atol=1e-7)
        found.append(torch.cat(unpacked(dict(upload.per_client["features"])))[:, 0])
    return torch.cat(found).numpy()


def test_an_image_and_its_negative_upload_the_same_distribution() -> None:
    """A random sign for each value: about mid-grey, a picture and its negative are one."""
    images, negatives = digits(), 255 - digits()
    for mixed_images in (1, 4):
        one = features_without_learning(images, range(1), mixed_images)
        other = features_without_learning(negatives, range(1, 2), mixed_images)
        assert ks_2samp(one, other).pvalue > 0.01
    # Unencrypted, the test tells them apart.
    one, other = (features_without_learning(x, range(1), 0) for x in (images, negatives))
    assert ks_2samp(one, other).pvalue < 0.001


def test_the_limit_what_is_recovered_before_encoding_is_not_hidden_by_signs_alone() -> None:
    """Section 3 says that a perfectly recovered mixture tells nothing. Absolute values do: they are
    those of the mixture whatever the signs (the attack of Carlini et al. 2021 starts from them)."""
    images = to_float(digits()[:IMAGES])
    encrypted = instahide(images, 4, torch.Generator().manual_seed(0))

    def hits(seen: Tensor, known: Tensor) -> int:
        seen, known = ((x - x.mean(1, keepdim=True)) for x in (seen, known))
        unit = [torch.nn.functional.normalize(x, dim=1) for x in (seen, known)]
        return int(((unit[0] @ unit[1].T).argmax(1) == torch.arange(IMAGES)).sum())

    seen, known = ((x * 2 - 1).flatten(1) for x in (encrypted, images))
    assert hits(seen, known) <= 1 + 4
    assert hits(seen.abs(), known.abs()) >= 1 + 5
