"""What a worker does with one trial, on this machine or on a cluster."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fedrepro.benchmark.errors import FedreproError, is_out_of_memory
from fedrepro.benchmark.execution.jobs import Done, Failed, Job, Result
from fedrepro.benchmark.store import fingerprint
from fedrepro.benchmark.store.store import read_encoder, weights_from
from fedrepro.benchmark.training.training import train_trial
from fedrepro.methods.federated.base import Progress
from fedrepro.methods.outcome import DivergedError
from fedrepro.methods.state import State

_REPORT_EVERY_S = 0.2


class OverdueError(FedreproError):
    """A trial took longer than its limit and was ended."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"it took longer than its limit of {job.limit_s:.0f} s and was ended; if it was not "
            "hung, give it more with --time-limit"
        )


class Reporter:
    """Passes progress on, five times a second at most."""

    def __init__(self, report: Progress) -> None:
        self.report, self.last = report, 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.last >= _REPORT_EVERY_S or done == total:
            self.last = now
            self.report(done, total)


def perform(
    job: Job,
    encoder: Path | bytes | None,
    data_dir: Path | None,
    device: str,
    progress: Progress = lambda done, total: None,
) -> Result:
    """Trains a job; whatever training raises becomes a `Failed`.

    encoder: file of the weights that it starts from, or the file's content.

    A trial that ran out of memory is tried again unchanged, since another process may have taken
    it. Batches never become smaller: contrastive losses and batch statistics depend on all of it.
    """
    try:
        outcome, provenance = train_trial(
            job.config,
            job.seed,
            data_dir=data_dir,
            device=device,
            encoder=_weights(encoder),
            progress=progress,
        )
        return Done(outcome, provenance, fingerprint.digest(fingerprint.source_of(job.config)))
    except Exception as error:
        if not is_out_of_memory(error):
            return Failed(_one_line(error), traceback.format_exc())
        where = f"the memory of {device}" if "CUDA" in str(error) else "memory"
        reason = f"out of {where}; train fewer trials at a time (--jobs, or workers of the cluster)"
        failed = Failed(reason, traceback.format_exc(), again=True)
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return failed


def _weights(encoder: Path | bytes | None) -> State | None:
    if encoder is None:
        return None
    return weights_from(encoder) if isinstance(encoder, bytes) else read_encoder(encoder)


def as_numpy(result: Result) -> Result:
    """The result with plain arrays: a tensor would be sent as shared memory of a dying process."""
    return _converted(result, lambda weight: weight.detach().cpu().numpy())


def as_torch(result: Result) -> Result:
    """Undoes `as_numpy`."""
    return _converted(result, torch.as_tensor)


def _converted(result: Result, convert: Callable[[Any], Any]) -> Result:
    if isinstance(result, Failed) or result.outcome.encoder is None:
        return result
    weights = {name: convert(weight) for name, weight in result.outcome.encoder.items()}
    return replace(result, outcome=replace(result.outcome, encoder=weights))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, (DivergedError, FedreproError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
