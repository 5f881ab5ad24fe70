"""Counts what each method does in a round, an epoch, a step: the table that estimates are made of.

    python -m tests.count_operations            writes benchmark/planning/operations.json

Every kind of run (stage, method, objective, name of the encoder) of the reduced profiles is trained
on noise in a few tiny versions, which differ in rounds, epochs, steps an epoch and clients, while
torch's operators and the passes of images through the encoder's first convolution are counted.
Non-negative least squares tells from the totals what belongs to a round, an epoch, a step, a
client. Nothing is timed. A new method that is not in the table is estimated as a plain one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import nnls
from torch import Tensor

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.data.loading import Loaded
from fedrepro.benchmark.planning.operations import BATCH, OPERATIONS, TEST, kind_of, terms_of
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.planning.probe import Operators
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.training.stages import federated, pretraining
from fedrepro.benchmark.training.stages.trial import Trial
from fedrepro.methods.data.federation import ImageSet
from fedrepro.methods.nn.layers import Conv2d
from fedrepro.methods.seeds import Seeds

TABLES = Path(__file__).parents[1] / "tables"
STAGES = {"federated": federated, "pretraining": pretraining}
CLASSES = 10
FIRST = {"cnn": "encoder.conv0", "resnet": "encoder.conv1", "vgg": "encoder.features.0"}
MODULE = "encoder.module.0"
"""The first convolutions of the encoders, and of those in two modules."""


@dataclass(frozen=True)
class Size:
    """A tiny version: rounds, epochs, steps an epoch of a client, clients."""

    rounds: int
    epochs: int
    steps: int
    clients: int


SIZES = [
    Size(r, e, s, p)
    for r, e, s, p in (
        (1, 1, 1, 5), (2, 1, 1, 5), (3, 1, 2, 5), (1, 2, 1, 5), (2, 2, 2, 5), (3, 2, 1, 5),
        (1, 1, 3, 8), (2, 1, 2, 8), (3, 1, 1, 8), (1, 2, 3, 8), (2, 2, 1, 8), (3, 2, 2, 8),
    )
]  # fmt: skip

CENTRAL = [Size(1, e, s, 1) for e, s in ((1, 1), (1, 2), (2, 1), (2, 3), (3, 2))]


@dataclass
class Counts:
    """operations: of torch. images, images_back: through the encoder, forward and backward."""

    operations: int = 0
    images: int = 0
    images_back: int = 0


def tiny(config: RunConfig, size: Size) -> RunConfig:
    """`config` with the numbers of `size` and one image size for all."""
    options = dict(config.options)
    for name, value in (
        ("rounds", size.rounds), ("local_epochs", size.epochs), ("epochs", size.epochs),
        ("batch_size", BATCH), ("participation", 1.0),
    ):  # fmt: skip
        if name in options:
            options[name] = value
    for name in ("max_restarts", "head_rounds"):  # no restart, and no round of heads alone
        if name in options:
            options[name] = 0
    if "server_epochs" in options:  # a second server's epochs stand for rounds, one step each
        options.update(
            server_epochs=size.rounds, server_batch_size=size.clients * size.steps * BATCH
        )
    clients = None
    if config.clients is not None:
        clients = {"partition": "iid", "count": size.clients}
    data = {**config.data, "name": "fashion-excerpt", "images": None}
    data.pop("unlabeled_part", None)
    return replace(
        config, options=options, clients=clients, data=data, start=None, start_trial=None
    )


class _Noise(Trial):
    def load(self, wanted: Mapping[str, Any], part: str, *, resized: bool = True) -> Loaded:
        size, channels = wanted["image_size"], wanted["channels"]
        n = TEST if part == wanted["test_part"] else self.used["n"]["n"]
        stream = torch.Generator().manual_seed(1)
        images = torch.randint(
            0, 256, (n, channels, size, size), dtype=torch.uint8, generator=stream
        )
        return Loaded(ImageSet(images, torch.arange(n) % CLASSES), CLASSES, "", True, None, "noise")


@contextmanager
def counted(first: str) -> Iterator[Counts]:
    """Counts within the block; first: the name of the encoder's first convolution."""
    counts, whole = Counts(), Conv2d.__call__

    def call(self: Conv2d, state: Any, x: Tensor, training: bool = False) -> Tensor:
        y = whole(self, state, x, training)
        if self.name in (first, MODULE):
            n = x.shape[0] * x.shape[1]
            counts.images += n
            if y.requires_grad:

                def back(grad: Tensor) -> None:
                    counts.images_back += n

                y.register_hook(back)
        return y

    Conv2d.__call__ = call  # type: ignore[method-assign]
    try:
        with Operators() as operators:
            yield counts
        counts.operations = operators.seen
    finally:
        Conv2d.__call__ = whole  # type: ignore[method-assign]


def counts_of(config: RunConfig, size: Size) -> Counts:
    """What a tiny version of `config` does in all."""
    small = tiny(config, size)
    n = size.clients * size.steps * BATCH if config.clients else size.steps * BATCH
    trial = _Noise(
        small,
        Seeds(0),
        torch.device("cpu"),
        None,
        None,
        lambda done, total: None,
        used={"n": {"n": n}},
    )
    if config.start is not None and config.stage == "federated":
        trial = replace(trial, encoder=trial.network()[0].new(torch.Generator().manual_seed(2)))
    with counted(FIRST[config.encoder["name"]]) as counts:
        STAGES[config.stage].run(trial)
    return counts


def fitted(sizes: Sequence[Size], totals: Sequence[float]) -> dict[str, float]:
    """Non-negative coefficients of `terms_of`, those that are not zero."""
    rows = [terms_of(s.rounds, s.epochs, s.steps, s.clients) for s in sizes]
    names = list(rows[0])
    matrix = np.array([[row[name] for name in names] for row in rows], dtype=float)
    weight = 1 / np.maximum(np.array(totals, dtype=float), 1)
    found, _ = nnls(matrix * weight[:, None], np.array(totals) * weight)
    return {name: round(float(v), 3) for name, v in zip(names, found, strict=True) if v > 1e-3}


def main() -> None:
    """Counts every kind of the reduced profiles that is not in the table of `OPERATIONS` yet."""
    torch.set_num_threads(1)
    kinds: dict[str, RunConfig] = {}
    for paper in sys.argv[1:] or paper_ids(TABLES):
        for run in make_plan(load_paper(paper, TABLES), "reduced").runs:
            if run.stage in STAGES:
                kinds.setdefault(kind_of(run), run)
    known = json.loads(OPERATIONS.read_text()) if OPERATIONS.exists() else {}
    for kind, run in kinds.items():
        if kind in known:
            continue
        sizes = SIZES if run.clients else CENTRAL
        try:
            totals = [counts_of(run, size) for size in sizes]
        except Exception as error:
            print(f"{kind}: {type(error).__name__}: {error}", flush=True)
            continue
        known[kind] = {
            name: fitted(sizes, [getattr(one, name) for one in totals])
            for name in Counts.__dataclass_fields__
        }
        print(kind, json.dumps(known[kind]), flush=True)
        OPERATIONS.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")


if __name__ == "__main__":
    main()
