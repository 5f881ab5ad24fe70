"""What an executor is given and what it owes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedrepro.benchmark.execution.executors._dispatch import Dispatch
from fedrepro.benchmark.execution.jobs import Job, Result


@dataclass(frozen=True)
class ExecutorOptions:
    """What is the same for every trial.

    device: `cpu`, `cuda` (all of them), `cuda:1` or `auto`. jobs: processes on this machine; None
    for one a core, or one a GPU; 0 trains in this very process. cluster: the file that describes a
    cluster, for executors that need one. threads: cores of this machine that a trial may use.
    """

    data_dir: Path | None
    device: str = "cpu"
    jobs: int | None = 0
    cluster: Path | None = None
    threads: int = 1


@dataclass(frozen=True)
class Listener:
    """What the driver does meanwhile.

    encoder_of: the file of the weights that a job starts from. started: a job began. advanced: so
    many of so many rounds are done. finished: a result came; called once for every job, and says
    whether there is a trial now that others can start from. waiting: why nothing is trained now.
    """

    encoder_of: Callable[[Job], Path | None]
    finished: Callable[[Job, Result], bool]
    started: Callable[[Job], None] = lambda job: None
    advanced: Callable[[Job, int, int], None] = lambda job, done, total: None
    waiting: Callable[[str], None] = lambda why: None


class Executor(ABC):
    """Trains jobs somewhere; writes nothing to the store.

    device: what trials are trained on, the first of several.

    Raises `FedreproError` when made if the options contradict each other.
    """

    device: str

    def __init__(self, options: ExecutorOptions) -> None:
        self.options = options

    @abstractmethod
    def train(self, dispatch: Dispatch) -> None:
        """Trains every job of `dispatch` and settles it there.

        Whatever is raised meanwhile, Ctrl-C included, ends the workers at once.

        Raises `FedreproError` if workers cannot be started.
        """

    @property
    @abstractmethod
    def slots(self) -> int:
        """How many trials are trained at the same time, at most."""

    @abstractmethod
    def describe(self) -> list[str]:
        """Lines that say where trials would be trained; nothing is started."""
