"""Protocols on an encoder whose output is known: the image's pixels."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from sklearn.linear_model import LogisticRegression

from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.protocols.base import Subject
from fedrepro.methods.protocols.linear_probe import LinearProbe
from fedrepro.methods.seeds import Seeds
from tests.methods.conftest import Pixels


def noisy(n: int, seed: int) -> ImageSet:
    """Four classes that a linear map of 9 pixels tells apart, most of the time."""
    stream = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 9, generator=stream)
    corner = x[:, [0, 2, 6, 8]] + 0.15 * torch.randn(n, 4, generator=stream)
    return ImageSet((x * 255).to(torch.uint8).view(n, 1, 3, 3), corner.argmax(dim=1))


@pytest.fixture
def subject() -> Subject:
    return Subject(
        network=Pixels(),
        dim=9,
        weights=Pixels().new(torch.Generator()),
        train=noisy(400, 1),
        test=noisy(400, 2),
        n_classes=4,
        seeds=Seeds(0),
        device=torch.device("cpu"),
        source=lambda: noisy(10, 3),
    )


def test_the_linear_probe_finds_what_logistic_regression_finds(subject: Subject) -> None:
    probe = LinearProbe(epochs=60, learning_rate=0.02, schedule="cosine")
    found = probe.measure(subject).metrics["accuracy"].read("final")
    train, test = subject.train, subject.held_out()
    reference = LogisticRegression(C=1e3, max_iter=2000)
    reference.fit(train.images.flatten(1).numpy() / 255, train.labels)
    expected = reference.score(test.images.flatten(1).numpy() / 255, test.labels)
    assert expected > 0.7
    assert found == pytest.approx(expected, abs=0.02)


def test_the_linear_probe_does_not_depend_on_the_scale_of_representations(
    subject: Subject,
) -> None:
    probe = LinearProbe(epochs=5)
    scaled = replace(subject, weights={"encoder.scale": torch.full((1, 1), 50.0)})
    one, other = (probe.measure(s).metrics["accuracy"].read("final") for s in (subject, scaled))
    assert one == pytest.approx(other, abs=0.006)

    # As they are, representations fifty times longer take another path.
    raw = replace(probe, standardised=False)
    one, other = (raw.measure(s).metrics["accuracy"].read("final") for s in (subject, scaled))
    assert one != pytest.approx(other, abs=0.006)


def test_rates_follow_their_schedules() -> None:
    steps = LinearProbe(epochs=10, learning_rate=1.0, schedule="steps", milestones=(3, 6))
    assert [round(steps.rate(epoch), 6) for epoch in (0, 2, 3, 6, 9)] == [1, 1, 0.1, 0.01, 0.01]
    cosine = LinearProbe(epochs=10, learning_rate=1.0, schedule="cosine")
    assert cosine.rate(0) == pytest.approx(1)
    assert cosine.rate(5) == pytest.approx(0.5)


def test_labels_are_needed(subject: Subject) -> None:
    blind = replace(subject, train=ImageSet(subject.train.images))
    with pytest.raises(ValueError, match="needs labels"):
        LinearProbe().measure(blind)
