"""Trains trials on a cluster through Parsl: SLURM, Kubernetes, or workers on this machine.

The driver stays where it is and alone writes the store; a worker is sent a config, a seed and the
weights that the run starts from, and sends back what it made. It installs nothing, and a worker
with other code than the driver's is found out by the digest that comes with every result.

A lost worker or node loses the trials that it had, which are tried once more. A trial that takes
longer than its limit ends itself, since the engine cannot end one from outside.
"""

from __future__ import annotations

import faulthandler
import os
import shlex
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import torch
from parsl import DataFlowKernel
from parsl.app.python import PythonApp
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.executors.base import ParslExecutor as Engine
from parsl.executors.errors import BadStateException
from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost
from parsl.launchers import SrunLauncher
from parsl.providers import KubernetesProvider, LocalProvider, SlurmProvider
from parsl.providers.slurm.template import template_string as slurm_script

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.executors._cluster import Cluster, read_cluster
from fedrepro.benchmark.execution.executors._dispatch import Dispatch
from fedrepro.benchmark.execution.executors._work import (
    OverdueError,
    as_numpy,
    as_torch,
    perform,
)
from fedrepro.benchmark.execution.executors.base import Executor, ExecutorOptions
from fedrepro.benchmark.execution.jobs import Failed, Job, Result
from fedrepro.benchmark.store.store import weights_from

_ENVIRONMENT = (
    "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
    "CUBLAS_WORKSPACE_CONFIG=:4096:8"
)
_MODULES = "parsl.executors.high_throughput"
_INTERCHANGE = [sys.executable, "-m", "fedrepro.benchmark.execution.executors._interchange"]
_LABEL = "fedrepro"
_SILENCE_S = 30.0
"""After which it is said that there is no node, if there is none."""
_GRACE_S = 60.0
_NO_LIMIT = 1e-3  # cores a worker: the file says how many workers a node has
_PROVIDERS = {"local": LocalProvider, "slurm": SlurmProvider, "kubernetes": KubernetesProvider}


class ParslExecutor(Executor):
    """Workers of a cluster that a file describes (`benchmark.execution.executors._cluster`)."""

    def __init__(self, options: ExecutorOptions) -> None:
        super().__init__(options)
        if options.cluster is None:
            raise FedreproError(
                "the executor parsl needs a file that describes the cluster: --cluster FILE"
            )
        self.cluster = read_cluster(options.cluster)
        self.device = options.device
        if options.device == "auto":
            self.device = "cuda" if self.cluster.gpus_per_node else "cpu"

    @property
    def slots(self) -> int:
        return self.cluster.slots

    def train(self, dispatch: Dispatch) -> None:
        kernel = self._start()
        try:
            self._train(dispatch, kernel)
        finally:
            kernel.cleanup()

    def describe(self) -> list[str]:
        asked = self.cluster
        lines = [
            f"up to {asked.max_blocks} blocks of {asked.nodes_per_block} nodes on {asked.provider},"
            f" {asked.workers_per_node} workers a node: {asked.slots} trials at a time"
        ]
        if asked.gpus_per_node:
            share = asked.gpus_per_node / asked.workers_per_node
            lines.append(f"GPUs of a node by worker: {' '.join(asked.accelerators)} ({share:.2g})")
        if asked.provider != "slurm":
            return lines + [f"{name} = {value!r}" for name, value in asked.options.items()]
        provider = self._provider()
        script = Template(slurm_script).safe_substitute(
            jobname=f"parsl.{_LABEL}",
            job_stdout_path=f"{asked.folder}/...",
            job_stderr_path=f"{asked.folder}/...",
            nodes=asked.nodes_per_block,
            walltime=provider.walltime,
            tasks_per_node=1,
            scheduler_options=provider.scheduler_options.strip(),
            worker_init=provider.worker_init.strip(),
            user_script=f"{_pool_command(asked)} ...",
        )
        return [*lines, "each block is this script, handed to sbatch:", *script.splitlines()]

    def _train(self, dispatch: Dispatch, kernel: DataFlowKernel) -> None:
        running: dict[Future[Result], Job] = {}
        told = None
        while True:
            # As many wait there as are trained, so that no worker does between two trials.
            while len(running) < 2 * self.slots and (job := dispatch.next()) is not None:
                running[self._submit(dispatch, kernel, job)] = job
            if not running:
                return
            done = wait(running, _SILENCE_S, FIRST_COMPLETED).done
            for future in done:
                _settle(dispatch, running.pop(future), future)
            why = None if done else _why_waiting(kernel.executors[_LABEL])
            if why is not None and why != told:
                dispatch.listener.waiting(why)
            told = why

    def _submit(self, dispatch: Dispatch, kernel: DataFlowKernel, job: Job) -> Future[Result]:
        dispatch.listener.started(job)
        encoder = dispatch.listener.encoder_of(job)
        task = {
            "plain": job.config.as_dict(),
            "seed": job.seed,
            "limit_s": job.limit_s,
            "encoder": None if encoder is None else encoder.read_bytes(),
            "data_dir": self.options.data_dir,
            "device": self.device,
        }
        submitted: Future[Result] = PythonApp(train_remotely, kernel)(task)  # type: ignore[no-untyped-call]
        return submitted

    def _start(self) -> DataFlowKernel:
        asked = self.cluster
        workers = HighThroughputExecutor(
            label=_LABEL,
            provider=self._provider(),
            address=asked.address,
            launch_cmd=_launch_command(asked),
            interchange_launch_cmd=[*_INTERCHANGE, str(os.getpid())],
            max_workers_per_node=asked.workers_per_node,
            cores_per_worker=_NO_LIMIT,
            available_accelerators=asked.accelerators,
            heartbeat_threshold=asked.heartbeat_s,
            heartbeat_period=max(1, asked.heartbeat_s // 4),
            encrypted=asked.encrypted,
        )
        folder = Path(asked.folder).absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return DataFlowKernel(Config([workers], run_dir=str(folder), usage_tracking=0))
        except OSError as error:
            raise FedreproError(f"the cluster cannot be started from {folder}: {error}") from error

    def _provider(self) -> Any:
        asked = self.cluster
        own = dict(asked.options)
        own["worker_init"] = f"{_ENVIRONMENT}\n{own.get('worker_init', '')}"
        own |= {"nodes_per_block": asked.nodes_per_block, "max_blocks": asked.max_blocks}
        own.setdefault("init_blocks", 1)
        if asked.provider == "slurm" and asked.gpus_per_node:
            own.setdefault("gpus_per_node", asked.gpus_per_node)
        if asked.nodes_per_block > 1:
            own["launcher"] = SrunLauncher()
        try:
            return _PROVIDERS[asked.provider](**own)
        except Exception as error:  # a provider may raise anything about its options or its cluster
            reason = " ".join(str(error).split())
            raise FedreproError(
                f"{self.options.cluster}: {asked.provider} cannot be used: {reason}"
            ) from error


def train_remotely(task: dict[str, Any]) -> Result:
    """What a worker is sent, and what it sends back."""
    torch.set_num_threads(1)
    job = Job(RunConfig.from_dict(task["plain"]), task["seed"], limit_s=task["limit_s"])
    content = task["encoder"]
    encoder = partial(weights_from, content) if content is not None else lambda: None
    with _ended_at(job):
        return as_numpy(perform(job, encoder, task["data_dir"], task["device"]))


@contextmanager
def _ended_at(job: Job) -> Iterator[None]:
    """Raises `OverdueError` in the block at the job's limit; later, if unheeded, ends the process.

    The second is for a call into a library that never comes back to Python.
    """
    if job.limit_s is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def overdue(signum: int, frame: object) -> None:
        raise OverdueError(job)

    before = signal.signal(signal.SIGALRM, overdue)
    faulthandler.dump_traceback_later(job.limit_s + _GRACE_S, exit=True)
    signal.setitimer(signal.ITIMER_REAL, job.limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def _settle(dispatch: Dispatch, job: Job, future: Future[Result]) -> None:
    error = future.exception()
    if error is None:
        dispatch.settle(job, as_torch(future.result()))
    elif isinstance(error, (WorkerLost, ManagerLost)):
        dispatch.killed(job, f"{error}; out of memory?")
    elif isinstance(error, BadStateException):
        raise FedreproError(f"workers of the cluster do not start: {' '.join(str(error).split())}")
    else:
        dispatch.settle(job, Failed(f"its worker failed: {type(error).__name__}: {error}"))


def _why_waiting(workers: Engine) -> str | None:
    """What the batch jobs do while no node has come; None where one has."""
    assert isinstance(workers, HighThroughputExecutor)
    if workers.connected_managers():
        return None
    states = Counter(status.state.name.lower() for status in workers.status_facade.values())
    found = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    return f"no node has come yet, or all are lost; batch jobs: {found}"


def _pool_command(asked: Cluster) -> str:
    return f"{shlex.quote(asked.python)} -m {_MODULES}.process_worker_pool"


def _launch_command(asked: Cluster) -> str:
    """Parsl's own, by this interpreter instead of a script that has to be on the PATH."""
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD

    command: str = DEFAULT_LAUNCH_CMD
    return command.replace("process_worker_pool.py", _pool_command(asked), 1)
