"""Many small tensors to a device in one copy, for which the host does not wait.

To a GPU a copy of a few numbers costs as much host time as several operators. A copy that waits
stops the host until the GPU has done all that was asked of it before.
Evidence: `tests/device/test_counts.py`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def all_to(device: torch.device, tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors on `device`, in the layout they have; those that are all there are given back.
    Otherwise their bytes travel as one tensor: nothing is converted."""
    if all(tensor.device == device for tensor in tensors):
        return list(tensors)
    # Without gaps in memory; wide numbers first, so that each begins at a multiple of its size.
    dense = [tensor.clone() for tensor in tensors]
    order = sorted(range(len(dense)), key=lambda i: -dense[i].element_size())
    raw = [dense[i].as_strided((dense[i].numel(),), (1,)).view(torch.uint8) for i in order]
    # What comes to the processor would be read before it is there.
    together = torch.cat(raw).to(device, non_blocking=device.type != "cpu")
    arrived = torch.split(together, [len(one) for one in raw])
    found = list(dense)
    for i, one in zip(order, arrived, strict=True):
        numbers = one.view(dense[i].dtype)
        found[i] = numbers.as_strided(dense[i].shape, dense[i].stride(), numbers.storage_offset())
    return found
