"""What FCL's uploads say of a client's images: nothing that tells one from another.

The attacker is the server of FCL's Section 3: it has each client's momentum encoder and features,
and, worse than the paper assumes, the client's very images to match them with. Real digits; views
are left plain, so that encryption alone stands between an image and its feature.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp
from sklearn.datasets import load_digits
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet, to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.federated.base import Message, Round, Task
from fedrepro.methods.federated.self_supervised._features import batchwise, unpacked
from fedrepro.methods.federated.self_supervised.fcl import FCL, FCLMemory, FusionServer
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.objectives.moco import MoCo
from fedrepro.methods.privacy.instahide import instahide
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import take

CLIENTS, IMAGES = 4, 200
EVERYONE = torch.arange(CLIENTS)
PLAIN = Augmentation(
    crop_scale=(1.0, 1.0),
    crop_ratio=(1.0, 1.0),
    flip_probability=0.0,
    jitter_probability=0.0,
    grey_probability=0.0,
    blur_probability=0.0,
)


def digits() -> Tensor:
    """uint8, 800 x 1 x 8 x 8."""
    pixels = torch.tensor(load_digits().images[: CLIENTS * IMAGES])
    return (pixels * 255 / 16).to(torch.uint8).unsqueeze(1)


def task_of(images: Tensor, trial: int = 0) -> Task:
    """Four clients of 200 images each, who upload features of all of them; no labels."""
    portion = ImageSet(images, None)
    index = torch.arange(CLIENTS * IMAGES).split(IMAGES)
    group = torch.zeros(CLIENTS, dtype=torch.int64)
    encoder = CNN(widths=(16, 32), dim=32, padding=1)
    return Task(
        Federation(portion, portion, index, index, group, 10),
        Classifier(encoder.build(1, 8), encoder.out_dim, dense_head(32, (), 10)),
        Seeds(trial),
        torch.device("cpu"),
        objective=MoCo(projector_widths=(32, 16), queue_size=IMAGES, temperature=0.3),
        augmentation=PLAIN,
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
    assert matched(mixed_images=0) == CLIENTS * IMAGES


@pytest.mark.parametrize("mixed_images", [1, 4])
def test_encrypted_features_are_matched_with_their_images_by_chance_alone(
    mixed_images: int,
) -> None:
    # By chance 800 guesses among 200 images hit 4 times, with a standard deviation of 2.
    assert matched(mixed_images) <= 4 + 4 * 2


def features_without_learning(images: Tensor, rounds: range, mixed_images: int) -> np.ndarray:
    """First values of the features of all clients, encrypted anew in each of `rounds`.

    Nothing is learnt, so that the features are all that could hang on the images.
    """
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
        one = features_without_learning(images, range(3), mixed_images)
        other = features_without_learning(negatives, range(3, 6), mixed_images)
        assert ks_2samp(one, other).pvalue > 0.01
    # Unencrypted, the test tells them apart.
    one, other = (features_without_learning(x, range(1), 0) for x in (images, negatives))
    assert ks_2samp(one, other).pvalue < 0.001


def test_the_limit_what_is_recovered_before_encoding_is_not_hidden_by_signs_alone() -> None:
    """Section 3 says that a perfectly recovered mixture tells nothing. Absolute values do: they are
    those of the mixture whatever the signs (the attack of Carlini et al. 2021 starts from them).
    """
    images = to_float(digits()[:IMAGES])
    encrypted = instahide(images, 4, torch.Generator().manual_seed(0))

    def hits(seen: Tensor, known: Tensor) -> int:
        seen, known = ((x - x.mean(1, keepdim=True)) for x in (seen, known))
        unit = [torch.nn.functional.normalize(x, dim=1) for x in (seen, known)]
        return int(((unit[0] @ unit[1].T).argmax(1) == torch.arange(IMAGES)).sum())

    seen, known = ((x * 2 - 1).flatten(1) for x in (encrypted, images))
    assert hits(seen, known) <= 1 + 4
    assert hits(seen.abs(), known.abs()) >= 1 + 5
