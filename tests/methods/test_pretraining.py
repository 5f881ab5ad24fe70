from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.data.views.augment import Augmentation
from fedrepro.methods.encoders.cnn import CNN
from fedrepro.methods.outcome import DivergedError, Outcome
from fedrepro.methods.registry import find
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.state import State
from fedrepro.methods.training.pretraining import PretrainingOptions, batches, encode, pretrain
from tests.methods.conftest import in_torch_nn

torch.set_num_threads(1)  # on tensors this small, threads wait for each other

ENCODER = CNN(widths=(4, 8), dim=8, padding=1)
AUGMENTATION = Augmentation(crop_scale=(0.5, 1.0), jitter_probability=0.0)
OPTIONS = PretrainingOptions(epochs=2, batch_size=16)
OBJECTIVES = ["simclr", "byol", "swav", "crossed-kl", "supervised"]


def blobs(n: int = 40, classes: int = 4, seed: int = 0) -> ImageSet:
    """Dim noise with a bright quarter that tells the class."""
    g = torch.Generator().manual_seed(seed)
    images = torch.randint(90, (n, 1, 8, 8), generator=g, dtype=torch.uint8)
    labels = torch.randint(classes, (n,), generator=g)
    for image, label in zip(images, labels.tolist(), strict=True):
        image[:, 4 * (label // 2) :, 4 * (label % 2) :][:, :4, :4] += 120
    return ImageSet(images, labels)


def trained(
    name: str = "simclr", of: Mapping[str, Any] | None = None, trial: int = 0, **given: Any
) -> Outcome:
    arguments: dict[str, Any] = {
        "portion": blobs(),
        "options": OPTIONS,
        "augmentation": AUGMENTATION,
        **given,
    }
    return pretrain(
        find("objective", name)(**(of or {})), ENCODER, n_classes=4, seeds=Seeds(trial), **arguments
    )


def weights(outcome: Outcome) -> State:
    return outcome.encoder


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_loss_falls_and_every_epoch_has_one(name: str) -> None:
    options = {"queue_size": 16} if name == "moco" else {}
    loss = trained(name, options, options=replace(OPTIONS, epochs=25)).metrics["loss"]
    assert loss.rounds == tuple(range(1, 26))
    # MoCo's first epoch has few negatives: its queue is still filling.
    assert sum(loss.values[-3:]) < sum(loss.values[1:4])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_seed_decides_everything(name: str) -> None:
    one, two, other = trained(name), trained(name), trained(name, trial=1)
    assert one.metrics == two.metrics
    assert one.metrics != other.metrics
    torch.testing.assert_close(weights(two), weights(one), rtol=0, atol=0)


def test_the_outcome_holds_one_encoder_without_gradients_and_its_size() -> None:
    outcome = trained("simclr")
    assert all(k.startswith("encoder.") and v.shape[0] == 1 for k, v in weights(outcome).items())
    assert not any(value.requires_grad for value in weights(outcome).values())
    convolutions = (1 * 9 * 4 + 4) + (4 * 9 * 8 + 8)
    dense, projector = 2 * 2 * 8 * 8 + 8, (8 * 256 + 256) + (256 * 256 + 256)
    assert outcome.counts["encoder_parameters"] == convolutions + dense
    assert outcome.counts["parameters"] == convolutions + dense + projector


def test_supervised_training_without_augmentation_equals_a_torch_nn_loop() -> None:
    portion, seeds = blobs(10), Seeds(0)
    start = find("objective", "supervised")().build(ENCODER.build(1, 8), 8, 4)
    state = start.new(seeds.generator("weights", "pretraining"))
    model = in_torch_nn(state)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)
    order = seeds.generator("pretraining", "order")
    losses = []
    for _ in range(3):
        shuffled, total = torch.randperm(10, generator=order), 0.0
        for chosen in (shuffled[:4], shuffled[4:8], shuffled[8:]):
            loss = nn.functional.cross_entropy(
                model(portion.images[chosen].float() / 255), portion.labels[chosen]
            )
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item() * len(chosen)
        losses.append(total / 10)
    options = PretrainingOptions(epochs=3, batch_size=4)
    outcome = trained("supervised", portion=portion, options=options)
    assert outcome.metrics["loss"].values == pytest.approx(losses, rel=1e-5)
    for key, mine in zip(state, model.parameters(), strict=True):
        if key.startswith("encoder."):
            torch.testing.assert_close(weights(outcome)[key][0], mine, atol=1e-6, rtol=1e-5)


def test_progress_is_told_after_every_epoch() -> None:
    seen: list[tuple[int, int]] = []
    trained(progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


def test_a_loss_that_leaves_the_finite_numbers_ends_training_with_its_epoch() -> None:
    options = PretrainingOptions(epochs=50, batch_size=40, learning_rate=1e20, optimizer="sgd")
    with pytest.raises(DivergedError, match="diverged at round") as caught:
        trained(options=options)
    assert 1 <= caught.value.round <= 2


@pytest.mark.parametrize(("n", "sizes"), [(10, [4, 4, 2]), (9, [4, 4]), (8, [4, 4])])
def test_an_incomplete_batch_is_used_unless_it_is_a_single_image(n: int, sizes: list[int]) -> None:
    parts = list(batches(n, 4, torch.Generator().manual_seed(0)))
    assert [len(batch) for batch in parts] == sizes
    assert len(set(torch.cat(parts).tolist())) == sum(sizes)


@pytest.mark.parametrize(
    ("name", "portion", "words"),
    [
        ("simclr", ImageSet(blobs(1).images), "at least two images, has 1"),
        ("supervised", ImageSet(blobs(9).images), "'supervised' pre-training needs labels"),
    ],
)
def test_a_portion_that_trains_nothing_is_refused(name: str, portion: ImageSet, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trained(name, portion=portion)


def test_encoding_in_parts_equals_encoding_at_once() -> None:
    layer, state = ENCODER.build(1, 8), weights(trained())
    images = blobs(23).images
    torch.testing.assert_close(
        encode(layer, state, images, 5), layer(state, images[None].float() / 255)[0]
    )
