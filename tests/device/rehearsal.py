"""Trains runs of a paper on the pretended card and, with the same choices, on the processor.

What the engine chooses by the kind of device (the size of a step and of its pieces, whether patches
are kept) changes sums' order, so the processor makes the card's choices here: the numbers then have
to be equal to the last bit.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch._prims_common import suggest_memory_format

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods import registry
from fedrepro.methods.data.views import augment
from fedrepro.methods.nn import convolution, layers, normalisation
from fedrepro.methods.optim import optimizers
from fedrepro.methods.outcome import Outcome
from fedrepro.methods.state import State
from fedrepro.methods.training import probing
from tests.device import card
from tests.device.counts import ROOT, Books, Totals

Trial = tuple[RunConfig, int]


@dataclass(frozen=True)
class Rehearsed:
    """What one trial did. failure: None where it passed. totals, step: of the whole, of a step."""

    paper: str
    key: str
    what: str
    seed: int
    failure: str | None
    totals: Totals = field(default_factory=Totals)
    step: Totals | None = None
    places: Mapping[tuple[str, str], int] = field(default_factory=dict)


@contextmanager
def choices_of_a_card() -> Iterator[None]:
    """For a block: the engine chooses for the processor as it does for a card."""
    with (
        mock.patch.object(probing, "_STEP_BYTES", {}),
        mock.patch.object(convolution, "_PATCH_BYTES", {}),
        mock.patch.object(augment, "_PIECE_BYTES", {}),
        mock.patch.object(layers, "suits_kept_patches", return_value=False),
        mock.patch.object(normalisation, "F", SimpleNamespace(group_norm=_group_norm)),
    ):
        yield


class _GroupNorm(torch.autograd.Function):
    """On every device but the processor PyTorch's derivative of group normalisation first brings
    its inputs into the contiguous layout (`tools/autograd/derivatives.yaml`), and sums with it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, groups: int, eps: float) -> Tensor:
        n, channels, pixels = x.shape[0], x.shape[1], x.shape[2:].numel()
        result, *statistics = torch.native_group_norm(
            x, None, None, n, channels, pixels, groups, eps
        )
        ctx.sizes = n, channels, pixels, groups
        ctx.save_for_backward(x, *statistics)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        x, mean, spread = ctx.saved_tensors
        own = (grads[0].contiguous(), x.contiguous(), mean, spread, None)
        of_x, *_ = torch.ops.aten.native_group_norm_backward(*own, *ctx.sizes, [True, False, False])
        return of_x, None, None


def _group_norm(x: Tensor, groups: int, eps: float) -> Tensor:
    dense = x.contiguous(memory_format=suggest_memory_format(x))
    result: Tensor = _GroupNorm.apply(dense, groups, eps)  # type: ignore[no-untyped-call]
    return result


def one_of_each_family(plans: Sequence[Plan]) -> list[tuple[str, tuple[str, ...]]]:
    """By paper the keys of the first run of every stage and kind, and of what they start from."""
    seen, chosen = set[str](), list[tuple[str, tuple[str, ...]]]()
    for plan in plans:
        keys = dict[str, None]()
        for run in plan.runs:
            if kind(run) not in seen:
                seen.add(kind(run))
                keys.update(dict.fromkeys(one.key for one in _chain(run)))
        if keys:
            chosen.append((plan.paper.id, tuple(keys)))
    return chosen


def kind(run: RunConfig) -> str:
    """The folder of a federated method; another run's stage says enough."""
    if run.stage != "federated":
        return run.stage
    return registry.find("federated", run.method).__module__.rsplit(".", 2)[-2]


def _chain(run: RunConfig) -> list[RunConfig]:
    return [*([] if run.start is None else _chain(run.start)), run]


def rehearse(paper: str, keys: Sequence[str] | None, free: Sequence[int]) -> list[Rehearsed]:
    """Each run of the smoke profile with a key among `keys` (None: all), and what it starts from.

    free: what the card says of its memory; each value has to give the same numbers.
    """
    plan, told = make_plan(load_paper(paper), "smoke"), list[Rehearsed]()
    asked = {one.key for run in plan.runs if keys is None or run.key in keys for one in _chain(run)}
    wanted = [run for run in plan.runs if run.key in asked]
    encoders: dict[tuple[str, int], State | None] = {}
    for run, seed in _trials(plan, wanted):
        start = None
        if run.start is not None:
            at = seed if run.start_trial is None else run.start_trial
            start = encoders.get((run.start.key, at))
        with choices_of_a_card():
            expected = _trained(run, seed, "cpu", start)
        encoders[run.key, seed] = expected.encoder
        failure, books = None, Books()
        # Costs are counted on the processor, whatever the device.
        for bytes_free in free if run.stage != "costs" else free[:1]:
            card.say_free(bytes_free)
            try:
                with card.counted() as books:
                    outcome = _trained(run, seed, card.NAME, start)
            except Exception as error:  # every way to fail is what is looked for
                failure = f"{type(error).__name__}: {error} ({_innermost(error)})"
            else:
                failure = differences(expected, outcome)
            if failure is not None:
                failure += f" [{bytes_free / 1e9:g} GB free]"
                break
        places = dict((books.copies + books.waits).most_common(12))
        step, what = books.typical_step(), f"{run.stage} {run.description}"
        told.append(Rehearsed(paper, run.key, what, seed, failure, books.totals(), step, places))
    return told


def _trials(plan: Plan, runs: Sequence[RunConfig]) -> Iterator[Trial]:
    """The first trial of each run, and those others that a later run starts from."""
    for run in runs:
        seeds = dict.fromkeys(plan.seeds(run)[:1])
        for later in runs:
            if later.start == run:
                first = plan.seeds(later)[0]
                seeds[first if later.start_trial is None else later.start_trial] = None
        yield from ((run, seed) for seed in seeds)


def _trained(run: RunConfig, seed: int, device: str, start: State | None) -> Outcome:
    encoder = None if start is None else {name: value.clone() for name, value in start.items()}
    fused = (*optimizers.FUSED_ON, card.NAME)
    with mock.patch.object(optimizers, "FUSED_ON", fused):
        outcome, _ = train_trial(run, seed, data_dir=None, device=device, encoder=encoder)
    return outcome


def differences(expected: Outcome, outcome: Outcome) -> str | None:
    """What is not equal in two outcomes, in words; None where nothing is."""
    ours, theirs = _plain(expected), _plain(outcome)
    if ours.keys() != theirs.keys():
        return f"one has no {sorted(ours.keys() ^ theirs.keys())}"
    apart = {name: _apart(ours[name], theirs[name]) for name in ours}
    return ", ".join(f"{name} by {by:.2g}" for name, by in apart.items() if by > 0) or None


def _apart(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """The largest difference; NaN only beside NaN, and shapes alike, or it is infinite."""
    if one.shape != other.shape or (np.isnan(one) != np.isnan(other)).any():
        return np.inf
    return float(np.nan_to_num(np.abs(one - other)).max(initial=0.0))


def _plain(outcome: Outcome) -> dict[str, NDArray[np.float64]]:
    """All numbers of an outcome by name, in double precision.

    Raises `AssertionError` where one of them is still on the card.
    """
    for name, value in (outcome.encoder or {}).items():
        assert value.device.type == "cpu", f"{name} is left on the card"
    return {
        **{f"metric {name}": np.array(curve.values) for name, curve in outcome.metrics.items()},
        **{f"rounds of {name}": np.array(curve.rounds) for name, curve in outcome.metrics.items()},
        **{f"count {name}": np.array(float(value)) for name, value in outcome.counts.items()},
        **{name: np.asarray(value, dtype=np.float64) for name, value in outcome.arrays.items()},
        **{name: value.double().numpy() for name, value in (outcome.encoder or {}).items()},
    }


def _innermost(error: BaseException) -> str:
    """The last lines of the project in a traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tests/" not in f.filename]
    own = [f for f in frames if f.filename.startswith(str(ROOT))]
    return " < ".join(f"{f.filename[len(str(ROOT)) + 1 :]}:{f.lineno}" for f in own[:-4:-1])
