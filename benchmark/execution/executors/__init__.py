"""Where trials are trained: on this machine, or on a cluster. One executor a file."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ....methods.registry import class_in
from ...errors import FedreproError
from ..jobs import Dispatch


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


class Executor(ABC):
    """Trains jobs on `device`, the first of several; writes nothing to the store.

    Raises `FedreproError` when made if the options contradict each other.
    """

    device: str

    def __init__(self, options: ExecutorOptions) -> None:
        self.options = options

    @abstractmethod
    def train(self, dispatch: Dispatch) -> None:
        """Settles every job of `dispatch`; whatever is raised meanwhile ends the workers at once.

        Raises `FedreproError` if workers cannot be started.
        """


def executor_for(options: ExecutorOptions) -> Executor:
    """Of this machine, or of the cluster that is described.

    Raises `FedreproError` for a device, a cluster or a package that is not there.
    """
    name = "local" if options.cluster is None else "parsl"
    try:
        found: type[Executor] = class_in(f"{__name__}.{name}", Executor)
    except ModuleNotFoundError as error:
        needed = f"the package {error.name}: pip install 'fedrepro[cluster]'"
        raise FedreproError(f"--cluster needs {needed}") from error
    return found(options)
