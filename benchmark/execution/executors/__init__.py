"""Where trials are trained: on this machine, or on a cluster. One executor a file."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ExecutorOptions:
    """What is the same for every trial.

    `data_dir`: the folder of all data sets; None for its default. `device`: `cpu`, `cuda` (all of
    them), `cuda:1` or `auto`. `jobs`: processes on this machine; None for one a core, or one a GPU;
    0 for this very process. `cluster`: the file that describes a cluster; None for this machine.
    `store`: where trials save themselves; `save_every_s`: seconds between two times, 0 for never.
    """

    data_dir: Path | None
    device: str = "cpu"
    jobs: int | None = 0
    cluster: Path | None = None
    store: Path = Path()
    save_every_s: float = 0.0
