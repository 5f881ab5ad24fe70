"""What CUDA refuses, told from the name of an operator and what it is given.

Tensors of two devices, apart from the few mixtures that CUDA takes (numbers, indices); draws on the
card from a generator of the processor; integer matrix products; fused optimisers over tensors that
lie otherwise in memory than their gradients. Read off the checks in PyTorch's sources
(`aten/src/ATen/native`: `ForeachUtils.h`, `TensorIterator.cpp`, `TensorAdvancedIndexing.cpp`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

COPIES = {"_to_copy", "copy_", "copy", "_copy_from"}
INDEXING = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index"}
_MATRIX_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "mv", "addmv", "dot", "vdot", "addbmm", "addr"}
# Operators without the exception for tensors without dimensions (`TensorIterator` makes it).
_ALL_ON_THE_CARD = {
    *("cat", "stack", "index_select", "gather", "scatter", "scatter_", "scatter_add"),
    *("scatter_add_", "index_copy", "index_copy_", "index_add", "index_add_", "bmm", "mm", "addmm"),
    *("baddbmm", "mv", "dot", "convolution", "convolution_backward", "native_batch_norm"),
    *("_embedding_bag", "_embedding_bag_forward_only", "embedding", "nll_loss_forward"),
    *("nll_loss_backward", "native_group_norm", "sort", "searchsorted", "bucketize", "take"),
    *("linalg_vector_norm", "_log_softmax", "_softmax"),
}


class CardError(RuntimeError):
    """CUDA would have raised."""


def check(
    name: str,
    arguments: Sequence[Any],
    on_card: Sequence[Tensor],
    on_host: Sequence[Tensor],
    generators: Sequence[torch.Generator],
    result_on_card: bool,
) -> None:
    """Raises `CardError` where CUDA would refuse operator `name`.

    on_card, on_host: the tensors among its arguments, by place; those of the card as they are
    pretended to be.
    """
    if result_on_card and any(g.device.type == "cpu" for g in generators):
        raise CardError(f"{name}: a generator of the card is expected, not one of the processor")
    if on_card and on_host and name not in COPIES:
        if name in INDEXING:
            _check_indexing(name, arguments, {id(one) for one in on_card})
        else:
            _check_mixture(name, on_host)
    if name in _MATRIX_PRODUCTS and on_card and not on_card[0].is_floating_point():
        raise CardError(f"{name}: there is no product of {on_card[0].dtype} matrices on the card")
    if name.startswith("_fused_"):
        _check_fused(name, arguments, on_host)


def _check_mixture(name: str, on_host: Sequence[Tensor]) -> None:
    for one in on_host:
        if one.dim() or name in _ALL_ON_THE_CARD or one.device.type == "meta":
            raise CardError(f"{name}: {tuple(one.shape)} on {one.device}, others on the card")


def _check_indexing(name: str, arguments: Sequence[Any], on_card: set[int]) -> None:
    """Indices may lie on the host where what is indexed lies on the card, not the other way."""
    if id(arguments[0]) not in on_card:
        raise CardError(f"{name}: what is indexed lies on the host, indices or values on the card")
    values = arguments[2] if len(arguments) > 2 else None
    if isinstance(values, Tensor) and values.dim() and id(values) not in on_card:
        raise CardError(f"{name}: values {tuple(values.shape)} lie on the host")


def _check_fused(name: str, arguments: Sequence[Any], on_host: Sequence[Tensor]) -> None:
    """`check_fast_path_restrictions`: without it the kernels have no path for such tensors."""
    if on_host:
        raise CardError(f"{name}: a tensor lies on the host")
    lists = [one for one in arguments[: 4 if "adam" in name else 2] if len(one)]
    for own in lists[1:]:
        for weight, other in zip(lists[0], own, strict=True):
            if (weight.dtype, weight.shape) != (other.dtype, other.shape):
                raise CardError(f"{name}: another type or shape than the weight's")
            if layout(weight) != layout(other):
                raise CardError(f"{name}: strides {other.stride()} beside {weight.stride()}")


def layout(tensor: Tensor) -> Mapping[int, int]:
    """Strides of the dimensions that have more than one place."""
    sides = enumerate(zip(tensor.shape, tensor.stride(), strict=True))
    return {dim: stride for dim, (size, stride) in sides if size != 1}
