"""Maps by t-SNE, on an encoder whose output is known: the image's pixels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.embedding import Embedding, tsne
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.training.pretraining import encode
from tests.methods.conftest import Pixels


def three_classes(n: int) -> ImageSet:
    """Images of three brightnesses, with a little noise."""
    labels = torch.arange(n) % 3
    noise = torch.randint(0, 20, (n, 1, 3, 3), generator=torch.Generator().manual_seed(0))
    return ImageSet((noise + 100 * labels.view(-1, 1, 1, 1)).to(torch.uint8), labels)


@pytest.fixture
def subject() -> Subject:
    train, test = three_classes(90), three_classes(60)
    federation = Federation(
        train,
        test,
        torch.arange(90).split(30),
        torch.arange(60).split(20),
        torch.zeros(3).long(),
        3,
    )
    return Subject(
        network=Pixels(),
        dim=9,
        weights=Pixels().new(torch.Generator()),
        train=train,
        test=test,
        n_classes=3,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: train,
        federation=federation,
    )


def test_images_of_a_class_lie_together(subject: Subject) -> None:
    arrays = Embedding().measure(subject).arrays
    xy, label = arrays["xy"], arrays["label"]
    assert xy.shape == (60, 2)
    assert (arrays["client"] == -1).all()
    nearest = NearestNeighbors(n_neighbors=2).fit(xy).kneighbors(xy, return_distance=False)[:, 1]
    assert (label[nearest] == label).mean() > 0.95


def test_a_map_is_the_same_each_time_and_another_for_another_trial(subject: Subject) -> None:
    first, again = (Embedding().measure(subject).arrays["xy"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = Embedding(images=30).measure(replace(subject, seeds=Seeds(1))).arrays["xy"]
    assert other.shape == (30, 2)


def test_clients_show_their_own_images(subject: Subject) -> None:
    arrays = Embedding(of="clients", clients=2, images=20).measure(subject).arrays
    held, counts = np.unique(arrays["client"], return_counts=True)
    assert len(held) == 2
    assert counts.tolist() == [10, 10]
    assert subject.federation is not None
    labels = subject.federation.train.labels
    assert labels is not None
    for client in held:
        own = set(labels[subject.federation.train_of[client]].tolist())
        assert set(arrays["label"][arrays["client"] == client].tolist()) <= own


def test_single_clients_have_maps_of_their_own(subject: Subject) -> None:
    arrays = Embedding(of="clients", clients=3, together=False).measure(subject).arrays
    assert arrays["xy"].shape == (90, 2)
    for client in range(3):
        own = arrays["client"] == client
        images = subject.train.images[30 * client : 30 * client + 30]
        h = encode(subject.network, subject.weights, images).double().numpy()
        alone, _ = tsne(h, 30.0, subject.seeds)
        np.testing.assert_allclose(arrays["xy"][own], alone, atol=1e-3)


def test_pixels_are_mapped_without_the_network(subject: Subject) -> None:
    through = Embedding().measure(subject).arrays["xy"]
    blind = replace(subject, weights={"encoder.scale": torch.zeros(1, 1)})
    # The network of this test gives the pixels back, so both maps are of the same points.
    np.testing.assert_allclose(Embedding(at="pixels").measure(blind).arrays["xy"], through)


def test_few_images_lower_the_perplexity() -> None:
    xy, loss = tsne(np.random.default_rng(0).normal(size=(8, 4)), 30.0, Seeds(0))
    assert xy.shape == (8, 2)
    assert np.isfinite(loss)


@pytest.mark.parametrize("options", [{"clients": 0}, {"images": 9}, {"perplexity": 0.0}])
def test_options_that_give_no_map_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="an embedding needs"):
        Embedding(**options)
