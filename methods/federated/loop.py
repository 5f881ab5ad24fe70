"""The loop over rounds, the same for every method: who takes part, what is sent, what is measured.

Evidence: `tests/methods/test_loop.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedrepro.methods.data.federation import Federation
from fedrepro.methods.federated.base import FederatedMethod, Message, Progress, Server, Task
from fedrepro.methods.metrics import Evaluation
from fedrepro.methods.nn.layers import is_buffer
from fedrepro.methods.outcome import Curve, DivergedError, Outcome
from fedrepro.methods.state import n_parameters


@dataclass
class _History:
    """What one attempt has produced so far."""

    n_clients: int
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    arrays: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    exchanged: Counter[str] = field(default_factory=Counter)
    counts: dict[str, float] = field(default_factory=dict)

    def add_message(self, direction: str, message: Message, clients: Tensor) -> None:
        """Counts the bytes in all and by payload; keeps the log, with gaps for absent clients."""
        self.exchanged[f"{direction}_bytes"] += message.bytes_exchanged(len(clients))
        for name, size in message.bytes_by_name(len(clients)).items():
            self.exchanged[f"{direction}_bytes.{name}"] += size
        for name, values in message.log.items():
            logged = values.cpu().numpy()
            missing = np.nan if np.issubdtype(logged.dtype, np.floating) else -1
            row = np.full((self.n_clients, *logged.shape[1:]), missing, dtype=logged.dtype)
            row[clients.numpy()] = logged
            self.arrays[name].append(row)

    def add_evaluation(self, round: int, evaluation: Evaluation) -> None:
        for name, value in evaluation.metrics.items():
            self.curves[name].append((round, value))
        for name, values in evaluation.per_client.items():
            self.arrays[f"client_{name}"].append(values.cpu().numpy())
        self.counts.update(evaluation.counts)


def run(
    method: FederatedMethod, task: Task, progress: Progress | None = None, evaluate_every: int = 1
) -> Outcome:
    """Trains `method` on `task` to the end, from the start again wherever the method asks for it.

    evaluate_every: rounds between evaluations; the last round is always evaluated, and 0 means that
    no other is. Arrays of evaluations have one row for each evaluated round, arrays of logs one for
    each round. `downloaded_bytes` and `uploaded_bytes` are sums over clients and rounds of the
    attempt that was finished, also by payload (`uploaded_bytes.weights`); `wasted_bytes` is what
    abandoned attempts exchanged.

    Raises `DivergedError` when weights that clients send or keep are no longer finite.
    """
    federation = method.prepare(task.federation).to(task.device)
    task = replace(task, federation=federation)
    wasted = 0
    for attempt in count():
        history = _History(federation.n_clients)
        server, finished = _attempt(method, task, attempt, history, progress, evaluate_every)
        if finished:
            break
        wasted += history.exchanged["downloaded_bytes"] + history.exchanged["uploaded_bytes"]

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
            "restarts": attempt,
            "wasted_bytes": wasted,
            **history.exchanged,
            **history.counts,
            **method.counts(server),
        },
        arrays={name: np.stack(rows) for name, rows in history.arrays.items()}
        | _facts_of(federation),
        encoder=None if encoder is None else {n: v.cpu() for n, v in encoder.items()},
    )


def _attempt(
    method: FederatedMethod,
    task: Task,
    attempt: int,
    history: _History,
    progress: Progress | None,
    evaluate_every: int,
) -> tuple[Server, bool]:
    """The server after the last round, or after the round in which the method gave up (False)."""
    server, memory = method.start(task, attempt), method.new_memory(task)
    for t in range(method.exchanges):
        clients = method.participants(task, t)
        download = method.broadcast(task, server, t, clients)
        history.add_message("downloaded", download, clients)
        upload = method.local_update(task, download, t, clients, memory)
        history.add_message("uploaded", upload, clients)
        if not _is_finite(*upload.tensors(), *memory.tensors()):
            raise DivergedError(t + 1)
        server = method.aggregate(task, server, upload, t, clients)
        if method.failed(task, server, t, attempt):
            return server, False

        final = t + 1 == method.exchanges
        if final:
            server = method.finish(task, server, memory)
            if not _is_finite(*memory.tensors()):
                raise DivergedError(t + 1)
        if final or (evaluate_every > 0 and (t + 1) % evaluate_every == 0):
            history.add_evaluation(t + 1, method.evaluate(task, server, memory, final))
        if progress is not None:
            progress(t + 1, method.exchanges)
    return server, True


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
