"""What a worker does with one trial, on this machine or on a cluster."""

from __future__ import annotations

import gc
import hashlib
import importlib
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ....methods.federated.base import ProgressCallback
from ....methods.outcome import DivergedError, Outcome
from ....methods.registry import module_of
from ....methods.state import State
from ...errors import FedreproError, is_out_of_memory
from ...store import fingerprint
from ...store.checkpoints import TrialFile
from ...store.folder import DESCRIPTION, trial_name
from ...store.store import read_encoder, weights_from
from ...training.stages.trial import StaleStateError
from ...training.training import device_name, train_trial, versions
from ..jobs import Done, Failed, Job, Result
from .base import Saving

_REPORT_EVERY_S = 0.2
_KINDS = {
    "pretraining": "objective",
    "federated": "federated",
    "costs": "federated",
    "measurement": "protocol",
}


class OverdueError(FedreproError):
    """A trial took longer than its limit and was ended."""

    def __init__(self, job: Job) -> None:
        super().__init__(
            f"it took longer than its limit of {job.limit_s:.0f} s and was ended; if it was not "
            "hung, give it more with --time-limit"
        )


class Reporter:
    """Passes progress on, five times a second at most."""

    def __init__(self, report: ProgressCallback) -> None:
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
    progress: ProgressCallback = lambda done, total: None,
    saving: Saving | None = None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Result:
    """Trains a job; whatever training raises becomes a `Failed`.

    encoder: file of the weights that it starts from, or the file's content. saving: where and how
    often the trial saves itself. say: gets one sentence on where it goes on, or why it does not.

    A trial that ran out of memory is tried again unchanged, since another process may have taken
    it. Batches never become smaller: contrastive losses and batch statistics depend on all of it.
    """
    try:
        source = fingerprint.digest(fingerprint.source_of(job.config))
        weights = _weights(encoder)
        train = partial(
            train_trial,
            job.config,
            job.seed,
            data_dir=data_dir,
            device=device,
            encoder=weights,
            progress=progress,
        )
        if saving is None:
            return Done(*train(), source)
        file = trial_file(saving, job, source, device, weights, say)
        return Done(*_interruptible(train, file, saving, say), source)
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


def trial_file(
    saving: Saving,
    job: Job,
    source: str,
    device: str,
    weights: State | None,
    say: Callable[[str], None],
) -> TrialFile:
    """The checkpoint of a job, of which only the same trial makes use.

    source: digest of the code. weights: those that it starts from.
    """
    identity = {
        "run": job.config.key,
        "seed": job.seed,
        "source": source,
        "device": [torch.device(device).type, device_name(device)],
        "versions": {n: v for n, v in versions().items() if n not in ("python", "fedrepro")},
        "encoder": None if weights is None else _digest(weights),
    }
    stage = job.config.stage
    method = module_of(_KINDS[stage], job.config.method)
    # Classes are looked up in what is loaded, and a fresh process has loaded nothing of it yet.
    for module in (f"fedrepro.benchmark.training.stages.{stage}", method):
        importlib.import_module(module)
    # A method of another project keeps classes of its own.
    package = method.partition(".")[0]
    packages = ["fedrepro.methods", *([package] if package != "fedrepro" else [])]
    name = trial_name(job.config.key, job.seed)
    return TrialFile(saving.root, name, identity, packages, torch.device(device), say)


def seen_here(saving: Saving | None) -> Saving | None:
    """None on a node of a cluster that does not see the store."""
    there = saving is not None and (saving.root / DESCRIPTION).is_file()
    return saving if there else None


def _interruptible(
    train: Callable[..., tuple[Outcome, dict[str, Any]]],
    file: TrialFile,
    saving: Saving,
    say: Callable[[str], None],
) -> tuple[Outcome, dict[str, Any]]:
    """Trains from where the trial was saved, or from the start."""
    go_on = partial(train, save=file.write, save_every_s=saving.every_s)
    saved = file.read()
    try:
        if saved is not None:
            say(f"goes on from {saved['at']}")
        return go_on(saved=saved)
    except StaleStateError as error:
        file.refuse(f"was made before {error} changed")
    except Exception as error:
        # A checkpoint that cannot be gone on with would never let the trial end. But time, memory,
        # the disk and the driver (whose end breaks the pipe of progress) may be there next time.
        passing = isinstance(error, OverdueError | OSError | MemoryError) or is_out_of_memory(error)
        if saved is not None and not passing:
            file.discard()
        raise
    return go_on()


def _digest(weights: State) -> str:
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        found.update(f"{name} {tuple(value.shape)}".encode())
        found.update(value.contiguous().numpy().tobytes())
    return found.hexdigest()


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
