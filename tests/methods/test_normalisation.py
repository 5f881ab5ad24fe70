import pytest
import torch
from torch import Tensor

from fedrepro.methods.nn.normalisation import GroupNorm, TwinNorm
from fedrepro.methods.state import State


def drawn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    stream = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=stream, dtype=dtype) * 2 + 0.5


def plain(layer: GroupNorm, models: int = 1) -> State:
    """Scale 1 and shift 0."""
    fresh = layer.new(torch.Generator())
    return {name: value.double().repeat(models, 1) for name, value in fresh.items()}


def by_loops(x: Tensor, size: int, averaged: bool = False, eps: float = 1e-5) -> Tensor:
    """Eq. 2 and 3 for one model, 2K x C x H x W, image by image and group by group."""
    out, k = torch.empty_like(x), len(x) // 2
    for i in range(k):
        for first in range(0, x.shape[1], size):
            group = x[[i, i + k], first : first + size]
            mean = group.mean()
            variance = ((group - mean) ** 2).mean()
            if averaged:
                variance = torch.stack([((v - v.mean()) ** 2).mean() for v in group]).mean()
            out[[i, i + k], first : first + size] = (group - mean) / (variance + eps).sqrt()
    return out


@pytest.mark.parametrize("size", [1, 2, 4, 8, 64])
def test_group_norm_is_torchs(size: int) -> None:
    x, layer = drawn(2, 5, 8, 3, 4), GroupNorm("n", 8, size)
    state = {"n.weight": drawn(2, 8, seed=1), "n.bias": drawn(2, 8, seed=2)}
    found = layer(state, x)
    for model in range(2):
        theirs = torch.nn.GroupNorm(8 // min(size, 8), 8).double()
        theirs.weight.data, theirs.bias.data = state["n.weight"][model], state["n.bias"][model]
        assert torch.allclose(found[model], theirs(x[model]))


@pytest.mark.parametrize(("channels", "size"), [(8, 2), (8, 8), (3, 16), (3, 2), (5, 3), (4, 1)])
@pytest.mark.parametrize("averaged", [False, True])
def test_twin_norm_is_the_paper_s_formula(channels: int, size: int, averaged: bool) -> None:
    x = drawn(2, 6, channels, 3, 2)
    layer = TwinNorm("n", channels, size, "averaged" if averaged else "pooled")
    found = layer(plain(layer, 2), x, training=True)
    for model in range(2):
        assert torch.allclose(found[model], by_loops(x[model], size, averaged))


def test_equal_views_make_twin_norm_group_norm() -> None:
    view = drawn(2, 3, 8, 4, 4)
    x = torch.cat([view, view], dim=1)
    for variance in ("pooled", "averaged"):
        twin, group = TwinNorm("n", 8, 4, variance), GroupNorm("n", 8, 4)
        assert torch.allclose(twin(plain(twin, 2), x, training=True), group(plain(group, 2), x))


def test_an_image_without_a_twin_is_its_own() -> None:
    x, twin, group = drawn(1, 3, 8, 4, 4), TwinNorm("n", 8, 4), GroupNorm("n", 8, 4)
    assert torch.equal(twin(plain(twin), x), group(plain(group), x))


@pytest.mark.parametrize("variance", ["pooled", "averaged"])
def test_gradients_are_right(variance: str) -> None:
    layer = TwinNorm("n", 3, 2, variance)  # type: ignore[arg-type]

    def call(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return layer({"n.weight": weight, "n.bias": bias}, x, training=True)

    inputs = (drawn(2, 4, 3, 2, 2), drawn(2, 3, seed=1), drawn(2, 3, seed=2))
    assert torch.autograd.gradcheck(call, tuple(x.requires_grad_() for x in inputs))
