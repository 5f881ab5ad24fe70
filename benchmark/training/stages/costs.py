"""Counts what a client of a method exchanges, computes and holds; trains nothing to the end."""

from dataclasses import replace
from fractions import Fraction

import torch

from ....methods import registry
from ....methods.costs.counting import count_costs
from ....methods.data.federation import Federation, ImageSet
from ....methods.outcome import Curve, Outcome
from ... import data
from .federated import task_of
from .trial import StageInput

_BITS = 8
_MOST = 10
"""Clients that stand for all: a hundred take no other messages than ten."""


def run(trial: StageInput) -> Outcome:
    """The metrics `bits` (sent, behind the channel code), `flops` (of a round) and `bytes` (held).
    Raises `ValueError` if the method's costs cannot be counted."""
    config, wanted = trial.config, trial.config.data
    assert config.clients is not None
    count = min(config.clients["count"], _MOST)
    n_classes = data.classes_of(wanted["name"], trial.data_dir)
    size = wanted["image_size"]
    empty = torch.zeros(count, wanted["channels"], size, size, dtype=torch.uint8)
    portion = ImageSet(empty, torch.zeros(count, dtype=torch.int64))
    own = torch.split(torch.arange(count), 1)
    federation = Federation(portion, portion, own, own, torch.zeros(count).long(), n_classes)
    # Nothing is computed that would be faster elsewhere.
    task = replace(task_of(trial, federation), device=torch.device("cpu"), encoder=None)
    method = registry.make("federated", config.method, config.options)
    costs = count_costs(method, task, config.clients["images"])
    counted = {
        "bits": _BITS * costs.exchanged / Fraction(config.clients["code_rate"]),
        "flops": costs.flops,
        "bytes": costs.held,
    }
    parts = ("exchanged", "weights", "gradients", "maps", "kept")
    trial.progress(1, 1)
    return Outcome(
        metrics={name: Curve((1,), (float(value),)) for name, value in counted.items()},
        counts={f"{part}_bytes": float(getattr(costs, part)) for part in parts},
    )
