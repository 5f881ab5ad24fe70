import pytest
import torch
from torch import Tensor

from fedrepro.methods.data.federation import Federation, ImageSet
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.nn import layers
from fedrepro.methods.nn.classifier import Classifier, dense_head
from fedrepro.methods.nn.normalisation import GroupNorm, TwinNorm
from fedrepro.methods.nn.reached import reached_places, restored, trimmed
from fedrepro.methods.registry import find
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State, concatenate, repeat
from fedrepro.methods.training import local
from fedrepro.methods.training.local_loss import LocalOptions
from fedrepro.methods.training.probing import image_bytes, is_batch_independent
from tests.methods.conftest import make_task


def network(*between: layers.Layer) -> Classifier:
    first, dense = layers.Conv2d("encoder.conv", 2, 4, 3, 1, 1), 4 * 3 * 3
    seen = first, *between, layers.ReLU(), layers.MaxPool2d(2, 2), layers.Flatten()
    encoder = layers.Sequential(*seen, layers.Linear("encoder.dense", dense, 5), layers.ReLU())
    return Classifier(encoder, 5, dense_head(5, (4,), 3))


class Nothing(layers.Layer):
    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return torch.zeros_like(x)


class HiddenByZero(layers.BatchNorm):
    """A normalisation whose scale is 0 at the start, as at the end of residual branches."""

    def new(self, generator: torch.Generator) -> State:
        return {n: v * 0 if n.endswith("weight") else v for n, v in super().new(generator).items()}

    def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
        return x + super().__call__(state, x, training)


@pytest.mark.parametrize(
    ("network", "shape", "alone"),
    [
        (network(), (2, 6, 6), True),
        (dense_head(5, (4,), 3), (5,), True),
        (network(GroupNorm("encoder.n", 4, 2)), (2, 6, 6), True),
        (network(layers.BatchNorm("encoder.n", 4)), (2, 6, 6), False),
        (network(TwinNorm("encoder.n", 4, 2)), (2, 6, 6), False),
        (network(Nothing()), (2, 6, 6), False),
        (network(HiddenByZero("encoder.n", 4)), (2, 6, 6), False),
        (layers.Sequential(layers.GlobalAveragePool(), layers.BatchNorm("n", 2)), (2, 3, 3), False),
    ],
)
def test_what_treats_images_alone(
    network: layers.Layer | Classifier, shape: tuple[int, ...], alone: bool
) -> None:
    """A network that sees nothing is not trusted, and a scale of zero hides nothing."""
    assert is_batch_independent(network, *shape) is alone


@pytest.mark.parametrize(
    ("name", "options", "alone"),
    [("cnn", {}, True), ("vgg", {}, False), ("resnet", {"client_norm": "group"}, False)],
)
def test_whole_encoders(name: str, options: dict[str, str], alone: bool) -> None:
    built = find("encoder", name)(**options).build(3, 32)
    assert is_batch_independent(built, 3, 32, 32) is alone


def test_bytes_of_an_image_are_what_autograd_really_keeps() -> None:
    model = make_task().model
    state = {
        name: value.requires_grad_()
        for name, value in repeat(model.new(torch.Generator().manual_seed(0)), 5).items()
    }
    kept: list[int] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor.numel() * tensor.element_size())
        return tensor

    totals = []
    for batch in (4, 9):
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            model(state, torch.rand(5, batch, 1, 6, 6), training=True)
        totals.append(sum(kept))
    assert image_bytes(model, 1, 6, 6) == (totals[1] - totals[0]) / (5 * 5)


CENTRE, CORNER = (slice(1, 2), slice(1, 2)), (slice(1, 3), slice(1, 3))


def drawn(network: layers.Layer | Classifier, models: int = 1) -> State:
    streams = map(torch.Generator().manual_seed, range(models))
    return concatenate(network.new(stream) for stream in streams)


def test_what_8x8_images_reach_of_four_convolutions() -> None:
    """Sides 8, 4, 2, 1, 1: the third sees two by two places of its kernel, the fourth one."""
    encoder = CNN(widths=(2, 3, 4, 5), dim=6, padding=1).build(1, 8)
    places = reached_places(encoder, drawn(encoder), torch.rand(1, 8, 8))
    assert places == {"encoder.conv2.weight": CORNER, "encoder.conv3.weight": CENTRE}


@pytest.mark.parametrize("encoder", [CNN(widths=(2, 3, 4, 5), dim=6, padding=1), ResNet(width=2)])
def test_what_is_left_out_has_no_gradient_and_what_is_reached_has_it(
    encoder: CNN | ResNet,
) -> None:
    network = encoder.build(1, 8)
    state, x = drawn(network, 3), torch.rand(3, 4, 1, 8, 8)
    places = reached_places(network, state, x[0, 0])
    assert places
    learning = {name: value.requires_grad_() for name, value in state.items() if name in places}
    torch.autograd.backward(network(state, x).square().sum())
    reached = {name: value.detach() for name, value in trimmed(state, places).items()}
    for name in places:
        reached[name].requires_grad_()
    torch.autograd.backward(network(reached, x).square().sum())
    for name, place in places.items():
        there = torch.zeros_like(state[name])
        there[(..., *place)] = reached[name].grad
        assert learning[name].grad is not None
        torch.testing.assert_close(learning[name].grad, there, rtol=1e-5, atol=1e-6, msg=name)
        assert bool((learning[name].grad[there == 0] == 0).all())


def test_a_kernel_that_is_reached_as_a_whole_is_left_out_of_the_places() -> None:
    encoder = CNN(widths=(2, 3), dim=4, padding=1).build(1, 32)
    assert reached_places(encoder, drawn(encoder), torch.rand(1, 32, 32)) == {}


def test_what_was_trimmed_is_restored_and_shares_no_memory() -> None:
    encoder = CNN(widths=(2, 3, 4, 5), dim=6, padding=1).build(1, 8)
    before = drawn(encoder, 2)
    places = reached_places(encoder, before, torch.rand(1, 8, 8))
    again = restored(trimmed(before, places), before, places)
    assert all(torch.equal(again[name], before[name]) for name in before)
    again["encoder.conv3.weight"].zero_()
    assert before["encoder.conv3.weight"].any()


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_clients_train_as_with_all_their_weights(
    monkeypatch: pytest.MonkeyPatch, weight_decay: float
) -> None:
    """And with a decay, which moves every weight, none is left out."""
    encoder = CNN(widths=(2, 3, 4, 5), dim=6, padding=1)
    model = Classifier(encoder.build(1, 8), 6, dense_head(6, [], 3))
    stream = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (20, 1, 8, 8), generator=stream, dtype=torch.uint8)
    portion = ImageSet(images, torch.randint(0, 3, (20,), generator=stream))
    halves = torch.arange(20).split(10)
    federation = Federation(portion, portion, halves, halves, torch.zeros(2).long(), 3)
    options = LocalOptions(2, 4, 0.01, weight_decay=weight_decay)
    start, everyone = drawn(model, 2), torch.arange(2)

    def train() -> State:
        return local.train_clients(
            model, start, everyone, federation, everyone, options, Seeds(0), 0
        )

    found = train()
    monkeypatch.setattr(local, "reached_places", lambda *_: {})
    expected = train()
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)
    unreached = torch.ones(3, 3, dtype=torch.bool)
    unreached[1, 1] = False
    stays = torch.equal(
        found["encoder.conv3.weight"][..., unreached], start["encoder.conv3.weight"][..., unreached]
    )
    assert stays is (weight_decay == 0.0)
