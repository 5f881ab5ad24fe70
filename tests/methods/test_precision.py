from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.encoders.resnet import ResNet
from fedrepro.methods.nn import convolution, layers, precision
from fedrepro.methods.nn.layers import (
    BatchNorm,
    Conv2d,
    Flatten,
    GlobalAveragePool,
    Layer,
    Linear,
    ReLU,
    Sequential,
)
from fedrepro.methods.nn.normalisation import GroupNorm, TwinNorm
from fedrepro.methods.nn.precision import computing_in
from fedrepro.methods.objectives.simclr import nt_xent
from fedrepro.methods.state import State, repeat, take
from fedrepro.methods.training.probing import image_bytes, is_batch_independent
from tests.methods.conftest import in_torch_nn

ROUNDING = 2.0**-8  # half a unit in the last of bfloat16's 8 bits, relative to a number
SUMMED = ROUNDING if precision.warning("bf16", "cpu") is None else 4 * ROUNDING
"""The same of a gradient, which the library adds up in bfloat16 where the processor has no products
of it: that of images is there up to 1.3 roundings from the exact one."""
SEVERAL = 8 * ROUNDING
"""What is allowed of a whole network's norm: its layers round input, weights, result, gradients."""
SWITCHED = 24 * ROUNDING
"""The same against float32, where some ReLUs see another sign, which is all or nothing."""


def network() -> Sequential:
    return Sequential(
        Conv2d("conv0", 3, 16, 3, 2, 1), ReLU(), Conv2d("conv1", 16, 24, 3, 2, 1), ReLU(),
        Flatten(), Linear("dense0", 24 * 16, 32), ReLU(), Linear("dense1", 32, 10),
    )  # fmt: skip


def weights(layer: Layer, models: int = 1) -> State:
    drawn = [layer.new(torch.Generator().manual_seed(seed)) for seed in range(models)]
    state = {name: torch.cat([one[name] for one in drawn]) for name in drawn[0]}
    return {
        name: value if "running" in name else value.requires_grad_()
        for name, value in state.items()
    }


def images(models: int = 1, batch: int = 8, side: int = 16) -> Tensor:
    return torch.rand(models, batch, 3, side, side, generator=torch.Generator().manual_seed(7))


def labels(models: int = 1, batch: int = 8) -> Tensor:
    return torch.randint(0, 10, (models, batch), generator=torch.Generator().manual_seed(8))


def losses_and_gradients(state: State, x: Tensor, y: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    logits = network()(state, x, training=True)
    each = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(y.shape)
    loss = each.mean(1)
    return loss.detach(), torch.autograd.grad(loss.sum(), list(state.values()))


def apart(a: Tensor, b: Tensor) -> float:
    """The difference's norm relative to that of `b`."""
    return ((a - b).norm() / b.norm()).item()


@pytest.mark.parametrize("models", [1, 3])
def test_losses_and_gradients_are_torch_nns_under_autocast_and_near_float32(models: int) -> None:
    state, x, y = weights(network(), models), images(models), labels(models)
    exact, exact_gradients = losses_and_gradients(state, x, y)
    with computing_in("bf16"):
        loss, gradients = losses_and_gradients(state, x, y)
    assert torch.allclose(loss, exact, rtol=ROUNDING)
    assert not torch.equal(loss, exact)
    for found, near in zip(gradients, exact_gradients, strict=True):
        assert found.dtype == torch.float32
        assert apart(found, near) < SWITCHED
    for model in range(models):
        theirs = in_torch_nn(take(state, [model]))
        with torch.autocast("cpu", torch.bfloat16):
            logits = theirs(x[model])
        expected = F.cross_entropy(logits.float(), y[model])
        expected.backward()
        assert torch.allclose(loss[model], expected.detach(), rtol=ROUNDING)
        for found, parameter in zip(gradients, theirs.parameters(), strict=True):
            assert apart(found[model], parameter.grad) < SEVERAL


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "side"),
    [(3, 2, 1, 8), (3, 1, 1, 6), (3, 2, 0, 9), (5, 1, 2, 5), (1, 1, 0, 4), (3, 2, 1, 4),
     (1, 2, 0, 7)],
)  # fmt: skip
def test_products_over_kept_patches_are_torchs_convolution_under_autocast(
    kernel: int, stride: int, padding: int, side: int, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []

    def watched(*of_layer: object) -> Tensor:
        taken.append(of_layer)
        return convolution.kept_patches_conv2d(*of_layer)  # type: ignore[arg-type]

    monkeypatch.setattr(convolution, "_WEIGHTS_IN_BF16", 0)
    monkeypatch.setattr(convolution, "gains_by_products", lambda: True)
    monkeypatch.setattr(layers, "kept_patches_conv2d", watched)
    layer = Conv2d("conv", 6, 10, kernel, stride, padding, bias)
    state = weights(layer)
    theirs = nn.Conv2d(6, 10, kernel, stride, padding, bias=bias)
    for mine, parameter in zip(state.values(), theirs.parameters(), strict=True):
        parameter.data.copy_(mine[0].detach())
    drawn = torch.rand(1, 8, 6, side, side, generator=torch.Generator().manual_seed(7))
    ours, x = drawn.clone().requires_grad_(), drawn[0].clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        expected = theirs(x).float()
    with computing_in("bf16"):
        found = layer(state, ours, training=True)
    assert len(taken) == 1
    pull = torch.randn(found.shape, generator=torch.Generator().manual_seed(9))
    (found * pull).sum().backward()  # type: ignore[no-untyped-call]
    (expected * pull[0]).sum().backward()
    assert apart(found[0], expected) < ROUNDING
    for mine, wanted in zip((ours, *state.values()), (x, *theirs.parameters()), strict=True):
        assert apart(mine.grad.reshape(wanted.shape), wanted.grad) < SUMMED


@pytest.mark.parametrize(("kernel", "side", "width"), [(3, 2, 8), (3, 3, 256), (1, 6, 8)])
def test_each_way_of_a_convolution_is_near_float32(kernel: int, side: int, width: int) -> None:
    """A single pixel, few pixels of many weights, and 1x1 kernels have products of their own."""
    layer = Conv2d("c", width, width, kernel, 2, kernel // 2)
    x = torch.rand(1, 4, width, side, side, generator=torch.Generator().manual_seed(1))
    for models in (1, 2):
        state, own = weights(layer, models), x.repeat(models, 1, 1, 1, 1).requires_grad_()
        exact = layer(state, own)
        exact_gradient = torch.autograd.grad(exact.square().sum(), own)[0]
        with computing_in("bf16"):
            found = layer(state, own)
            gradient = torch.autograd.grad(found.square().sum(), own)[0]
        assert apart(found, exact) < SEVERAL
        assert apart(gradient, exact_gradient) < SEVERAL


@pytest.mark.parametrize("models", [1, 2])
@pytest.mark.parametrize(
    "norm",
    [
        lambda: BatchNorm("n", 6),
        lambda: GroupNorm("n", 6, 2),
        lambda: TwinNorm("n", 6, 2),
        lambda: TwinNorm("n", 6, 2, "averaged"),
    ],
)
def test_normalisation_reads_bfloat16_and_computes_in_float32(
    norm: Callable[[], Layer], models: int
) -> None:
    layer = norm()
    rounded = (3 + torch.randn(models, 4, 6, 5, 5, generator=torch.Generator().manual_seed(2))).to(
        torch.bfloat16
    )
    exact_state, state = repeat(layer.new(torch.Generator()), models), None
    state = {name: value.clone() for name, value in exact_state.items()}
    exact = layer(exact_state, rounded.float(), training=True)
    with computing_in("bf16"):
        found = layer(state, rounded, training=True)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, exact.to(torch.bfloat16))
    for name, value in state.items():  # running statistics to the last bit
        assert value.dtype == torch.float32
        assert torch.equal(value, exact_state[name])


def test_what_leaves_a_network_is_float32_and_between_layers_bfloat16() -> None:
    seen = []

    class Seen(Layer):
        def __call__(self, state: State, x: Tensor, training: bool = False) -> Tensor:
            seen.append(x.dtype)
            return x

    inner = Sequential(Conv2d("c", 3, 4, 3), Seen(), GlobalAveragePool(), Seen())
    layer = Sequential(inner, Linear("d", 4, 2), Seen())
    with computing_in("bf16"):
        out = layer(weights(layer), images())
        alone = Linear("d", 4, 2)(weights(layer), torch.rand(1, 5, 4))
    assert seen == [torch.bfloat16] * 3
    assert out.dtype == alone.dtype == torch.float32


def test_losses_of_networks_in_bfloat16_are_float32() -> None:
    z = torch.randn(2, 1, 6, 16, generator=torch.Generator().manual_seed(3))
    exact = nt_xent(z[0], z[1], 0.1)
    with computing_in("bf16"):
        assert torch.equal(nt_xent(z[0], z[1], 0.1), exact)


def test_a_block_ends_where_it_began() -> None:
    tf32 = torch.backends.cudnn.allow_tf32
    x, layer = torch.rand(1, 5, 4), Linear("d", 4, 2)
    state = weights(layer)
    exact = layer(state, x)
    with computing_in("bf16"):
        with computing_in("float32"):
            assert not torch.backends.cudnn.allow_tf32
            assert torch.equal(layer(state, x), exact)
        assert not torch.equal(layer(state, x), exact)
    assert torch.equal(layer(state, x), exact)
    assert torch.backends.cudnn.allow_tf32 == tf32


def test_clients_share_steps_alike_in_every_precision() -> None:
    """Memory and independence are found in float32, whichever trial of a process asks first."""
    with computing_in("bf16"):
        first = network()
        narrow = image_bytes(first, 3, 16, 16)
        assert is_batch_independent(first, 3, 16, 16)
        assert not is_batch_independent(ResNet(width=4).build(3, 8), 3, 8, 8)
    assert narrow == image_bytes(network(), 3, 16, 16)


def test_tf32_takes_dense_products_of_its_own() -> None:
    """On a processor the flag of cards changes nothing: values and gradients are as without it."""
    layer = Linear("d", 6, 4)
    for models in (1, 3):
        state = weights(layer, models)
        x = torch.rand(models, 5, 6, requires_grad=True)
        wanted = [x, *state.values()]
        exact = torch.autograd.grad(layer(state, x).square().sum(), wanted)
        token = precision._CURRENT.set("tf32")
        try:
            out = layer(state, x)
            found = torch.autograd.grad(out.square().sum(), wanted)
        finally:
            precision._CURRENT.reset(token)
        for mine, theirs in zip(found, exact, strict=True):
            assert torch.allclose(mine, theirs, atol=1e-5)


def test_what_a_device_cannot_do_is_refused_in_a_sentence() -> None:
    assert precision.refusal("tf32", "cpu") == (
        "precision tf32 is one of NVIDIA's cards; the device is 'cpu'"
    )
    assert precision.refusal("fp8", "cpu") == (
        "precision 'fp8' is not known (known: float32, bf16, tf32)"
    )
    assert precision.refusal("tf32", "cuda:1") is None
    assert precision.refusal("bf16", "cpu") is None
    with pytest.raises(ValueError, match="tf32 is one of NVIDIA's"), computing_in("tf32"):
        pass


def test_a_processor_without_bfloat16_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for has, told in (({}, True), ({"avx512_bf16": True}, False), ({"amx_bf16": True}, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda has=has: has, raising=False)
        assert (precision.warning("bf16", "cpu") is not None) == told
    assert precision.warning("float32", "cpu") is None
    assert precision.warning("bf16", "cuda") is None
