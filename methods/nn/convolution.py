"""Convolutions as matrix products: of stacked models, where few pixels come out, in bfloat16.

**Stacked models**: a batched product over image patches. Images are stored as channels x height x
width x batch, the batch innermost. A patch then consists of long contiguous runs, and the result
has the layout that the next layer wants. Patches are made for a few models at a time, so that they
stay in the cache, and again in the backward pass, which saves kernel² times the memory.
**A single pixel**: the part of the kernel that the image reaches is a dense layer.
**A single model with few pixels and many weights**, and **in bfloat16** wherever the patches stay
in the cache: one product over patches that are stored. The bounds below are where this was measured
to be faster than the library, on one thread of an AVX-512 processor (GPUs were not measured).
**Kernels of 1x1 with a stride**: oneDNN's gradient of the weights writes beyond its memory (oneDNN
issue 6035) for few channels, innermost, on processors with AVX2 and no AVX-512. There the pixels
that are read are taken first, and the convolution needs no stride.
Evidence: `tests/methods/test_layers.py` compares values and gradients with `torch.nn`.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .precision import gains_by_products, is_tf32, products

_PATCH_BYTES = {"cpu": 1 << 20}
_PATCH_BYTES_ELSEWHERE = 1 << 30
# From these on a single model's convolution is a product over patches that autograd saves.
_FEW_PIXELS, _MANY_WEIGHTS = 4, 1 << 18
# In bfloat16 from these on, with at most so many bytes of patches times the stride's square: it is
# with large strides that the library is slow.
_WEIGHTS_IN_BF16, _KEPT_BYTES = 1 << 16, 3 << 20
# oneDNN's largest block of channels: with fewer its strided 1x1 convolutions are not to be trusted.
_BLOCK = 16


def dense(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x W^T + b per model: models x batch x inputs, models x outputs x inputs, models x outputs."""
    if is_tf32():
        result: Tensor = _DenseInTF32.apply(x, weight, bias)  # type: ignore[no-untyped-call]
        return result
    return _dense(x, weight, bias)


def _dense(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    if len(x) == len(weight) == 1:
        only = None if bias is None else bias.squeeze(0)
        return F.linear(x.squeeze(0), weight.squeeze(0), only).unsqueeze(0)
    if bias is None:
        return torch.bmm(x, weight.transpose(1, 2))
    return torch.baddbmm(bias.unsqueeze(1), x, weight.transpose(1, 2))


def single_pixel_conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, padding: int, high: int, wide: int
) -> Tensor:
    """Each model's convolution whose result is one pixel; shapes as for `stacked_conv2d`. `high`,
    `wide`: rows and columns of the kernel that the image reaches; `weight` may lack others."""
    x, part = x[..., :high, :wide], weight
    if weight.shape[3:] != (high, wide):
        part = _KernelPart.apply(weight, padding, high, wide)  # type: ignore[no-untyped-call]
    if len(weight) == 1:
        # The channels of a single model lie innermost, and stay so.
        x, part = x.movedim(2, -1), part.movedim(2, -1)
    return dense(x.flatten(2), part.flatten(2), bias)[..., None, None]


def suits_kept_patches(x: Tensor, weight: Tensor, stride: int, pixels: int) -> bool:
    """Whether `kept_patches_conv2d` is the faster one, for so many pixels of an output image. `x`:
    batch x channels x height x width. `weight`: outputs x channels x kernel x kernel."""
    if weight.device.type != "cpu":
        return False
    if weight.dtype == torch.bfloat16 and weight.requires_grad and gains_by_products():
        size = len(x) * pixels * weight[0].numel() * x.element_size()
        if weight.numel() >= _WEIGHTS_IN_BF16 and size <= _KEPT_BYTES * stride**2:
            return True
    return pixels <= _FEW_PIXELS and weight.numel() >= _MANY_WEIGHTS


def without_stride(x: Tensor, kernel: int, stride: int, padding: int) -> tuple[Tensor, int]:
    """The pixels of images that a convolution reads, and the stride that is left. `x`: batch x
    channels x height x width, of which every `stride`-th row and column stays where the library's
    strided convolution is not to be trusted."""
    trusted = x.device.type != "cpu" or x.shape[1] >= _BLOCK
    if trusted or kernel > 1 or padding or stride == 1:
        return x, stride
    return x[:, :, ::stride, ::stride], 1


def kept_patches_conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int
) -> Tensor:
    """A single model's convolution; `x`: batch x channels x height x width, channels innermost."""
    result: Tensor = _KeptPatchesConv2d.apply(  # type: ignore[no-untyped-call]
        x.permute(0, 2, 3, 1), weight.permute(0, 2, 3, 1), bias, stride, padding
    )
    return result.permute(0, 3, 1, 2)


def stacked_conv2d(
    x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int
) -> Tensor:
    """Each model's convolution of its own images, models x batch x outputs x height' x width', laid
    out with the batch innermost. `x`: models x batch x channels x height x width. `weight`: models
    x outputs x channels x kernel x kernel. `bias`: models x outputs."""
    result: Tensor = _StackedConv2d.apply(  # type: ignore[no-untyped-call]
        x.movedim(1, -1), weight, bias, stride, padding
    )
    return result.movedim(-1, 1)


def _padded(x: Tensor, padding: int) -> Tensor:
    if padding == 0:
        return x.contiguous()
    models, channels, height, width, batch = x.shape
    out = x.new_zeros(models, channels, height + 2 * padding, width + 2 * padding, batch)
    out[:, :, padding:-padding, padding:-padding] = x
    return out


def _patches(x: Tensor, kernel: int, stride: int, height: int, width: int) -> Tensor:
    """models x (channels * kernel * kernel) x (height * width * batch), of padded images."""
    models, channels, _, _, batch = x.shape
    of_model, of_channel, of_row, of_column, of_image = x.stride()
    windows = x.as_strided(
        (models, channels, kernel, kernel, height, width, batch),
        (of_model, of_channel, of_row, of_column, stride * of_row, stride * of_column, of_image),
        x.storage_offset(),
    )
    return windows.reshape(models, channels * kernel**2, height * width * batch)


def _add_patches(
    x: Tensor, patches: Tensor, kernel: int, stride: int, sides: tuple[int, int]
) -> None:
    """Adds patches to the pixels that they were taken from (the transpose of `_patches`)."""
    height, width = sides
    models, channels, _, _, batch = x.shape
    windows = patches.view(models, channels, kernel, kernel, height, width, batch)
    rows, columns = stride * (height - 1) + 1, stride * (width - 1) + 1
    for i in range(kernel):
        for j in range(kernel):
            x[:, :, i : i + rows : stride, j : j + columns : stride] += windows[:, :, i, j]


class _StackedConv2d(torch.autograd.Function):
    """`stacked_conv2d` on images stored as models x channels x height x width x batch."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int
    ) -> Tensor:
        x = _padded(x, padding)
        models, channels, high, wide, batch = x.shape
        outputs, kernel = weight.shape[1], weight.shape[3]
        height, width = (high - kernel) // stride + 1, (wide - kernel) // stride + 1
        size = x.element_size() * channels * kernel**2 * height * width * batch
        at_once = max(1, _PATCH_BYTES.get(x.device.type, _PATCH_BYTES_ELSEWHERE) // max(size, 1))
        kernels = weight.reshape(models, outputs, -1)
        out = x.new_empty(models, outputs, height * width * batch)
        ctx.in_tf32 = is_tf32()
        with products(ctx.in_tf32):
            for m in range(0, models, at_once):
                now = slice(m, m + at_once)
                patches = _patches(x[now], kernel, stride, height, width)
                if bias is None:
                    torch.bmm(kernels[now], patches, out=out[now])
                else:
                    torch.baddbmm(bias[now].unsqueeze(2), kernels[now], patches, out=out[now])
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding, ctx.at_once = stride, padding, at_once
        return out.view(models, outputs, height, width, batch)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        models, outputs, height, width, _ = grad.shape
        kernel = weight.shape[3]
        of_x, of_weight, of_bias = ctx.needs_input_grad[:3]
        kernels = weight.reshape(models, outputs, -1)
        flat = grad.reshape(models, outputs, -1)
        # Patches of single pixels are the pixels themselves, and nothing is to be added up.
        pixels = kernel == ctx.stride == 1
        grad_x = (torch.empty_like(x) if pixels else torch.zeros_like(x)) if of_x else None
        grad_kernels = torch.empty_like(kernels) if of_weight else None
        with products(ctx.in_tf32):
            for m in range(0, models, ctx.at_once):
                now = slice(m, m + ctx.at_once)
                if grad_kernels is not None:
                    patches = _patches(x[now], kernel, ctx.stride, height, width)
                    torch.bmm(flat[now], patches.transpose(1, 2), out=grad_kernels[now])
                if grad_x is not None and pixels:
                    torch.bmm(kernels[now].transpose(1, 2), flat[now], out=grad_x[now].flatten(2))
                elif grad_x is not None:
                    back = torch.bmm(kernels[now].transpose(1, 2), flat[now])
                    _add_patches(grad_x[now], back, kernel, ctx.stride, (height, width))
        if grad_x is not None and ctx.padding:
            inside = slice(ctx.padding, -ctx.padding)
            grad_x = grad_x[:, :, inside, inside]
        return (
            grad_x,
            None if grad_kernels is None else grad_kernels.view_as(weight),
            flat.sum(dim=2) if of_bias else None,
            None,
            None,
        )


class _DenseInTF32(torch.autograd.Function):
    """`dense` with all products in TF32, the backward ones too."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x, weight)
        with products(in_tf32=True):
            return _dense(x, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        with products(in_tf32=True):
            return (
                torch.bmm(grad, weight) if of_x else None,
                torch.bmm(grad.transpose(1, 2), x) if of_weight else None,
                grad.sum(dim=1) if of_bias else None,
            )


class _KernelPart(torch.autograd.Function):
    """Rows and columns of all kernels from `padding` on: one pass forward, one backward."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, padding: int, high: int, wide: int) -> Tensor:
        ctx.save_for_backward(weight)
        ctx.part = (..., slice(padding, padding + high), slice(padding, padding + wide))
        return weight[ctx.part].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (weight,) = ctx.saved_tensors
        whole = torch.zeros_like(weight)
        whole[ctx.part] = grad
        return whole, None, None, None


class _KeptPatchesConv2d(torch.autograd.Function):
    """`kept_patches_conv2d` on images batch x height x width x channels, weights likewise."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: int, padding: int
    ) -> Tensor:
        outputs, kernel = weight.shape[:2]
        padded = F.pad(x, (0, 0, padding, padding, padding, padding))
        batch, high, wide, channels = padded.shape
        height, width = (high - kernel) // stride + 1, (wide - kernel) // stride + 1
        of_image, of_row, of_column, of_channel = padded.stride()
        patches = padded.as_strided(
            (batch, height, width, kernel, kernel, channels),
            (of_image, stride * of_row, stride * of_column, of_row, of_column, of_channel),
        ).reshape(batch * height * width, -1)
        kernels = weight.reshape(outputs, -1)
        out = F.linear(patches, kernels, bias).view(batch, height, width, outputs)
        ctx.save_for_backward(patches, weight, x if height * width > _FEW_PIXELS else None)
        ctx.padded, ctx.stride, ctx.padding = padded.shape, stride, padding
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        patches, weight, x = ctx.saved_tensors
        outputs = grad.shape[3]
        of_x, of_weight, of_bias = ctx.needs_input_grad[:3]
        flat = grad.reshape(-1, outputs)
        grad_x = None
        if of_x and x is None:
            grad_x = _added_up(flat @ weight.reshape(outputs, -1), grad, weight, ctx)
        elif of_x:
            grad_x = _of_images(grad, x, weight, ctx.stride, ctx.padding)
        return (
            grad_x,
            (flat.t() @ patches).view(weight.shape) if of_weight else None,
            flat.sum(dim=0) if of_bias else None,
            None,
            None,
        )


def _added_up(patches: Tensor, grad: Tensor, weight: Tensor, ctx: Any) -> Tensor:
    batch, height, width, _ = grad.shape
    kernel, stride, padding = weight.shape[1], ctx.stride, ctx.padding
    back = patches.view(batch, height, width, kernel, kernel, -1)
    rows, columns = stride * (height - 1) + 1, stride * (width - 1) + 1
    whole = grad.new_zeros(ctx.padded)
    for i in range(kernel):
        for j in range(kernel):
            whole[:, i : i + rows : stride, j : j + columns : stride] += back[:, :, :, i, j]
    return whole[:, padding : whole.shape[1] - padding, padding : whole.shape[2] - padding]


def _of_images(grad: Tensor, x: Tensor, weight: Tensor, stride: int, padding: int) -> Tensor:
    first = [each.permute(0, 3, 1, 2) for each in (grad, x, weight)]
    found: tuple[Tensor, ...] = torch.ops.aten.convolution_backward(
        *first, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, (True, False, False)
    )
    return found[0].permute(0, 2, 3, 1)
