"""The file that describes a cluster: TOML, read as specs are."""

import re
import sys
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from ...spec import toml_file
from ...spec.fields import Count, InFile, Text, Truth
from ...spec.problems import InvalidSpecError, validate

_IN_A_SHELL = re.compile(r"[A-Za-z0-9/._+@%=:,-]+")
"""Parsl writes these paths into its scripts as they are: they must need no quotes."""

AtLeastOne = Annotated[Count, Field(ge=1)]


@dataclass(frozen=True)
class Cluster(InFile):
    """What is asked of a cluster; docs/cluster.md says what each key means."""

    provider: Literal["local", "slurm", "kubernetes"]
    workers_per_node: AtLeastOne
    gpus_per_node: Annotated[Count, Field(ge=0)] = 0
    nodes_per_block: AtLeastOne = 1
    max_blocks: AtLeastOne = 1
    folder: Text = "results/cluster"
    address: Annotated[Text, Field(pattern=r"^[A-Za-z0-9.:_-]+$")] | None = None
    encrypted: Truth = True
    start_s: AtLeastOne = 600
    heartbeat_s: Annotated[Count, Field(ge=2)] = 120
    python: Annotated[Text, Field(pattern=r"^[^{}\x00-\x1f]+$")] = sys.executable
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.gpus_per_node > self.workers_per_node:
            raise ValueError("a worker uses one GPU at most: gpus_per_node > workers_per_node")
        if self.provider != "slurm" and self.nodes_per_block > 1:
            raise ValueError(f"a block of {self.provider} is one node; ask for more max_blocks")
        folder = str(Path(self.folder).absolute())
        if not _IN_A_SHELL.fullmatch(folder):
            said = f"folder {folder!r} is written into scripts of the batch system without quotes"
            raise ValueError(f"{said}; letters, digits and / . _ + @ % = : , - are allowed")

    @property
    def slots(self) -> int:
        return self.workers_per_node * self.nodes_per_block * self.max_blocks

    @property
    def accelerators(self) -> list[str]:
        """The GPU of each worker of a node; empty without GPUs."""
        n, gpus = self.workers_per_node, self.gpus_per_node
        return [str(worker * gpus // n) for worker in range(n)] if gpus else []


def read_cluster(path: Path) -> Cluster:
    """The cluster that a file describes; raises `SpecError` that names every mistake."""
    report, data = toml_file.read(path)
    if data is not None and isinstance(own := data.get("options"), dict):
        data["options"] = {k: float(v) if isinstance(v, Decimal) else v for k, v in own.items()}
    cluster = None if data is None else validate(Cluster, data, report)
    if cluster is None:
        raise InvalidSpecError(report.problems)
    return cluster
