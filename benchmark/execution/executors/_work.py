"""What a worker does with one trial, on this machine or on a cluster."""

import faulthandler
import gc
import importlib
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from ....methods.federated.base import ProgressCallback
from ....methods.outcome import DivergedError, Outcome
from ....methods.registry import UnknownNameError, module_of, told
from ...errors import FedreproError, is_out_of_memory
from ...store import fingerprint
from ...store.checkpoints import TrialFile
from ...store.files import sha256_of
from ...store.store import DESCRIPTION, error_file, weights_from
from ...training.stages.trial import StaleStateError
from ...training.training import device_name, train_trial, versions
from ..jobs import Done, Failed, Job, Result
from ..processes import alarm
from . import ExecutorOptions

_REPORT_EVERY_S = 0.2
_GRACE_S = 60.0


class OverdueError(FedreproError):
    """A trial took longer than its limit and was ended."""


def perform(
    job: Job,
    encoder: Path | bytes | None,
    options: ExecutorOptions,
    device: str,
    progress: ProgressCallback = lambda done, total: None,
    say: Callable[[str], None] = lambda sentence: None,
) -> Result:
    """Trains a job from the weights in `encoder`; whatever training raises becomes a `Failed`.
    `progress`: is told five times a second at most. `say`: gets one sentence on where the trial
    goes on, or why it does not. A trial that ran out of memory is tried again unchanged:
    contrastive losses and batch statistics depend on all of a batch."""
    last = 0.0

    def seldom(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _REPORT_EVERY_S or done == total:
            last = time.monotonic()
            progress(done, total)

    try:
        with ended_at(job):
            return _trained(job, encoder, options, device, seldom, say)
    except (Exception, SystemExit, GeneratorExit) as error:
        if not is_out_of_memory(error):
            return Failed(_one_line(error, job), traceback.format_exc())
        where = f"the memory of {device}" if "CUDA" in str(error) else "memory"
        reason = f"out of {where}; train fewer trials at a time (--jobs, or workers of the cluster)"
        failed = Failed(reason, traceback.format_exc(), again=True)
    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    return failed


@contextmanager
def ended_at(job: Job) -> Iterator[None]:
    """Raises `OverdueError` in the main thread at the limit; a minute later, ends the process."""
    if job.limit_s is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    faulthandler.dump_traceback_later(job.limit_s + _GRACE_S, exit=True)
    try:
        said = f"it took longer than its limit of {job.limit_s:.0f} s and was ended; if it was not "
        with alarm(job.limit_s, OverdueError(said + "hung, give it more with --time-limit")):
            yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _trained(
    job: Job,
    encoder: Path | bytes | None,
    options: ExecutorOptions,
    device: str,
    progress: ProgressCallback,
    say: Callable[[str], None],
) -> Done:
    source = fingerprint.digest(fingerprint.source_of(job.config))
    content = encoder.read_bytes() if isinstance(encoder, Path) else encoder
    weights = None if content is None else weights_from(content)
    where: dict[str, Any] = {"data_dir": options.data_dir, "device": device}
    train = partial(train_trial, job.config, job.seed, **where, encoder=weights, progress=progress)
    # A node of a cluster may not see the store.
    if options.save_every_s and (options.store / DESCRIPTION).is_file():
        file = trial_file(options.store, job, source, device, content, say)
        outcome, provenance = _interruptible(train, file, options.save_every_s)
    else:
        outcome, provenance = train()
    if outcome.encoder is not None:  # copied, so that of a larger tensor only the part is sent
        here = {name: weight.detach().cpu().clone() for name, weight in outcome.encoder.items()}
        outcome = replace(outcome, encoder=here)
    return Done(outcome, provenance, source)


def trial_file(
    root: Path, job: Job, code: str, device: str, encoder: bytes | None, say: Callable[[str], None]
) -> TrialFile:
    """The checkpoint of a job in the store at `root`, of which only the same trial makes use."""
    identity = {
        "run": job.config.key,
        "seed": job.seed,
        "source": code,
        "device": [torch.device(device).type, device_name(device)],
        "versions": {n: v for n, v in versions().items() if n not in ("python", "fedrepro")},
        "encoder": None if encoder is None else sha256_of(encoder),
    }
    stage = job.config.stage
    method = module_of(fingerprint.KIND_OF_STAGE[stage], job.config.method)
    # Classes are looked up in what is loaded, and a fresh process has loaded nothing of it yet.
    for module in (f"fedrepro.benchmark.training.stages.{stage}", method):
        importlib.import_module(module.partition(":")[0])
    # A method of another project keeps classes of its own.
    package = method.partition(".")[0]
    packages = ["fedrepro.methods", *([package] if package != "fedrepro" else [])]
    return TrialFile(root, job.name, identity, packages, torch.device(device), say)


def _interruptible(
    train: Callable[..., tuple[Outcome, dict[str, Any]]], file: TrialFile, every_s: float
) -> tuple[Outcome, dict[str, Any]]:
    go_on, saved = partial(train, save=file.write, save_every_s=every_s), file.read()
    try:
        if saved is not None:
            file.say(f"continues from {saved['at']}")
        return go_on(saved=saved)
    except StaleStateError as error:
        file.refuse(f"was made before {error} changed")
    except (Exception, SystemExit, GeneratorExit) as error:
        # A checkpoint that cannot be gone on with would never let the trial end. But time, memory,
        # the disk and the driver (whose end breaks the pipe of progress) may be there next time.
        passing = isinstance(error, OverdueError | OSError | MemoryError) or is_out_of_memory(error)
        if saved is not None and not passing:
            with suppress(OSError):
                file.path.unlink()
        raise
    return go_on()


def _one_line(error: BaseException, job: Job) -> str:
    """What went wrong; of a mistake in code, its line and where the whole traceback is."""
    if isinstance(error, (DivergedError, FedreproError, UnknownNameError)):
        return " ".join(str(error).split())
    modules = fingerprint.modules_of(job.config)
    said = told(error, (one for one in modules if not one.startswith("fedrepro.benchmark.")))
    return f"{said}; whole traceback: {error_file(*job.name)} of the store, or run again with -v"
