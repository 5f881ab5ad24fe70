"""Where the settings of a profile's runs come from: paper, open choice, authors, defaults.

Every run is looked at once for each cell that needs it, since cells that share a run may come to a
setting by different ways. Runs of one method form a `Unit`, as do those of one pre-training
objective and of one protocol.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

from ...methods import registry
from ..config import Json, RunConfig
from ..spec import names, settings
from ..spec.choices import Unstated
from ..spec.model import Cell, DrawnRun, Origin
from .plan import Plan

KINDS = {"federated": "federated", "pretraining": "objective", "measurement": "protocol"}
"""The registered kind of what each stage runs."""
SECTIONS = {"federated": "training", "pretraining": "pretraining", "measurement": "evaluation"}
"""The section with its options."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as a run has it: its dotted path, and its value as JSON."""

    path: str
    value: str


@dataclass
class Unit:
    """All runs of a paper that one name stands for.

    objective: what clients minimise, where they do not classify.
    seen: by table, how often each setting was seen from each origin.
    """

    stage: str
    name: str
    objective: str | None
    seen: dict[str, Counter[tuple[Setting, Origin]]] = field(default_factory=dict)
    cells: Counter[str] = field(default_factory=Counter)

    @property
    def table(self) -> str:
        """The table where it is used most, the first among equals."""
        return self.cells.most_common(1)[0][0]

    @property
    def main(self) -> dict[str, tuple[str, Origin]]:
        """By path, the most frequent value of that table and its origin; of others, elsewhere."""
        chosen: dict[str, tuple[str, Origin]] = {}
        total = sum(self.seen.values(), Counter[tuple[Setting, Origin]]())
        for counted in (self.seen[self.table], total):
            for (setting, origin), _ in counted.most_common():
                chosen.setdefault(setting.path, (setting.value, origin))
        return chosen

    @property
    def elsewhere(self) -> list[tuple[Setting, Origin]]:
        """Other values than the main ones, in the order of the cells that have them."""
        main = self.main
        told = dict.fromkeys(one for counted in self.seen.values() for one in counted)
        return [one for one in told if one[0].value != main[one[0].path][0]]


def units(plan: Plan) -> list[Unit]:
    """The units of a plan, methods in the order of the tables, then pre-training and protocols.

    Runs that count costs are left out: they are those of the trained runs at the same settings.
    """
    found: dict[tuple[str, str, str | None], Unit] = {}
    bindings: list[tuple[RunConfig | None, Cell | DrawnRun, str]] = [
        *((one.config, one.cell, one.cell.table) for one in plan.cells),
        *((one.config, one.run, one.table) for one in plan.drawings),
    ]
    for run, bound, table in bindings:
        open_choices = (*plan.paper.unstated, *plan.paper.table(table).unstated)
        while run is not None:
            if run.stage in KINDS:
                objective = str(run.objective["name"]) if run.objective is not None else None
                unit = found.setdefault(
                    (run.stage, run.method, objective), Unit(run.stage, run.method, objective)
                )
                unit.cells[table] += 1
                unit.seen.setdefault(table, Counter()).update(_told(run, bound, open_choices))
            run = run.start
    order = list(KINDS)
    return sorted(found.values(), key=lambda unit: order.index(unit.stage))


def _told(
    run: RunConfig, bound: Cell | DrawnRun, open_choices: tuple[Unstated, ...]
) -> Iterator[tuple[Setting, Origin]]:
    for path, value, kind, name in _settings(run):
        asked = _asked(path, bound) if run.stage == "federated" else path
        yield Setting(path, _text(value)), _origin(asked, value, kind, name, bound, open_choices)


def _asked(path: str, bound: Cell | DrawnRun) -> str:
    """The path that a federated run takes: where it pre-trains, some stand under `pretraining`."""
    section, _, option = path.partition(".")
    inner = f"pretraining.{option}"
    central = settings.fields_of(settings.section_classes()["pretraining"])
    pretrains = names.exists("method", settings.get(bound.experiment, "pretraining.method"))
    given = settings.get(bound.experiment, inner) is not None
    return (
        inner if section == "training" and pretrains and given and option not in central else path
    )


def _settings(run: RunConfig) -> Iterator[tuple[str, Json, str, str]]:
    """Path, value, kind and name of the class whose option it is; those of the run's own stage."""
    section, kind = SECTIONS[run.stage], KINDS[run.stage]
    for option, value in run.options.items():
        own = option in settings.fields_of(registry.find(kind, run.method))
        yield f"{section}.{option}", value, *((kind, run.method) if own else ("", section))
    for option, value in (run.objective or {}).items():
        if option != "name":
            yield f"training.{option}", value, "objective", str((run.objective or {})["name"])
    for option, value in (run.augmentation or {}).items():
        yield f"augmentation.{option}", value, "", "augmentation"
    if run.stage == "measurement":
        return
    yield from _on_what(run)


def _on_what(run: RunConfig) -> Iterator[tuple[str, Json, str, str]]:
    """Data, clients, encoder and head."""
    section = "pretraining" if run.stage == "pretraining" else "clients"
    for key, value in run.data.items():
        if key in ("image_size", "channels"):
            yield f"clients.{key}", value, "", ""
        elif value is not None:
            yield f"{section}.{'data' if key == 'name' else key}", value, "", ""
    for option, value in (run.clients or {}).items():
        kind = "" if option == "partition" else "partition"
        yield f"clients.{option}", value, kind, str((run.clients or {})["partition"])
    for option, value in run.encoder.items():
        yield f"encoder.{option}", value, "" if option == "name" else "encoder", run.encoder["name"]
    for option, value in (run.head or {}).items():
        yield f"head.{option}", value, "", ""


def _origin(
    path: str,
    value: Json,
    kind: str,
    name: str,
    bound: Cell | DrawnRun,
    open_choices: tuple[Unstated, ...],
) -> Origin:
    given, cls = bound.origin.get(path), _class(kind, name)
    if given is not None and given.layer == "authors":
        return given
    if cls is not None and given is None and value != _default(cls, path):
        return Origin("method")
    method = str(settings.get(bound.experiment, "method"))
    deciding = [one for one in open_choices if _decides(one, path, method)]
    if deciding:
        return Origin("unstated", "; ".join(dict.fromkeys(map(_title, deciding))))
    if given is not None:
        return Origin("paper")
    return Origin("default", _module_with_default(cls, path) if cls is not None else "")


def _class(kind: str, name: str) -> type | None:
    if kind:
        found: type = registry.find(kind, name)
        return found
    return settings.section_classes().get(name)


def _decides(entry: Unstated, path: str, method: str) -> bool:
    """Whether an entry names the path, or a group of keys with it, for the method."""
    return (not entry.methods or method in entry.methods) and any(
        path == one or path.startswith(f"{one}.") for one in entry.settings
    )


def _title(entry: Unstated) -> str:
    return entry.name or entry.setting


def _default(cls: Any, path: str) -> Json:
    option = path.rpartition(".")[2]
    default = next((one.default for one in fields(cls) if one.name == option), MISSING)
    return json.loads(_text(default)) if default is not MISSING else None


def _module_with_default(cls: type, path: str) -> str:
    """The dotted module, without the project's name, of the class that declares an option."""
    option = path.rpartition(".")[2]
    above = [one for one in inspect.getmro(cls) if option in vars(one).get("__annotations__", {})]
    return (above[0] if above else cls).__module__.removeprefix("fedrepro.")


@cache
def source_of_defaults(module: str) -> str:
    """What a module's docstring names as its papers; empty where it names none."""
    ours = module.startswith(("methods.", "benchmark."))
    spec = registry.spec_of(f"fedrepro.{module}" if ours else module)
    if spec is None:  # a module of another package, named without that
        return ""
    text = ast.get_docstring(ast.parse(Path(str(spec.origin)).read_bytes())) or ""
    found = re.search(r"^Papers?: (.*?)(?:\.(?:\s+(?=[A-Z])|$))", text, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


Common = Mapping[str, tuple[str, Origin]]


def common(found: list[Unit]) -> Common:
    """Settings outside `training` that all methods with them share, with their origin."""
    methods = [unit.main for unit in found if unit.stage == "federated"]
    paths = dict.fromkeys(path for main in methods for path in main)
    shared = {path: {main[path] for main in methods if path in main} for path in paths}
    return {
        path: next(iter(values))
        for path, values in shared.items()
        if len(values) == 1 and not path.startswith("training.")
    }
