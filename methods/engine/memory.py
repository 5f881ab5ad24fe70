"""How much memory a network needs for an image, and how much may be used at once.

Nothing is trained or allocated to find out: the network runs on torch's `meta` device, which
carries shapes only, while a hook adds up what autograd would keep for the backward pass.
Evidence: `tests/methods/test_memory.py`.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

from methods.models.classifier import Classifier

# One GiB: enough for about ten clients of CP-CFL's CNN at 96x96; more clients a step gained
# nothing on a CPU, and runs go on side by side, one for each core.
CPU_BUDGET = 2**30


def budget(device: torch.device) -> int:
    """Bytes that the activations and weights of one batched step may take on `device`."""
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return int(free) // 2
    return CPU_BUDGET


@lru_cache(maxsize=16)
def image_bytes(model: Classifier, channels: int, height: int, width: int) -> int:
    """Bytes that training keeps for one image of one of several stacked models.

    An upper estimate: a tensor that two layers keep counts twice.
    """
    shape = (channels, height, width)
    return max(1, _saved_bytes(model, 3, shape) - _saved_bytes(model, 2, shape)) // 2


def _saved_bytes(model: Classifier, batch: int, shape: tuple[int, int, int]) -> int:
    drawn = model.new(torch.Generator())
    state = {
        # Two models, because a single one takes another path through the convolutions.
        name: torch.empty(2, *value.shape[1:], device="meta", requires_grad=True)
        for name, value in drawn.items()
    }
    saved = 0

    def keep(tensor: Tensor) -> Tensor:
        nonlocal saved
        saved += tensor.numel() * tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(state, torch.empty(2, batch, *shape, device="meta"), training=False)
    return saved
