"""Local training of many clients as batched steps on stacked weights.

Every client takes exactly the steps of `plain.py`. Its batches depend on the trial, the round, the
client and the epoch, each model's loss is its own, and optimisers work number by number. Clients of
unlike sizes share steps where the loss is a mean over images that do not influence each other. A
smaller batch is padded with images of weight 0. A client with fewer batches pauses until the others
have finished the epoch. Clients with equally many batches form a piece of the stack; the optimiser
counts the steps of each piece and passes over those that pause.
Evidence: `tests/methods/test_plain.py`, `tests/methods/test_grouping.py`.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..nn.layers import is_buffer
from ..state import State
from ..transfer import all_to
from .local_loss import Batch, LocalLoss, LocalOptions


def train_stack(
    local_loss: LocalLoss,
    state: State,
    client_state: State,
    members: Sequence[int],
    own_of: Sequence[Tensor],
    options: LocalOptions,
    streams: Sequence[torch.Generator],
) -> Tensor:
    """Trains models, `state` and `client_state`, in place; the last epoch's mean losses, (models,).
    `members`: the clients' positions among all that train; those with more images come first.
    `own_of`, `streams`: as `own` and `stream` of `plain.train_client`, of each."""
    images = _Images(tuple(members), own_of, streams, options)
    stack = _Stack(state, client_state, images.ends, options)
    total = seen = torch.zeros(len(members), device=images.own.device)
    for epoch in range(options.epochs):
        learning = [local_loss.learns(name, epoch) for name in stack.trained]
        local_loss.begin_epoch(state, client_state, members, images.own, epoch)
        total, seen = torch.zeros_like(total), torch.zeros_like(total)
        for batch, counts in images.epoch(epoch):
            if batch.at.shape[1] < local_loss.smallest_batch:
                continue
            n = len(counts)
            now, theirs = stack.first(n, learning)
            loss = local_loss.loss(now, theirs, batch)  # (n,)
            stack.step(now, loss)
            with torch.no_grad():
                local_loss.after(now, theirs, batch)
            total[:n] += loss.detach() * counts
            seen[:n] += counts
    stack.end()
    with torch.no_grad():
        local_loss.end(state, client_state, members, images.own)
    return total / seen


class _Images:
    """The images of clients that train together, and their batches. `own`: int64, models x most
    images; rows of smaller clients are padded. `held`, `sizes`: how many images each client has,
    and how many an epoch takes. `ends`: rising numbers of clients; a piece ends after each."""

    def __init__(
        self,
        members: tuple[int, ...],
        own_of: Sequence[Tensor],
        streams: Sequence[torch.Generator],
        options: LocalOptions,
    ) -> None:
        batch_size = options.batch_size
        self.members, self.streams, self.batch_size = members, streams, batch_size
        self.own = pad_sequence(list(own_of), batch_first=True)
        self.held = [len(own) for own in own_of]
        self.sizes = [options.images_of_epoch(held) for held in self.held]
        batches = [-(-size // batch_size) for size in self.sizes]
        last = len(batches) - 1
        self.ends = [i + 1 for i, n in enumerate(batches) if i == last or n != batches[i + 1]]
        self._rows = torch.arange(len(members), device=self.own.device).unsqueeze(1)
        starts = range(0, self.sizes[0], batch_size)
        self._filled = [self._images_from(start) for start in starts]
        self._counts = all_to(self.own.device, [torch.tensor(filled) for filled in self._filled])
        self._shares = all_to(self.own.device, [_shares(filled) for filled in self._filled])

    def _images_from(self, start: int) -> list[int]:
        """How many images each client with any from `start` on has in that batch."""
        return [min(size - start, self.batch_size) for size in self.sizes if size > start]

    def epoch(self, epoch: int) -> Iterator[tuple[Batch, Tensor]]:
        drawn = [
            torch.randperm(held, generator=stream)[:size]
            for held, size, stream in zip(self.held, self.sizes, self.streams, strict=True)
        ]
        order = pad_sequence(drawn, batch_first=True).to(self.own.device, non_blocking=True)
        parts = torch.split(order, self.batch_size, dim=1)
        for at, filled, counts, share in zip(
            parts, self._filled, self._counts, self._shares, strict=False
        ):
            n = len(filled)
            index = self.own[self._rows[:n], at[:n]]  # n x batch
            if filled[0] == filled[-1]:
                yield Batch(self.members[:n], index, at[:n], epoch), counts
            else:
                yield Batch(self.members[:n], index, at[:n], epoch, share, filled), counts


def _shares(filled: Sequence[int]) -> Tensor:
    """`Batch.share` of clients with so many images, the most first."""
    counts = torch.tensor(filled).unsqueeze(1)
    return (torch.arange(filled[0]) < counts) / counts.double()


class _Stack:
    """Stacked weights of which the first so many models take a step while the others pause."""

    def __init__(
        self, state: State, client_state: State, ends: Sequence[int], options: LocalOptions
    ) -> None:
        self.state, self.client_state = state, client_state
        self.trained = [
            name
            for name, value in state.items()
            if not is_buffer(name) and value.is_floating_point()
        ]
        whole = [state[name] for name in self.trained]
        self._pieces = [slice(*piece) for piece in zip([0, *ends[:-1]], ends, strict=True)]
        self._leaves = [whole]
        if len(ends) > 1:
            self._leaves = [[value[piece] for value in whole] for piece in self._pieces]
        leaves = [leaf.requires_grad_() for of_piece in self._leaves for leaf in of_piece]
        self._options, self._optimizer = options, options.optimizer_over(leaves)

    def first(self, n: int, learning: Sequence[bool]) -> tuple[State, State]:
        """State and client state of the first `n` models; those with `learning` get gradients."""
        state, client_state = self.state, self.client_state
        if len(self._pieces) > 1:
            state = {name: value[:n] for name, value in state.items()}
            client_state = {name: value[:n] for name, value in client_state.items()}
        for name, learns in zip(self.trained, learning, strict=True):
            state[name].requires_grad_(learns)
        return state, client_state

    def step(self, state: State, loss: Tensor) -> None:
        """Moves the weights of `state`, which `first` gave, down their gradients of `loss`."""
        # A weight that does not learn in this epoch keeps no gradient: the optimiser skips it.
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss.sum())
        self._options.clip(state[name] for name in self.trained)
        if len(self._pieces) > 1:
            for piece, leaves in zip(self._pieces, self._leaves, strict=True):
                if piece.stop <= len(loss):
                    for name, leaf in zip(self.trained, leaves, strict=True):
                        grad = state[name].grad
                        leaf.grad = None if grad is None else grad[piece]
        self._optimizer.step()

    def end(self) -> None:
        for leaves in self._leaves:
            for leaf in leaves:
                leaf.requires_grad_(False)
