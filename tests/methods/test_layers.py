from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedrepro.methods.nn import convolution, layers
from fedrepro.methods.state import State, spread, take

BATCH = 3


def randomised(layer: layers.Layer, models: int, seed: int = 0) -> State:
    """Weights that differ between models, biases and batch-norm statistics included."""
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for name, value in layer.new(generator).items():
        shape = (models, *value.shape[1:])
        noise = torch.rand(shape, generator=generator) + 0.1
        state[name] = (noise if "running" in name else noise - 0.5).clone()
        state[name].requires_grad_(not layers.is_buffer(name))
    return state


def load(module: nn.Module, state: State, model: int) -> nn.Module:
    names = (name for name in module.state_dict() if not name.endswith("num_batches_tracked"))
    own = {name: state[f"layer.{name}"][model].detach() for name in names}
    module.load_state_dict(own, strict=False)
    return module


def check_against(
    layer: layers.Layer, made: Callable[[], nn.Module], x: Tensor, training: bool = False
) -> None:
    """Values, gradients of inputs and weights, and buffers afterwards, of each model."""
    state, x = randomised(layer, len(x)), x.clone().requires_grad_()
    modules = [load(made(), state, model) for model in range(len(x))]
    out = layer(state, x, training)
    pull = torch.randn(out.shape, generator=torch.Generator().manual_seed(9))
    (out * pull).sum().backward()
    for model, module in enumerate(modules):
        module.train(training)
        mine = x[model].detach().clone().requires_grad_()
        expected = module(mine)
        (expected * pull[model]).sum().backward()
        torch.testing.assert_close(out[model], expected, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(x.grad[model], mine.grad, atol=1e-4, rtol=1e-4)
        for name, parameter in module.named_parameters():
            stacked = state[f"layer.{name}"].grad
            torch.testing.assert_close(stacked[model], parameter.grad, atol=1e-3, rtol=1e-4)
        for name, buffer in module.named_buffers():
            if not name.endswith("num_batches_tracked"):
                torch.testing.assert_close(state[f"layer.{name}"][model], buffer)


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_equals_torch(models: int, bias: bool) -> None:
    layer = layers.Linear("layer", 5, 4, bias)
    check_against(layer, lambda: nn.Linear(5, 4, bias), torch.randn(models, BATCH, 5))


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "shape",  # kernel, stride, padding and side
    [(3, 1, 0, 8), (3, 1, 1, 8), (3, 2, 0, 8), (3, 2, 0, 9), (3, 2, 1, 7), (1, 1, 0, 4),
     (1, 2, 0, 7), (7, 2, 3, 9), (5, 3, 2, 8), (3, 2, 1, 1), (4, 2, 1, 6),
     (3, 2, 1, 2), (3, 2, 0, 4), (1, 1, 0, 1), (1, 1, 1, 1), (4, 2, 1, 2)],
)  # fmt: skip
@pytest.mark.parametrize("many_weights", [0, 1 << 18])
def test_convolution_equals_torch(
    models: int, bias: bool, shape: list[int], many_weights: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convolution, "_MANY_WEIGHTS", many_weights)
    *kernel, side = shape
    layer = layers.Conv2d("layer", 2, 4, *kernel, bias)
    x = torch.randn(models, BATCH, 2, side, side)
    check_against(layer, lambda: nn.Conv2d(2, 4, *kernel, bias=bias), x)
    assert layer(randomised(layer, models), x).shape[-1] == layer.size(side)


@pytest.mark.parametrize(
    ("channels", "kernel", "padding", "asked"), [(4, 1, 0, 1), (15, 1, 0, 1), (16, 1, 0, 2),
                                                 (4, 3, 0, 2), (4, 1, 1, 2)],
)  # fmt: skip
def test_the_library_is_not_asked_for_strides_that_it_cannot_be_trusted_with(
    channels: int, kernel: int, padding: int, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    strides = []
    library = F.conv2d

    def noted(x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, pad: int) -> Tensor:
        strides.append(stride)
        assert x.is_contiguous(memory_format=torch.channels_last)
        return library(x, weight, bias, stride, pad)

    layer = layers.Conv2d("layer", channels, 8, kernel, 2, padding)
    x = torch.randn(1, BATCH, channels, 7, 8)
    with monkeypatch.context() as patched:
        patched.setattr(F, "conv2d", noted)
        layer(randomised(layer, 1), x)
    assert strides == [asked]
    check_against(layer, lambda: nn.Conv2d(channels, 8, kernel, 2, padding), x)


def test_patches_are_kept_where_few_pixels_meet_many_weights() -> None:
    wide, narrow = torch.empty(256, 192, 3, 3), torch.empty(64, 32, 3, 3)
    x = torch.empty(32, 192, 8, 8)
    assert convolution.suits_kept_patches(x, wide, 1, 4)
    assert not convolution.suits_kept_patches(x, wide, 1, 16)
    assert not convolution.suits_kept_patches(x, narrow, 1, 4)


def test_training_in_bfloat16_keeps_patches_that_stay_in_the_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(convolution, "gains_by_products", lambda: True)

    def suits(batch: int, stride: int, pixels: int, **options: object) -> bool:
        numbers = {"dtype": torch.bfloat16, "requires_grad": True, **options}
        weight = torch.empty(128, 128, 3, 3, **numbers)  # type: ignore[arg-type]
        x = torch.empty(batch, 128, 8, 8, dtype=weight.dtype)
        return convolution.suits_kept_patches(x, weight, stride, pixels)

    # An image's 64 pixels are 144 KiB of patches: 21 of them are 3 MiB, 85 with a stride of two.
    assert suits(21, 1, 64)
    assert not suits(22, 1, 64)
    assert suits(85, 2, 64)
    assert not suits(86, 2, 64)
    assert not suits(21, 1, 64, requires_grad=False)
    assert not suits(21, 1, 64, dtype=torch.float32)
    assert not suits(21, 1, 64, device="meta")
    monkeypatch.setattr(convolution, "gains_by_products", lambda: False)
    assert not suits(21, 1, 64)


def test_convolution_does_not_depend_on_how_many_models_are_taken_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = layers.Conv2d("layer", 2, 4, 3, 1, 1)
    x = torch.randn(5, BATCH, 2, 6, 6)
    results = []
    for patch_bytes in (1, 25_000, 1 << 30):
        monkeypatch.setitem(convolution._PATCH_BYTES, "cpu", patch_bytes)
        state = randomised(layer, 5)
        images = x.clone().requires_grad_()
        out = layer(state, images)
        (out**2).sum().backward()
        results.append((out, images.grad, state["layer.weight"].grad))
    for other in results[1:]:
        torch.testing.assert_close(other, results[0])


@pytest.mark.parametrize("models", [1, 3])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("sides", [(), (4, 5)])
def test_batch_norm_equals_torch(
    models: int, training: bool, affine: bool, sides: tuple[int, ...]
) -> None:
    layer = layers.BatchNorm("layer", 4, momentum=0.3, eps=1e-3, affine=affine)
    kind = nn.BatchNorm2d if sides else nn.BatchNorm1d
    x = torch.randn(models, BATCH, 4, *sides) * 3 + 1
    check_against(layer, lambda: kind(4, 1e-3, 0.3, affine), x, training)


@pytest.mark.parametrize("models", [1, 3])
def test_batch_norm_of_a_single_value_gives_the_bias_and_learns_no_variance(models: int) -> None:
    layer = layers.BatchNorm("layer", 4)
    state = randomised(layer, models)
    variance = state["layer.running_var"].clone()
    x = torch.randn(models, 1, 4, 1, 1, requires_grad=True)
    out = layer(state, x, training=True)
    torch.testing.assert_close(out.flatten(1), state["layer.bias"])
    assert torch.equal(state["layer.running_var"], variance)
    out.sum().backward()
    assert not x.grad.any()


def test_max_pool_average_pool_flatten_and_relu_equal_torch() -> None:
    x = torch.randn(2, BATCH, 4, 7, 7)
    for layer, module in [
        (layers.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, 1)),
        (layers.GlobalAveragePool(), nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())),
        (layers.Flatten(), nn.Flatten()),
        (layers.ReLU(), nn.ReLU()),
    ]:
        check_against(layer, lambda module=module: module, x)


def test_fresh_weights_keep_to_glorots_bound_and_fill_it() -> None:
    weight = layers.Conv2d("c", 8, 16, 3).new(torch.Generator().manual_seed(0))["c.weight"]
    bound = (6 / (8 * 9 + 16 * 9)) ** 0.5
    assert 0.98 * bound < float(weight.abs().max()) <= bound
    assert abs(float(weight.std()) - bound / 3**0.5) < 0.03 * bound


@pytest.mark.parametrize("channels", [1, 3])
def test_the_fast_layout_says_that_channels_are_innermost_and_keeps_numbers(channels: int) -> None:
    x = torch.rand(4, channels, 6, 5)
    fast = layers.channels_last(x)
    assert torch.equal(fast, x)
    assert fast.stride() == (30 * channels, 1, 5 * channels, channels)
    layer = layers.Conv2d("conv", channels, 7, 3)
    state = layer.new(torch.Generator().manual_seed(0))
    moved = layers.in_fast_layout(state)
    torch.testing.assert_close(layer(moved, x[None]), layer(state, x[None]))
    assert all(torch.equal(moved[name], value) for name, value in state.items())
    stack = randomised(layer, models=2)  # is left as it is
    assert all(value is stack[name] for name, value in layers.in_fast_layout(stack).items())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("shared", [False, True])
def test_a_model_taken_alone_is_a_copy_in_the_fast_layout(channels: int, shared: bool) -> None:
    net = layers.Sequential(layers.Conv2d("conv", channels, 7, 3), layers.Linear("dense", 7, 2))
    pool = randomised(net, models=1 if shared else 3)
    if shared:
        pool = spread(pool, 3)
    taken, before = layers.alone(pool, 2), {name: value.clone() for name, value in pool.items()}
    usual = layers.in_fast_layout(take(pool, [2]))
    for name, value in taken.items():
        assert torch.equal(value, usual[name])
        assert value.stride() == usual[name].stride()
        value += 1
        assert torch.equal(pool[name], before[name])
