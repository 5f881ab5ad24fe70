"""The loop over rounds, the same for every method: who takes part, what is sent, what is measured.

Evidence: `tests/methods/test_loop.py`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..checkpoint import NEVER, Checkpoint
from ..data.federation import Federation
from ..metrics import Evaluation
from ..nn.layers import is_buffer
from ..outcome import Curve, DivergedError, Outcome
from ..state import n_parameters
from .base import FederatedMethod, Memory, Message, ProgressCallback, Round, Server, Task

_DIRECTIONS = ("downloaded_bytes", "uploaded_bytes")


@dataclass
class _History:
    """What one attempt has produced so far."""

    n_clients: int
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    arrays: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    exchanged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_DIRECTIONS, 0))
    counts: dict[str, float] = field(default_factory=dict)

    def add_message(self, direction: str, message: Message, clients: Tensor) -> None:
        """Counts the bytes in all and by payload; keeps the log, with gaps for absent clients."""
        self._exchange(f"{direction}_bytes", message.bytes_exchanged(len(clients)))
        for name, size in message.bytes_by_name(len(clients)).items():
            self._exchange(f"{direction}_bytes.{name}", size)
        for name, values in message.log.items():
            logged = values.cpu().numpy()
            missing = np.nan if np.issubdtype(logged.dtype, np.floating) else -1
            row = np.full((self.n_clients, *logged.shape[1:]), missing, dtype=logged.dtype)
            row[clients.numpy()] = logged
            self.arrays.setdefault(name, []).append(row)

    def add_evaluation(self, round: int, evaluation: Evaluation) -> None:
        for name, value in evaluation.metrics.items():
            self.curves.setdefault(name, []).append((round, value))
        for name, values in evaluation.per_client.items():
            self.arrays.setdefault(f"client_{name}", []).append(values.cpu().numpy())
        self.counts.update(evaluation.counts)

    def _exchange(self, name: str, size: int) -> None:
        self.exchanged[name] = self.exchanged.get(name, 0) + size


@dataclass
class _Training:
    """All that a training goes on from.

    t: rounds of this attempt that are done. wasted: bytes that abandoned attempts exchanged.
    """

    attempt: int
    t: int
    wasted: int
    history: _History
    server: Server
    memory: Memory


def run(
    method: FederatedMethod,
    task: Task,
    progress: ProgressCallback | None = None,
    evaluate_every: int = 1,
    checkpoint: Checkpoint = NEVER,
) -> Outcome:
    """Trains `method` on `task` to the end, from the start again wherever the method asks for it.

    evaluate_every: rounds between evaluations; the last round is always evaluated, and 0 means that
    no other is. Arrays of evaluations have one row for each evaluated round, arrays of logs one for
    each round. `downloaded_bytes` and `uploaded_bytes` are sums over clients and rounds of the
    attempt that was finished, also by payload (`uploaded_bytes.weights`); `wasted_bytes` is what
    abandoned attempts exchanged. checkpoint: saves the training, and may bring one to go on with.

    Raises `DivergedError` when weights that clients send or keep are no longer finite.
    """
    federation = method.prepare(task.federation).to(task.device)
    task = replace(task, federation=federation)
    training: _Training = checkpoint.restored() or _begun(method, task, 0, 0)
    if progress is not None and training.t:
        progress(training.t, method.exchanges)
    while not _finished(method, task, training, progress, evaluate_every, checkpoint):
        exchanged = training.history.exchanged
        wasted = training.wasted + sum(exchanged[name] for name in _DIRECTIONS)
        training = _begun(method, task, training.attempt + 1, wasted)

    history, server = training.history, training.server
    encoder, drawn = method.encoder(server), task.model.new(torch.Generator())
    weights = {name: value for name, value in drawn.items() if not is_buffer(name)}
    return Outcome(
        metrics={
            name: Curve(tuple(r for r, _ in points), tuple(v for _, v in points))
            for name, points in history.curves.items()
        },
        counts={
            "parameters": n_parameters(weights),
            "shared_images": federation.n_shared_images(),
            "restarts": training.attempt,
            "wasted_bytes": training.wasted,
            **history.exchanged,
            **history.counts,
            **method.counts(server),
        },
        arrays={name: np.stack(rows) for name, rows in history.arrays.items()}
        | _facts_of(federation),
        encoder=None if encoder is None else {n: v.cpu() for n, v in encoder.items()},
    )


def _begun(method: FederatedMethod, task: Task, attempt: int, wasted: int) -> _Training:
    history = _History(task.federation.n_clients)
    server = method.start(task, attempt)
    return _Training(attempt, 0, wasted, history, server, method.new_memory(task))


def _finished(
    method: FederatedMethod,
    task: Task,
    now: _Training,
    progress: ProgressCallback | None,
    evaluate_every: int,
    checkpoint: Checkpoint,
) -> bool:
    """Takes `now` to the end of the last round, or to that in which the method gave up (False).

    `now` changes only between places at which it may be saved.
    """
    last = method.exchanges

    def measured(final: bool) -> None:
        evaluation = method.evaluate(task, now.server, now.memory, final)
        now.history.add_evaluation(now.t, evaluation)

    while now.t < last:
        checkpoint.at(lambda: now)
        clients = method.participants(task, now.t)
        this = Round(task, now.t, clients)
        download = method.broadcast(this, now.server)
        upload = method.local_update(this, download, now.memory)
        if not _is_finite(*upload.tensors(), *now.memory.tensors()):
            raise DivergedError(this.t + 1)
        now.server = method.aggregate(this, now.server, upload)
        now.history.add_message("downloaded", download, clients)
        now.history.add_message("uploaded", upload, clients)
        if method.failed(this, now.server, now.attempt):
            return False
        now.t += 1
        if now.t < last:
            if evaluate_every > 0 and now.t % evaluate_every == 0:
                measured(final=False)
            if progress is not None:
                progress(now.t, last)
    if last:
        checkpoint.at(lambda: now)
        now.server = method.finish(task, now.server, now.memory)
        if not _is_finite(*now.memory.tensors()):
            raise DivergedError(last)
        measured(final=True)
        if progress is not None:
            progress(last, last)
    return True


def _is_finite(*tensors: Tensor) -> bool:
    """Whether every number is finite; a sum shows it in one pass, and one look each device."""
    sums = defaultdict[torch.device, list[Tensor]](list)
    for value in tensors:
        if value.is_floating_point():
            sums[value.device].append(value.sum())
    return all(bool(torch.stack(there).isfinite().all()) for there in sums.values())


def _facts_of(federation: Federation) -> dict[str, NDArray[Any]]:
    facts = {"group": federation.group.cpu().numpy()}
    if federation.train.labels is not None:
        facts["class_counts"] = federation.class_counts().numpy()
    return facts
