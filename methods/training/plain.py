"""Local training of one client: the plain loop. Stacked steps (`stacked.py`) must equal it.

A step takes one batch, computes the client's loss and moves its weights down the gradient. Each
epoch draws a new order of images. The last, smaller batch is trained on unless the loss needs more
images, or the options say to drop it.
Unstated by the papers: whether an optimiser's moments outlive a round. Taken: a fresh one for each.
Evidence: `tests/methods/test_plain.py` (a network of torch.nn and its optimisers; stacked steps).
"""

import torch
from torch import Tensor

from ..nn.layers import is_buffer
from ..state import State
from .local_loss import Batch, LocalLoss, LocalOptions


def train_client(
    local_loss: LocalLoss,
    state: State,
    client_state: State,
    member: int,
    own: Tensor,
    options: LocalOptions,
    stream: torch.Generator,
) -> Tensor:
    """Trains one model, `state` and `client_state`, in place; the last epoch's mean loss, (1,).
    `member`: the client's position among all that train. `own`: int64, (images,), the client's
    images as positions in the training portion. `stream`: orders the images of each epoch."""
    members, images = (member,), own.unsqueeze(0)
    trained = {k: v for k, v in state.items() if not is_buffer(k) and v.is_floating_point()}
    optimizer = options.optimizer_over([value.requires_grad_() for value in trained.values()])
    total = seen = torch.zeros(1, device=own.device)
    for epoch in range(options.epochs):
        for name, value in trained.items():
            value.requires_grad_(local_loss.learns(name, epoch))
        local_loss.begin_epoch(state, client_state, members, images, epoch)
        total, seen = torch.zeros_like(total), torch.zeros_like(seen)
        order = torch.randperm(len(own), generator=stream).to(own.device, non_blocking=True)
        order = order[: options.images_of_epoch(len(own))]
        for at in torch.split(order, options.batch_size):
            if len(at) < max(1, local_loss.smallest_batch):
                continue
            batch = Batch(members, images[:, at], at.unsqueeze(0), epoch)
            loss = local_loss.loss(state, client_state, batch)  # (1,)
            optimizer.zero_grad(set_to_none=True)
            torch.autograd.backward(loss.sum())
            options.clip(trained.values())
            optimizer.step()
            with torch.no_grad():
                local_loss.after(state, client_state, batch)
            total += loss.detach() * len(at)
            seen += len(at)
    for value in trained.values():
        value.requires_grad_(False)
    with torch.no_grad():
        local_loss.end(state, client_state, members, images)
    return total / seen
