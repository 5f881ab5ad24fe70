"""Where trials are trained: on this machine, or on a cluster. One executor a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FedreproError

if TYPE_CHECKING:
    from .local import LocalExecutor
    from .parsl import ParslExecutor


@dataclass(frozen=True)
class ExecutorOptions:
    """What is the same for every trial.

    data_dir: the folder of all data sets; None for its default.
    device: `cpu`, `cuda` (all of them), `cuda:1` or `auto`.
    jobs: processes on this machine; None for one a core, or one a GPU; 0 for this very process.
    cluster: the file that describes a cluster; None for this machine.
    store: where trials save themselves; save_every_s: seconds between two times, 0 for never.
    """

    data_dir: Path | None
    device: str = "cpu"
    jobs: int | None = 0
    cluster: Path | None = None
    store: Path = Path()
    save_every_s: float = 0.0


def executor_for(options: ExecutorOptions) -> LocalExecutor | ParslExecutor:
    """Of this machine, or of the cluster that is described.

    `device` of it is the first of several. `train(dispatch)` settles every job, and writes nothing
    to the store itself; whatever is raised meanwhile ends the workers at once, and it raises
    `FedreproError` if workers cannot be started.

    Raises `FedreproError` for a device, a cluster or a package that is not there.
    """
    if options.cluster is None:
        from .local import LocalExecutor

        return LocalExecutor(options)
    try:
        from .parsl import ParslExecutor
    except ModuleNotFoundError as error:
        needed = f"the package {error.name}: pip install 'fedrepro[cluster]'"
        raise FedreproError(f"--cluster needs {needed}") from error
    return ParslExecutor(options)
