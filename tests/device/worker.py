"""What the process with the pretended card is told to do: plain data in, plain data out."""

from __future__ import annotations

import warnings

import numpy as np
import torch

from fedrepro.methods.transfer import all_to
from tests.device import card
from tests.device.counts import Books, Totals
from tests.device.expectations import ALLOWED, REFUSED, Tensors
from tests.device.rehearsal import Rehearsed, rehearse

FREE = (200_000_000, 78_000_000_000)
"""Bytes that a card may say are free: of a full one, and of an empty one of 80 GB."""


def install() -> None:
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*does not have a deterministic")
    card.install(FREE[0])


def rehearsed(paper: str, keys: tuple[str, ...] | None) -> list[Rehearsed]:
    """Runs of the smoke profile with these keys; None for all, at either amount of free memory."""
    return rehearse(paper, keys, FREE if keys is None else FREE[:1])


def tensors() -> Tensors:
    """Six numbers and two indices, on the card and on the processor."""
    numbers, index = torch.arange(6.0).view(2, 3), torch.tensor([0, 1])
    return Tensors(
        numbers.to(card.NAME),
        numbers,
        index.to(card.NAME),
        index,
        torch.Generator().manual_seed(0),
        card.NAME,
    )


def answer(name: str) -> str:
    """`done`, or the name of the error that an expectation ended in."""
    call = {**REFUSED, **ALLOWED}[name]
    with card.counted():
        try:
            call(tensors())
        except (RuntimeError, TypeError) as error:
            return type(error).__name__
    return "done"


def gradients(device: str) -> list[np.ndarray]:
    """Of a small network with a loss of two images."""
    import torch.nn.functional as F

    stream = torch.Generator().manual_seed(3)
    shapes = [(2, 1, 8, 8), (3, 1, 3, 3), (48, 5)]
    with card.counted():
        leaves = [torch.randn(shape, generator=stream).to(device) for shape in shapes]
        x, kernel, weight = [leaf.requires_grad_() for leaf in leaves]
        y = F.batch_norm(F.conv2d(x, kernel, padding=1).relu(), None, None, training=True)
        logits = F.normalize(F.max_pool2d(y, 2).flatten(1) @ weight)
        labels = torch.tensor([0, 1], device=device)
        torch.autograd.backward(F.cross_entropy(logits, labels))
        assert all(leaf.grad.device.type == device for leaf in leaves if leaf.grad is not None)
        return [leaf.grad.cpu().numpy() for leaf in leaves if leaf.grad is not None]


def counted(name: str) -> Books:
    """What an expectation does on the card."""
    made = tensors()
    with card.counted() as books:
        {**REFUSED, **ALLOWED}[name](made)
    return books


def packed() -> tuple[Totals, list[bool]]:
    """What it takes to move unlike tensors together, and whether each arrives as it was."""
    given = [
        torch.tensor([True, False, True]),
        torch.tensor(7),
        torch.arange(6.0).view(2, 3).t(),
        torch.empty(0, 4, dtype=torch.float64),
        torch.arange(12)[::2],
        torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    ]
    with card.counted() as books:
        arrived = all_to(torch.device(card.NAME, 0), given)
        totals = books.totals()
        back = [one.cpu() for one in arrived]
    same = [
        bool(torch.equal(a, b)) and a.dtype == b.dtype and c.device.type == card.NAME
        for a, b, c in zip(given, back, arrived, strict=True)
    ]
    return totals, [*same, arrived[5].stride() == given[5].stride()]
