"""The declared precision of a trial: in which numbers its networks multiply.

`float32`: all 24 bits of the mantissa, also on GPUs, where the library's convolutions would drop to
TF32 by themselves. `tf32`: float32 numbers whose products keep 11 bits, on GPUs. `bf16`: numbers of
8 bits, summed up in float32 by the processor.

Only networks use it: convolutions and dense layers cast what they read, and what passes between
them stays in bf16. Weights, their gradients and moments, statistics of normalisation, losses,
clusters, averages and what is sent are float32 in each of the three.
Papers do not state theirs, so it is an interpretation; docs/notes/precision.md has measurements.
Evidence: `tests/methods/test_precision.py` (torch.nn under autocast).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Literal, get_args

import torch
from torch import Tensor

Precision = Literal["float32", "bf16", "tf32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

_CURRENT: ContextVar[Precision] = ContextVar("_CURRENT", default="float32")


def refusal(precision: str, device: torch.device | str) -> str | None:
    """Why nothing can be trained in `precision` on `device`, or None."""
    kind = torch.device(device).type
    if precision not in PRECISIONS:
        return f"precision '{precision}' is not known (known: {', '.join(PRECISIONS)})"
    if precision == "tf32" and kind != "cuda":
        return f"precision tf32 is one of NVIDIA's cards; the device is '{kind}'"
    return None


def warning(precision: str, device: torch.device | str) -> str | None:
    """What a user should know of `precision` on `device` before a long run, or None."""
    if precision == "bf16" and torch.device(device).type == "cpu" and not _has_bf16():
        return (
            "precision bf16: this processor has neither avx512_bf16 nor AMX nor ARM's bf16, so "
            "it is slower than float32 here"
        )
    return None


def _has_bf16() -> bool:
    """Also where torch is too old to say."""
    has = _capabilities()
    return has is None or any(
        has.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16", "sve_bf16")
    )


@cache
def gains_by_products() -> bool:
    """Whether products in bfloat16 outrun the library's convolutions: avx512_bf16 without AMX.
    Measured there alone (`methods.nn.convolution`); False where torch is too old to say."""
    has = _capabilities() or {}
    return bool(has.get("avx512_bf16")) and not has.get("amx_bf16")


def _capabilities() -> Mapping[str, Any] | None:
    """What the processor can, by name; None where torch is too old to say."""
    found = getattr(torch.cpu, "get_capabilities", None)
    return None if found is None else found()


@contextmanager
def computing_in(precision: str, device: torch.device | str = "cpu") -> Iterator[None]:
    """For a block: networks on `device` compute in `precision`; `ValueError` as `refusal` says."""
    if (why := refusal(precision, device)) is not None:
        raise ValueError(why)
    token = _CURRENT.set(precision)  # type: ignore[arg-type]
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    before = cudnn.allow_tf32, matmul.allow_tf32
    # Of matrix products only those of networks are in TF32 (`products`), whatever was set before.
    cudnn.allow_tf32, matmul.allow_tf32 = precision == "tf32", False
    try:
        yield
    finally:
        cudnn.allow_tf32, matmul.allow_tf32 = before
        _CURRENT.reset(token)


def is_tf32() -> bool:
    """Whether networks multiply in TF32."""
    return _CURRENT.get() == "tf32"


@contextmanager
def products(in_tf32: bool) -> Iterator[None]:
    """For a block of one network: its matrix products on a GPU, which losses share, in TF32."""
    if not in_tf32:
        yield
        return
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = True
    try:
        yield
    finally:
        matmul.allow_tf32 = before


def narrowed(x: Tensor) -> Tensor:
    """`x` as networks read it: rounded to bfloat16 where that is declared, else as it is."""
    return x.to(torch.bfloat16) if _CURRENT.get() == "bf16" else x


def widened(x: Tensor) -> Tensor:
    """`x` as normalisation reads it: float32 instead of bfloat16, else as it is."""
    return x.float() if x.dtype == torch.bfloat16 else x
