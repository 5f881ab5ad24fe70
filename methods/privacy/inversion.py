"""Images rebuilt from representations by descent on pixels.

Paper: MFCL, Section 5.6.2 and Table 8, which shows pictures and names no procedure. Taken: the
attacker looks for pixels whose representation by a module is the one that it was sent.
Evidence: `tests/methods/test_reconstruction.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fedrepro.methods.state import State
from fedrepro.methods.training.representations import Network


def rebuilt(
    module: Network,
    state: State,
    z: Tensor,
    shape: tuple[int, ...],
    steps: int,
    learning_rate: float,
    twins: bool,
    watch: Callable[[int, Tensor], None] = lambda step, x: None,
) -> Tensor:
    """Images in [0, 1], 2n x C x H x W, whose representations by `module` come near `z`.

    z: 2n x ..., the first views of n images and then the second ones. shape: of an image. twins:
    whether the module saw the views as twins. watch: called with 0 and grey images, then with every
    step done. Adam on logits of pixels, from grey.
    """
    logits = torch.zeros(1, len(z), *shape, device=z.device, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=learning_rate)
    watch(0, logits.detach()[0].sigmoid())
    for step in range(1, steps + 1):
        optimizer.zero_grad(set_to_none=True)
        loss = (module(state, logits.sigmoid(), twins)[0] - z).square().mean()
        torch.autograd.backward(loss)
        optimizer.step()
        watch(step, logits.detach()[0].sigmoid())
    return logits.detach()[0].sigmoid()
