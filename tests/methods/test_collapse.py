from __future__ import annotations

import pytest
import torch

from fedrepro.methods.metrics.collapse import representation_std


def test_even_directions_give_one_and_a_point_gives_zero() -> None:
    h = torch.randn(4000, 64, generator=torch.Generator().manual_seed(0))
    assert representation_std(h) == pytest.approx(1, abs=0.02)
    assert representation_std(torch.ones(50, 8) * torch.rand(50, 1)) == pytest.approx(0, abs=1e-6)


def test_length_does_not_matter() -> None:
    h = torch.randn(100, 5, generator=torch.Generator().manual_seed(1))
    assert representation_std(h) == pytest.approx(representation_std(3 * h))
