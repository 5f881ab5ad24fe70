"""The file that describes a cluster: TOML, read strictly."""

import re
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...errors import FedreproError

_IN_A_SHELL = re.compile(r"[A-Za-z0-9/._+@%=:,-]+")
"""Parsl writes these paths into its scripts as they are: they must need no quotes."""

AtLeastOne = Annotated[int, Field(ge=1)]


class Cluster(BaseModel):
    """What is asked of a cluster.

    provider: who starts the workers.
    workers_per_node: processes on a node, one trial each.
    gpus_per_node: shared evenly by the workers of a node; 8 workers on 2 GPUs have a quarter each.
    nodes_per_block: nodes of one batch job.
    max_blocks: batch jobs at the same time.
    folder: for logs, scripts and the keys of the encrypted connection; every node must see it.
    address: of this machine as the nodes reach it; all are tried if it is not given.
    encrypted: whether connections are encrypted and workers known by their key.
    start_s: seconds within which a node must answer once the batch system has started a job.
    heartbeat_s: seconds of silence after which a node counts as lost.
    python: the interpreter on the nodes.
    options: the provider's own, such as SLURM's partition, walltime and worker_init.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    provider: Literal["local", "slurm", "kubernetes"]
    workers_per_node: AtLeastOne
    gpus_per_node: Annotated[int, Field(ge=0)] = 0
    nodes_per_block: AtLeastOne = 1
    max_blocks: AtLeastOne = 1
    folder: str = "results/cluster"
    address: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:_-]+$")] | None = None
    encrypted: bool = True
    start_s: AtLeastOne = 600
    heartbeat_s: Annotated[int, Field(ge=2)] = 120
    python: Annotated[str, Field(pattern=r"^[^{}\x00-\x1f]+$")] = sys.executable
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _can_be_had(self) -> Self:
        if self.gpus_per_node > self.workers_per_node:
            raise ValueError("a worker uses one GPU at most: gpus_per_node > workers_per_node")
        if self.provider != "slurm" and self.nodes_per_block > 1:
            raise ValueError(f"a block of {self.provider} is one node; ask for more max_blocks")
        folder = str(Path(self.folder).absolute())
        if not _IN_A_SHELL.fullmatch(folder):
            raise ValueError(
                f"folder {folder!r} is written into scripts of the batch "
                "system without quotes; letters, digits and / . _ + @ % = : , - are allowed"
            )
        return self

    @property
    def slots(self) -> int:
        """Workers in all, when every block is there."""
        return self.workers_per_node * self.nodes_per_block * self.max_blocks

    @property
    def accelerators(self) -> list[str]:
        """The GPU of each worker of a node; empty without GPUs."""
        n = self.workers_per_node
        return [str(worker * self.gpus_per_node // n) for worker in range(n)] * (
            self.gpus_per_node > 0
        )


def read_cluster(path: Path) -> Cluster:
    """The cluster that a file describes; raises `FedreproError` that names every mistake."""
    try:
        return Cluster.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise FedreproError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        mistakes = (
            f"{'.'.join(map(str, one['loc'])) or 'file'}: {one['msg']}" for one in error.errors()
        )
        raise FedreproError(f"{path}: {'; '.join(mistakes)}") from error
    except (ValueError, RecursionError) as error:
        raise FedreproError(f"{path}: not valid TOML: {error}") from error
