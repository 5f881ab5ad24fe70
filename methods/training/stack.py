"""Stacked weights in training: the first so many models of a stack take a step, the others wait.

Models that take the same steps stand next to each other and share a piece of every tensor. The
optimiser holds the pieces, counts the steps of each and passes over those that wait, so that a
model's moments and bias corrections are those that it would have alone.
Evidence: `tests/methods/test_grouping.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.optim.optimizers import Optimizer
from fedrepro.methods.state import State


class Stack:
    """Trains `state` in place; `memory` is what is kept beside.

    ends: rising numbers of models, after each of which a piece ends; the last is their count.
    optimizer_over: a fresh optimiser over leaf tensors.
    """

    def __init__(
        self,
        state: State,
        memory: State,
        ends: Sequence[int],
        optimizer_over: Callable[[Sequence[Tensor]], Optimizer],
    ) -> None:
        self.state, self.memory, self.models = state, memory, ends[-1]
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
        self._optimizer = optimizer_over(leaves)

    def first(self, n: int, learning: Sequence[bool]) -> tuple[State, State]:
        """State and memory of the first `n` models, up to the end of a piece.

        learning: for each of `trained`, whether it gets a gradient.
        """
        state, memory = self.state, self.memory
        if len(self._pieces) > 1:
            state = {name: value[:n] for name, value in state.items()}
            memory = {name: value[:n] for name, value in memory.items()}
        for name, learns in zip(self.trained, learning, strict=True):
            state[name].requires_grad_(learns)
        return state, memory

    def step(self, state: State, loss: Tensor) -> None:
        """Moves the weights of `state`, which `first` gave, down their gradients of `loss`."""
        # What is frozen in this epoch keeps no gradient, and the optimiser passes it over.
        self._optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss.sum())
        if len(self._pieces) > 1:
            for piece, leaves in zip(self._pieces, self._leaves, strict=True):
                if piece.stop <= len(loss):
                    for name, leaf in zip(self.trained, leaves, strict=True):
                        grad = state[name].grad
                        leaf.grad = None if grad is None else grad[piece]
        self._optimizer.step()

    def end(self) -> None:
        """The weights learn no longer."""
        for leaves in self._leaves:
            for leaf in leaves:
                leaf.requires_grad_(False)
