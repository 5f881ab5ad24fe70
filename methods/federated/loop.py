"""The loop over rounds, the same for every method: who takes part, what is sent, what is measured.
Evidence: `tests/methods/test_loop.py`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..checkpoint import NEVER, Checkpoint
from ..data.federation import Federation, ImageSet
from ..metrics import Evaluation, classification, fairness
from ..metrics.base import Metric
from ..nn.layers import is_buffer
from ..outcome import Curve, DivergedError, Outcome
from ..state import n_parameters
from .base import FederatedMethod, Memory, Message, ProgressCallback, Round, Server, Task

_BY_PROTOCOLS = (
    "clustering_accuracy nmi ari silhouette headroom probe_pretrained probe_random probe_pixels"
    " relevance view_error image_error rare_share"
)
SCORES = {*classification.METRICS, *fairness.SCORES, "undefined_auroc", *_BY_PROTOCOLS.split()}
"""What needs labels of test images, and what protocols alone measure."""
_DIRECTIONS = ("downloaded_bytes", "uploaded_bytes")


@dataclass
class _History:
    n_clients: int
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    arrays: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    exchanged: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_DIRECTIONS, 0))
    counts: dict[str, float] = field(default_factory=dict)

    def add_message(self, direction: str, message: Message, clients: Tensor) -> None:
        """Counts the bytes in all and by payload; keeps the log, with gaps for absent clients."""
        whole, sizes = f"{direction}_bytes", message.bytes_by_name(len(clients))
        named = {whole: sum(sizes.values()), **{f"{whole}.{name}": n for name, n in sizes.items()}}
        for name, size in named.items():
            self.exchanged[name] = self.exchanged.get(name, 0) + size
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


@dataclass
class _Training:
    """`t` rounds of this attempt are done; abandoned ones exchanged `wasted` bytes."""

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
    metrics: Mapping[str, Metric] | None = None,
) -> Outcome:
    """Trains `method` on `task` to the end, from the start again wherever the method asks for it.

    `evaluate_every`: rounds between evaluations; the last round is always evaluated, and 0 means
    that no other is. Arrays of evaluations have one row for each evaluated round, arrays of logs
    one for each round. `downloaded_bytes` and `uploaded_bytes` are sums over clients and rounds of
    the attempt that was finished, also by payload (`uploaded_bytes.weights`); `wasted_bytes` is
    what abandoned attempts exchanged. `checkpoint`: saves the training, and may hold one to resume.
    `metrics`: of other packages, by name. No step of `method` sees a label of a test image.
    Raises `DivergedError`, which names round and tensor, when one of these is no longer finite:
    what clients send or keep, the server, a prediction, a metric or the encoder. `ValueError` if
    `prepare` changes the test images, or a method gives a metric or a count measured here."""
    unlabelled = replace(task.federation, test=ImageSet(task.federation.test.images))
    federation = method.prepare(unlabelled)
    before, after = (torch.cat(one.test_of).sort().values for one in (unlabelled, federation))
    if federation.test is not unlabelled.test or not torch.equal(before, after):
        raise ValueError("`prepare` must leave the test images alone, none more or less often")
    answers = replace(federation, test=task.federation.test).to(task.device)
    federation = replace(answers, test=ImageSet(answers.test.images))
    task = replace(task, federation=federation)

    def measured(now: _Training, final: bool) -> None:
        evaluation = method.evaluate(task, now.server, now.memory, final)
        _check_finite(now.t, predicted=evaluation.predicted)
        scored = _scored(evaluation, answers, final, metrics or {})
        _check_finite(now.t, metrics=_numbers(scored.metrics))
        now.history.add_evaluation(now.t, scored)

    training: _Training = checkpoint.restored() or _begun(method, task, 0, 0)
    if progress is not None and training.t:
        progress(training.t, method.exchanges)
    while not _finished(method, task, training, progress, evaluate_every, checkpoint, measured):
        exchanged = training.history.exchanged
        wasted = training.wasted + sum(exchanged[name] for name in _DIRECTIONS)
        training = _begun(method, task, training.attempt + 1, wasted)

    history, server = training.history, training.server
    encoder, counts = method.encoder(server), method.counts(server)
    facts = {**history.counts, **counts}
    _check_finite(method.exchanges, encoder=encoder, counts=_numbers(facts))
    drawn = task.model.new(torch.Generator())
    weights = {name: value for name, value in drawn.items() if not is_buffer(name)}
    counted = {
        "parameters": n_parameters(weights),
        "shared_images": federation.n_shared_images(),
        "restarts": training.attempt,
        "wasted_bytes": training.wasted,
        **history.exchanged,
    }
    if given := counted.keys() & facts.keys() | SCORES & counts.keys():
        raise ValueError(f"{sorted(given)} are counted by the loop")
    of_clients = {"group": federation.group.cpu().numpy()}
    if federation.train.labels is not None:
        of_clients["class_counts"] = federation.class_counts().numpy()
    return Outcome(
        metrics={
            name: Curve(tuple(r for r, _ in points), tuple(v for _, v in points))
            for name, points in history.curves.items()
        },
        counts={**counted, **facts},
        arrays={name: np.stack(rows) for name, rows in history.arrays.items()} | of_clients,
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
    measured: Callable[[_Training, bool], None],
) -> bool:
    """Takes `now` to the end of the last round, or to that in which the method gave up (False)."""
    last = method.exchanges

    while now.t < last:
        checkpoint.at(lambda: now)
        clients = method.participants(task, now.t)
        this = Round(task, now.t, clients)
        download = method.broadcast(this, now.server)
        upload = method.local_update(this, download, now.memory)
        _check_finite(this.t + 1, upload=upload.per_client, shared=upload.shared, memory=now.memory)
        now.server = method.aggregate(this, now.server, upload)
        _check_finite(this.t + 1, server=now.server)
        now.history.add_message("downloaded", download, clients)
        now.history.add_message("uploaded", upload, clients)
        if method.failed(this, now.server, now.attempt):
            return False
        now.t += 1
        if now.t < last:
            if evaluate_every > 0 and now.t % evaluate_every == 0:
                measured(now, False)
            if progress is not None:
                progress(now.t, last)
    if last:
        checkpoint.at(lambda: now)
        now.server = method.finish(task, now.server, now.memory)
        _check_finite(last, memory=now.memory, server=now.server)
        measured(now, True)
        if progress is not None:
            progress(last, last)
    return True


def _scored(
    found: Evaluation, answers: Federation, final: bool, metrics: Mapping[str, Metric]
) -> Evaluation:
    """With the metrics of what a method predicted; `answers`: with the labels of test images."""
    if boasted := {*found.metrics, *found.per_client, *found.counts} & SCORES:
        raise ValueError(f"{sorted(boasted)} are measured by fedrepro, from what is predicted")
    if found.predicted is None:
        return found
    labels = answers.test_labels()
    given, asked = ([len(one) for one in of] for of in (found.predicted, labels))
    if given != asked:
        said = f"all {sum(asked)} test images of {len(asked)} clients"
        raise ValueError(f"`evaluate` must predict {said}, not {sum(given)} of {len(given)}")
    if found.over_clients:
        scores = fairness.evaluate(found.predicted, labels, answers.novel)
    else:
        scores = classification.evaluate(found.predicted, labels, final)
    own = {name: float(one.measure(found.predicted, labels)) for name, one in metrics.items()}
    return Evaluation(
        {**scores.metrics, **found.metrics, **own},
        {**scores.per_client, **found.per_client},
        {**scores.counts, **found.counts},
    )


def _check_finite(round: int, **trees: Any) -> None:
    """`DivergedError` with the first tensor that is not finite: its sum shows it in one pass."""
    named = [pair for name, tree in trees.items() for pair in _tensors(name, tree)]
    sums = defaultdict[torch.device, list[Tensor]](list)
    for _, value in named:
        sums[value.device].append(value.sum())
    if not all(bool(torch.stack(there).isfinite().all()) for there in sums.values()):
        raise DivergedError(round, next(n for n, v in named if not bool(v.sum().isfinite())))


def _numbers(values: Mapping[str, float]) -> Mapping[str, Tensor]:
    return {name: torch.tensor(float(value)) for name, value in values.items()}


def _tensors(name: str, tree: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors of floats in mappings, sequences and dataclasses, by their paths."""
    if isinstance(tree, Tensor):
        if tree.is_floating_point():
            yield name, tree
        return
    if is_dataclass(tree):
        tree = vars(tree)
    elif isinstance(tree, list | tuple):
        tree = dict(enumerate(tree))
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _tensors(f"{name}.{key}", value)
