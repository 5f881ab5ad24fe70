from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import silhouette_score
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from fedrepro.benchmark.training.stages.measurement import measure
from fedrepro.methods.data.federation import Federation, ImageSet, to_float
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.metrics.images import left_share, pixel_error, saliency
from fedrepro.methods.nn.layers import Layer
from fedrepro.methods.nn.modular import with_own_modules
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.client_silhouette import ClientSilhouette
from fedrepro.methods.protocols.clustering import Clustering
from fedrepro.methods.protocols.embedding import Embedding, tsne
from fedrepro.methods.protocols.reconstruction import Reconstruction, rebuilt
from fedrepro.methods.protocols.saliency import Saliency, halves
from fedrepro.methods.protocols.silhouette import Silhouette
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, concatenate, part, repeat
from fedrepro.methods.training.pretraining import encode
from tests.methods.conftest import Pixels, dealt, subject_of


def corners(n: int, spread: float) -> ImageSet:
    """Three classes: one of three pixels is bright."""
    labels = torch.arange(n) % 3
    noise = spread * torch.rand(n, 4, generator=torch.Generator().manual_seed(1))
    bright = (torch.eye(4)[labels] * (1 - spread) + noise) * 255
    return ImageSet(bright.to(torch.uint8).view(n, 1, 2, 2), labels)


@pytest.fixture
def subject() -> Subject:
    return subject_of(Pixels(), 4, 3, corners(6, 0.2), corners(60, 0.2))


def head_that_sees(order: list[int]) -> State:
    """A cluster head that calls the class of bright pixel k cluster `order[k]`."""
    second = torch.zeros(1, 3, 4)
    second[0, order, torch.arange(3)] = 9.0
    return {
        "cluster_head.0.weight": torch.eye(4)[None],
        "cluster_head.0.bias": torch.zeros(1, 4),
        "cluster_head.1.weight": second,
        "cluster_head.1.bias": torch.zeros(1, 3),
    }


def test_the_models_own_clusters_are_measured(subject: Subject) -> None:
    sees = replace(subject, weights={**subject.weights, **head_that_sees([2, 0, 1])})
    found = Clustering().measure(sees).metrics
    assert {name: curve.read("final") for name, curve in found.items()} == {
        "clustering_accuracy": 1.0,
        "nmi": pytest.approx(1.0),
        "ari": 1.0,
        "occupied_clusters": 3.0,
    }
    # A head that calls two classes by one name.
    merges = replace(subject, weights={**subject.weights, **head_that_sees([0, 0, 1])})
    found = Clustering().measure(merges).metrics
    assert found["clustering_accuracy"].read("final") == pytest.approx(2 / 3)
    assert found["occupied_clusters"].read("final") == 2.0


def test_centres_assign_in_the_projectors_output(subject: Subject) -> None:
    given = {"projector.0.weight": torch.eye(4)[None, :3], "projector.0.bias": torch.zeros(1, 3)}
    weights = {**subject.weights, **given, "centres.mu": torch.eye(3)[None]}
    found = Clustering().measure(replace(subject, weights=weights)).metrics
    assert found["clustering_accuracy"].read("final") == 1.0


def test_k_means_finds_clear_classes_and_is_the_trials_own(subject: Subject) -> None:
    protocol = Clustering(assignment="kmeans")
    assert protocol.measure(subject).metrics["nmi"].read("final") == pytest.approx(1.0)
    vague = replace(subject, test=corners(60, 0.9))
    once, again = (protocol.measure(vague).metrics["ari"].read("final") for _ in range(2))
    assert once == again < 1.0


def test_a_model_without_clusters_is_refused(subject: Subject) -> None:
    with pytest.raises(ValueError, match="neither a cluster head nor centres"):
        Clustering().measure(subject)


def test_models_of_clients_that_trained_alone_are_measured_one_by_one(subject: Subject) -> None:
    heads = concatenate(head_that_sees(order) for order in ([0, 1, 2], [0, 0, 1]))
    stacked = {**repeat(subject.weights, 2), **heads}
    found = measure(Clustering(), replace(subject, weights=stacked))
    assert found.metrics["clustering_accuracy"].read("final") == pytest.approx(5 / 6)
    assert found.arrays["model_occupied_clusters"].tolist() == [3.0, 2.0]


@pytest.mark.parametrize("protocol", [Clustering(), Silhouette()])
def test_images_without_labels_are_refused(
    subject: Subject, protocol: Clustering | Silhouette
) -> None:
    bare = replace(subject, test=ImageSet(subject.held_out().images))
    with pytest.raises(ValueError, match=r"needs? labels"):
        protocol.measure(bare)


def test_the_silhouette_is_that_of_the_classes_in_the_encoders_output(subject: Subject) -> None:
    test = subject.held_out()
    expected = silhouette_score(test.images.flatten(1).double() / 255, test.labels)
    found = Silhouette().measure(subject).metrics["silhouette"].read("final")
    assert found == pytest.approx(expected)
    assert found > 0.5


def three_classes(n: int) -> ImageSet:
    """Images of three brightnesses, with a little noise."""
    labels = torch.arange(n) % 3
    noise = torch.randint(0, 20, (n, 1, 3, 3), generator=torch.Generator().manual_seed(0))
    return ImageSet((noise + 100 * labels.view(-1, 1, 1, 1)).to(torch.uint8), labels)


@pytest.fixture
def mapped() -> Subject:
    train, test = three_classes(90), three_classes(60)
    return subject_of(Pixels(), 9, 3, train, test, federation=dealt(train, test, 3, 3))


def test_within_clients_a_silhouette_is_the_mean_of_those_that_have_one(mapped: Subject) -> None:
    """Two do; of the others one has a class, one no two images of any, and one never trained."""
    own = [torch.tensor(one) for one in ([0, 1, 3, 4], [1, 2, 4, 8], [0, 3], [0, 1], [0, 1, 3])]
    x, y = mapped.test.images.flatten(1).double() / 255, mapped.test.labels
    expected = np.mean([silhouette_score(x[one], y[one]) for one in own[:2]])
    held = replace(mapped.federation, train_of=tuple(own), test_of=tuple(own), novel=1)
    found = ClientSilhouette().measure(replace(mapped, federation=held)).metrics["silhouette"]
    assert found.read("final") == pytest.approx(expected)
    held = replace(held, train_of=tuple(own[2:]), test_of=tuple(own[2:]))
    with pytest.raises(ValueError, match="no client has two"):
        ClientSilhouette().measure(replace(mapped, federation=held))


def test_images_of_a_class_lie_together(mapped: Subject) -> None:
    arrays = Embedding().measure(mapped).arrays
    xy, label = arrays["xy"], arrays["label"]
    assert xy.shape == (60, 2)
    assert (arrays["client"] == -1).all()
    nearest = NearestNeighbors(n_neighbors=2).fit(xy).kneighbors(xy, return_distance=False)[:, 1]
    assert (label[nearest] == label).mean() > 0.95


def test_a_map_is_the_same_each_time_and_another_for_another_trial(mapped: Subject) -> None:
    first, again = (Embedding().measure(mapped).arrays["xy"] for _ in range(2))
    np.testing.assert_array_equal(first, again)
    other = Embedding(images=30).measure(replace(mapped, seeds=Seeds(1))).arrays["xy"]
    assert other.shape == (30, 2)


def test_clients_show_their_own_images(mapped: Subject) -> None:
    arrays = Embedding(of="clients", clients=2, images=20).measure(mapped).arrays
    held, counts = np.unique(arrays["client"], return_counts=True)
    assert len(held) == 2
    assert counts.tolist() == [10, 10]
    labels = mapped.federation.train.labels
    for client in held:
        own = set(labels[mapped.federation.train_of[client]].tolist())
        assert set(arrays["label"][arrays["client"] == client].tolist()) <= own


def test_single_clients_have_maps_of_their_own(mapped: Subject) -> None:
    arrays = Embedding(of="clients", clients=3, together=False).measure(mapped).arrays
    assert arrays["xy"].shape == (90, 2)
    for client in range(3):
        own = arrays["client"] == client
        images = mapped.train.images[30 * client : 30 * client + 30]
        h = encode(mapped.network, mapped.weights, images).double().numpy()
        alone, _ = tsne(h, 30.0, mapped.seeds)
        np.testing.assert_allclose(arrays["xy"][own], alone, atol=1e-3)


def test_pixels_are_mapped_without_the_network(mapped: Subject) -> None:
    through = Embedding().measure(mapped).arrays["xy"]
    blind = replace(mapped, weights={"encoder.scale": torch.zeros(1, 1)})
    # The network of this test gives the pixels back, so both maps are of the same points.
    np.testing.assert_allclose(Embedding(at="pixels").measure(blind).arrays["xy"], through)


class Linear(Layer):
    """h = W x, with W in the state, whatever the images' shape."""

    def new(self, generator: torch.Generator) -> State:
        return {"encoder.module.w": torch.randn(1, 3, 2 * 4 * 6, generator=generator)}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return torch.einsum("mdi,mni->mnd", state["encoder.module.w"], x.flatten(2))


def fresh(layer: Layer, seed: int = 0) -> State:
    return layer.new(torch.Generator().manual_seed(seed))


def test_a_linear_networks_saliency_is_known() -> None:
    state, x = fresh(Linear()), torch.rand(5, 2, 4, 6)
    w = state["encoder.module.w"][0]
    h = x.flatten(1) @ w.T
    expected = (h @ w / h.norm(dim=1, keepdim=True)).view(x.shape).abs().amax(1)
    torch.testing.assert_close(saliency(Linear(), state, x), expected)
    assert not x.requires_grad


def test_a_deep_networks_saliency_is_its_finite_difference() -> None:
    encoder = ResNet(10, stem="cifar", width=4, client_layers=2, client_norm="twin", modular=True)
    network = encoder.build(2, 6)
    state = {name: value.double() for name, value in fresh(network).items()}
    x = torch.rand(2, 2, 6, 6, dtype=torch.double)
    found, step = saliency(network, state, x), 1e-6
    for image, row, column in ((0, 1, 4), (1, 5, 0), (1, 2, 2)):
        slopes = []
        for channel in range(2):
            ends = []
            for sign in (1, -1):
                moved = x.clone()
                moved[image, channel, row, column] += sign * step
                ends.append(network(state, moved[None])[0, image].norm())
            slopes.append(float(ends[0] - ends[1]) / (2 * step))
        expected = max(map(abs, slopes))
        assert float(found[image, row, column]) == pytest.approx(expected, rel=1e-4)


def test_shares_and_an_error_by_hand() -> None:
    maps = torch.zeros(3, 2, 5)
    maps[0, 0, 1], maps[0, 1, 4] = 3.0, 1.0
    maps[1, :, 2] = 1.0  # the middle column is not of the left half
    assert left_share(maps).tolist() == [0.75, 0.0, 0.5]
    assert pixel_error(torch.zeros(2, 2), torch.full((2, 2), 0.5)) == pytest.approx(0.5)


def test_halves_are_of_the_classes_asked_for() -> None:
    labels = torch.tensor([0, 1, 1, 0, 2])
    images = torch.arange(5, dtype=torch.uint8).view(5, 1, 1, 1).expand(5, 1, 2, 4)
    made = halves(ImageSet(images, labels), 1, 0, 9)
    assert made[:, 0, 0].tolist() == [[1, 1, 0, 0], [2, 2, 3, 3]]
    assert len(halves(ImageSet(images, labels), 1, 0, 1)) == 1
    with pytest.raises(ValueError, match="no image"):
        halves(ImageSet(images, labels), 1, 7, 9)


@pytest.fixture
def seen() -> Subject:
    """Two clients, the first with many images of class 0; their modules look left and right."""
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(1, 256, (40, 2, 4, 6), generator=stream).to(torch.uint8)
    labels = torch.tensor([0] * 9 + [1] * 11 + [0] * 10 + [1] * 10)
    train = ImageSet(images, labels)
    own = (torch.arange(10), torch.arange(10, 40))
    w = torch.ones(1, 1, 2, 4, 6)
    left, right = w.clone(), w.clone()
    left[..., 3:], right[..., :3] = 0.25, 0
    modules = [{"encoder.module.w": one.view(1, 1, -1)} for one in (left, right)]
    weights = with_own_modules({"encoder.module.w": w.view(1, 1, -1)}, concatenate(modules))
    federation = Federation(train, train, own, own, torch.zeros(2).long(), 2)
    return subject_of(Linear(), 1, 2, train, train, weights=weights, federation=federation)


def test_the_share_is_that_of_the_class_of_which_a_client_has_few(seen: Subject) -> None:
    # Client 0 has one image of class 1, shown left; client 1 has fewer of class 0, shown right.
    asked = Saliency(client=0), Saliency(client=1), Saliency(client=0, left=0, right=1)
    shares = [one.measure(seen).metrics["rare_share"].values[0] for one in asked]
    assert shares == pytest.approx([0.8, 1.0, 0.2])


def test_pictures_are_of_the_first_image_and_its_map(seen: Subject) -> None:
    arrays = Saliency().measure(seen).arrays
    first = halves(seen.train, 1, 0, 1)[0]
    assert arrays["picture.test image"].tolist() == first.permute(1, 2, 0).tolist()
    state = part(seen.weights, "encoder")
    assert not torch.equal(state["encoder.module.w"], seen.weights["own.encoder.module.w"][0])
    drawn = torch.from_numpy(arrays["picture.saliency"])[:, :, 0]
    assert drawn.unique().tolist() == [64, 255]
    assert to_float(first).shape[1:] == drawn.shape


def test_a_client_whose_module_was_not_saved_is_refused(seen: Subject) -> None:
    with pytest.raises(ValueError, match="no module of client 0"):
        Saliency().measure(replace(seen, weights=part(seen.weights, "encoder")))


ATTACK = Reconstruction(victims=4, attack_steps=150)


def attacked(norm: str = "twin", modular: bool = True) -> Subject:
    client: dict[str, Any] = {"client_layers": 1, "client_norm": norm}
    encoder = ResNet(18, width=16, stem="cifar", modular=modular, **client)
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (9, 1, 8, 8), generator=stream).to(torch.uint8)
    whole = Augmentation((1.0, 1.0), flip_probability=0, jitter_probability=0)
    network, portion = encoder.build(1, 8), ImageSet(images)
    return subject_of(network, encoder.out_dim, 2, portion, None, augmentation=whole)


def identity(state: State, x: torch.Tensor, training: bool) -> torch.Tensor:
    return x


def test_a_module_that_hides_nothing_gives_the_images_back() -> None:
    hidden = 0.2 + 0.6 * torch.rand(6, 1, 4, 4)
    *_, found = rebuilt(identity, {}, hidden, (1, 4, 4), 300, 0.1, False)
    assert pixel_error(found, hidden) < 0.01


@pytest.mark.parametrize("norm", ["group", "twin"])
def test_whoever_knows_the_module_sees_more(norm: str) -> None:
    both = (replace(ATTACK, collusion=one).measure(attacked(norm)) for one in (True, False))
    known, blind = (one.metrics["image_error"].values for one in both)
    assert known[-1] < 0.8 * known[0]
    assert known[-1] < 0.8 * blind[-1]


def test_mixing_hides_the_image() -> None:
    plain = ATTACK.measure(attacked()).metrics["image_error"].values[-1]
    mixed = replace(ATTACK, mixed=True).measure(attacked()).metrics["image_error"].values[-1]
    assert mixed > plain


def test_a_network_in_one_piece_has_no_representations_to_attack() -> None:
    with pytest.raises(ValueError, match="two modules"):
        ATTACK.measure(attacked(modular=False))


def test_pictures_are_the_first_images_views_and_what_is_rebuilt_of_them() -> None:
    outcome = ATTACK.measure(attacked())
    arrays = outcome.arrays
    assert outcome.metrics["view_error"].rounds == (1, *range(16, 152, 15))
    views = arrays["picture.view 1"], arrays["picture.view 2"]
    assert {a.shape for a in arrays.values()} == {(8, 8, 1)}
    # Views of the whole image: the attack that knows the module comes near their mean.
    mean = (views[0].astype(float) + views[1]) / 2
    assert abs(arrays["picture.reconstructed"] - mean).mean() < 0.8 * mean.std()
