"""Small experiments and papers of one small table each, and what a report on them says."""

import json
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.planning.resolve import PlannedCell, Resolver
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.model import Cell, Override, Paper, Profile
from fedrepro.benchmark.spec.printed import Printed

Make, MakePaper = Callable[..., RunConfig], Callable[..., Paper]
"""The fixtures `tiny_config` and `tiny_paper`."""
_CLIENTS = {"partition": "class-groups", "count": 3, "test_size": 10}
_PRETRAINING = {"method": "none", "data": "digits", "part": "unlabeled", "images": 32}
TINY: dict[str, Any] = {
    "method": "fedavg",
    "clients": {"data": "digits", "image_size": 8, "channels": 1, **_CLIENTS},
    "encoder": {"name": "cnn", "widths": [4, 4], "dim": 8, "padding": 1},
    "head": {"widths": []},
    "pretraining": {**_PRETRAINING, "epochs": 1, "batch_size": 16, "projector_widths": [8, 8]},
    "training": {"rounds": 2, "local_epochs": 1},
}
"""Three clients and two rounds on real digits: a fraction of a second a trial."""
OWN: dict[str, Any] = {"pretraining": {"method": "simclr", "shared": False}}
"""An encoder pre-trained in every trial."""
ROWS: dict[str, dict[str, Any]] = {"fedavg": {}, "ifca": {"method": "ifca"}, "pretrained": OWN}
_HEAD = "[experiment.clients]\n"


def write_made_up(root: Path, paper: str, table: str | None = None, **more: str | None) -> Path:
    """The folder of `made-up`: its paper.toml, 3.toml and files of other names; None is no file."""
    folder = root / "made-up"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"paper": paper, "3": table, **more}.items():
        file = folder / f"{name}.toml"
        file.unlink(missing_ok=True)
        if text is not None:
            file.write_text(text, encoding="utf-8")
    return folder


def write_papers(root: Path, ids: Iterable[str]) -> None:
    """Specs of papers that share no run, in new folders below `root`."""
    spec = (tables_root() / "fcl" / "paper.toml").read_text(encoding="utf-8")
    assert _HEAD in spec
    for i, id in enumerate(ids):
        folder = root / id
        folder.mkdir(parents=True)
        own = spec.replace('"fcl"', f'"{id}"', 1).replace(_HEAD, f"{_HEAD}images = {1000 + i}\n", 1)
        (folder / "paper.toml").write_text(own, "utf-8")
        shutil.copy(tables_root() / "fcl" / "1.toml", folder)


def numbers(folder: Path) -> list[dict[str, Any]]:
    """The reports in a folder without what differs from one time to the next."""
    found = json.loads((folder / "report.json").read_text("utf-8"))
    return [{k: v for k, v in one.items() if k != "provenance"} for one in found]


def as_published(
    experiment: dict[str, Any], metric: str, at: Any = "final", overrides: Sequence[Override] = ()
) -> PlannedCell:
    """The run of an experiment under a profile with these overrides."""
    resolver = Resolver(Profile(1, overrides=tuple(overrides)))
    return resolver.resolve(drawn(experiment, at), metric)


def drawn(experiment: dict[str, Any], at: Any = "final", row: Sequence[str] = ("a",)) -> Cell:
    """A cell of Figure 4 in which nothing is printed."""
    return Cell(
        "p", "figure-4", tuple(row), (), "empirical", "accuracy", None, Printed(""), at,
        experiment,
    )  # fmt: skip
