"""Trains trials on a cluster through Parsl: SLURM, Kubernetes, or workers on this machine.

The driver alone writes the store. A worker is sent a config, a seed and the weights that the run
starts from. It sends back what it made, with a digest that shows whether its code is the driver's.
A trial ends itself at its limit, since Parsl cannot end one from outside.

No process imports from the folder that it is started in (`python -P`). Scripts, logs and keys may
hold tokens of `worker_init`; they are in a folder that only its owner can enter.
"""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsl import DataFlowKernel
from parsl.app.python import PythonApp
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.executors.errors import BadStateException
from parsl.executors.high_throughput.errors import ManagerLost, WorkerLost
from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD
from parsl.launchers import SrunLauncher
from parsl.providers import KubernetesProvider, LocalProvider, SlurmProvider

from ...errors import FedreproError
from ...printable import one_line
from ..jobs import Dispatch, Failed, Job, Result
from . import ExecutorOptions
from ._cluster import Cluster, read_cluster
from ._work import perform

_ENVIRONMENT = (
    "export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "
    "CUBLAS_WORKSPACE_CONFIG=:4096:8"
)
_MODULES = "parsl.executors.high_throughput"
# Left alone, the interchange of a killed driver would keep its workers, and the nodes that they
# occupy, for as long as the allocation lasts.
_INTERCHANGE = f"""
import runpy, sys
from fedrepro.benchmark.execution.processes import end_with
end_with(int(sys.argv.pop()))
runpy.run_module("{_MODULES}.interchange", run_name="__main__")
"""
_LABEL = "fedrepro"
_SILENCE_S = 30.0  # after which it is said that there is no node, if there is none
_PROVIDERS = {"local": LocalProvider, "slurm": SlurmProvider, "kubernetes": KubernetesProvider}


class ParslExecutor:
    """Workers of a cluster that a file describes (`benchmark.execution.executors._cluster`)."""

    def __init__(self, options: ExecutorOptions) -> None:
        self.options = options
        assert options.cluster is not None
        self.cluster = read_cluster(options.cluster)
        self.device = options.device
        if options.device == "auto":
            self.device = "cuda" if self.cluster.gpus_per_node else "cpu"

    def train(self, dispatch: Dispatch) -> None:
        kernel = self._start()
        workers = kernel.executors[_LABEL]
        assert isinstance(workers, HighThroughputExecutor)
        watch = _NodeWatch(self.cluster, workers, dispatch.display.say)
        app = PythonApp(perform, kernel)  # type: ignore[no-untyped-call]
        running: dict[Future[Result], Job] = {}
        most = 2 * self.cluster.slots
        try:
            while True:
                # As many wait there as are trained, so that no worker does between two trials.
                while len(running) < most and (job := dispatch.next()) is not None:
                    dispatch.display.started(job.name, job.label)
                    encoder = dispatch.encoder_of(job)
                    weights = None if encoder is None else encoder.read_bytes()
                    running[app(job, weights, self.options, self.device)] = job
                if not running:
                    return
                done = wait(running, _SILENCE_S, FIRST_COMPLETED).done
                for future in done:
                    _settle(dispatch, running.pop(future), future)
                if not done:
                    watch.look()
        finally:
            kernel.cleanup()

    def _start(self) -> DataFlowKernel:
        asked = self.cluster
        pool = f"{shlex.quote(asked.python)} -P -m {_MODULES}.process_worker_pool"
        workers = HighThroughputExecutor(
            label=_LABEL,
            provider=self._provider(),
            address=asked.address,
            # Parsl's own, by an interpreter instead of a script that has to be on the PATH.
            launch_cmd=DEFAULT_LAUNCH_CMD.replace("process_worker_pool.py", pool, 1),
            interchange_launch_cmd=[sys.executable, "-P", "-c", _INTERCHANGE, str(os.getpid())],
            max_workers_per_node=asked.workers_per_node,
            cores_per_worker=1e-3,  # no limit: the file says how many workers a node has
            available_accelerators=asked.accelerators,
            heartbeat_threshold=asked.heartbeat_s,
            heartbeat_period=max(1, asked.heartbeat_s // 4),
            encrypted=asked.encrypted,
        )
        folder = Path(asked.folder).absolute()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            run_dir = tempfile.mkdtemp(prefix="run-", dir=folder)
            return DataFlowKernel(Config([workers], run_dir=run_dir, usage_tracking=0))
        except Exception as error:  # the base class where the interchange does not start
            said = f"the cluster cannot be started from {folder}: {one_line(str(error))}"
            raise FedreproError(said) from error

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
            said = f"{asked.provider} cannot be used: {one_line(str(error))}"
            raise FedreproError(f"{self.options.cluster}: {said}") from error


def _settle(dispatch: Dispatch, job: Job, future: Future[Result]) -> None:
    error = future.exception()
    if error is None:
        dispatch.settle(job, future.result())
    elif isinstance(error, (WorkerLost, ManagerLost)):
        dispatch.killed(job, f"{error}; out of memory?")
    elif isinstance(error, BadStateException):
        raise FedreproError(f"workers of the cluster do not start: {one_line(str(error))}")
    else:
        dispatch.settle(job, Failed(f"its worker failed: {type(error).__name__}: {error}"))


@dataclass
class _NodeWatch:
    """Says what the batch jobs do while there is no node, and for how long that may last."""

    asked: Cluster
    workers: HighThroughputExecutor
    say: Callable[[str], None]
    said: str | None = None
    expected_since: float | None = None

    def look(self) -> None:
        """Called when no result has come for a while. Raises `FedreproError` if none will: Parsl
        has ended, or no node came within `start_s` although no batch job waits for its turn."""
        now = time.monotonic()
        logs = f"see the logs in {self.asked.folder}"
        interchange = self.workers.interchange_proc
        code = None if interchange is None else interchange.poll()
        if code is not None:
            raise FedreproError(f"Parsl's interchange has ended (exit code {code}); {logs}")
        if self.workers.connected_managers():
            self.said = self.expected_since = None
            return
        states = Counter(s.state.name.lower() for s in self.workers.status_facade.values())
        found = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
        why = f"no node has come yet, or all are lost; batch jobs: {found}"
        if why != self.said:
            self.say(why)
            self.said = why
        if self.expected_since is None or states["pending"] or states["held"]:
            self.expected_since = now
        if now - self.expected_since > self.asked.start_s:
            late = f"no node came within {self.asked.start_s} s (start_s of the cluster file)"
            why = f"no batch job is waiting for its turn ({found})"
            raise FedreproError(f"{late}, and {why}; {logs}")
