"""Where the settings of a profile's runs come from: paper, open choice, authors, defaults.

Every run is looked at for each of its cells, which may come to a setting by different ways. Runs of
one method form a `Unit`, as do those of one pre-training objective and of one protocol.
"""

import ast
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from ...methods import registry
from ..config import Json, RunConfig, chain
from ..spec import names, settings
from ..spec.choices import Unstated
from ..spec.model import Cell, Origin
from .plan import Plan

STAGES = {
    "federated": ("federated", "training"),
    "pretraining": ("objective", "pretraining"),
    "measurement": ("protocol", "evaluation"),
}
"""The registered kind of what each stage runs, and the section with its options."""


class Told(NamedTuple):
    """One setting as a run has it: its dotted path, its value as JSON, and where it comes from."""

    path: str
    value: str
    origin: Origin


@dataclass
class Unit:
    """All runs of a paper that one name stands for.

    `objective`: what clients minimise, where they do not classify. `seen`: by table, how often each
    setting was seen from each origin."""

    stage: str
    name: str
    objective: str | None
    seen: dict[str, Counter[Told]] = field(default_factory=dict)
    cells: Counter[str] = field(default_factory=Counter)

    @property
    def table(self) -> str:
        """The table where it is used most, the first among equals."""
        return self.cells.most_common(1)[0][0]

    @property
    def main(self) -> dict[str, Told]:
        """By path, the most frequent setting in `table`; if there is none, in all tables."""
        chosen: dict[str, Told] = {}
        for counted in (self.seen[self.table], sum(self.seen.values(), Counter[Told]())):
            for told, _ in counted.most_common():
                chosen.setdefault(told.path, told)
        return chosen

    @property
    def elsewhere(self) -> list[Told]:
        """Other values than the main ones, in the order of the cells that have them."""
        main = self.main
        found = dict.fromkeys(one for counted in self.seen.values() for one in counted)
        return [told for told in found if told.value != main[told.path].value]


def units(plan: Plan) -> list[Unit]:
    """The units of a plan, methods in the order of the tables, then pre-training and protocols.
    Runs that count costs are left out: they are those of the trained runs at the same settings."""
    found: dict[tuple[str, str, str | None], Unit] = {}
    for planned in (*plan.cells, *plan.drawings):
        bound, table = planned.cell, planned.cell.table
        open_choices = (*plan.paper.unstated, *plan.paper.table(table).unstated)
        for run in chain(planned.config):
            if run.stage in STAGES:
                objective = None if run.objective is None else run.objective["name"]
                name = run.stage, run.method, objective
                unit = found.setdefault(name, Unit(*name))
                unit.cells[table] += 1
                unit.seen.setdefault(table, Counter()).update(_told(run, bound, open_choices))
    return sorted(found.values(), key=lambda unit: list(STAGES).index(unit.stage))


def _told(run: RunConfig, bound: Cell, open_choices: tuple[Unstated, ...]) -> Iterator[Told]:
    minimised = None if run.objective is None else run.objective["name"]
    of = ([settings.get(bound.experiment, "method")], [minimised, run.method], run.method)
    for path, value, cls in _settings(run):
        asked = _asked(path, bound) if run.stage == "federated" else path
        concerning = tuple(one for one in open_choices if one.is_of(*of))
        yield Told(path, _text(value), _origin(asked, value, cls, bound, concerning))


def _asked(path: str, bound: Cell) -> str:
    """The path that a federated run takes: where it pre-trains, some stand under `pretraining`."""
    section, _, option = path.partition(".")
    inner = f"pretraining.{option}"
    if section != "training" or settings.get(bound.experiment, inner) is None:
        return path
    pretrains = names.exists("method", settings.get(bound.experiment, "pretraining.method"))
    central = settings.fields_of(settings.section_classes()["pretraining"])
    return inner if pretrains and option not in central else path


def _settings(run: RunConfig) -> Iterator[tuple[str, Json, type | None]]:
    """Path, value and class whose option it is, if it is one; those of the run's own stage."""
    (kind, section), sections = STAGES[run.stage], settings.section_classes()
    cls = registry.find(kind, run.method)
    for option, value in run.options.items():
        own = option in settings.fields_of(cls)
        yield f"{section}.{option}", value, cls if own else sections.get(section)
    parts = [("training", run.objective or {}, "objective", "name")]
    if run.stage != "measurement":
        parts.append(("clients", run.clients or {}, "partition", "partition"))
        parts.append(("encoder", run.encoder, "encoder", "name"))
    for at, options, kind, name in parts:
        for option, value in options.items():
            if (at, option) != ("training", "name"):
                of = None if option == name else registry.find(kind, options[name])
                yield f"{at}.{option}", value, of
    for option, value in (run.augmentation or {}).items():
        yield f"augmentation.{option}", value, sections["augmentation"]
    if run.stage != "measurement":
        for key, value in run.data.items():
            of_clients = key in ("image_size", "channels") or run.stage != "pretraining"
            if value is not None:
                path = "data" if key == "name" else key
                yield f"{'clients' if of_clients else 'pretraining'}.{path}", value, None
        for option, value in (run.head or {}).items():
            yield f"head.{option}", value, None


def _origin(
    path: str, value: Json, cls: Any, bound: Cell, open_choices: tuple[Unstated, ...]
) -> Origin:
    given, option = bound.origin.get(path), path.rpartition(".")[2]
    if given is not None and given.layer == "authors":
        return given
    if cls is not None and given is None:
        default = next((one.default for one in fields(cls) if one.name == option), MISSING)
        if value != (None if default is MISSING else json.loads(_text(default))):
            return Origin("method")
    deciding = [
        one.name or one.setting
        for one in open_choices
        if any(path == own or path.startswith(f"{own}.") for own in one.settings)
    ]
    if deciding:
        return Origin("unstated", "; ".join(dict.fromkeys(deciding)))
    if given is not None:
        return Origin("paper")
    if cls is None:
        return Origin("default")
    declaring = (one for one in inspect.getmro(cls) if option in inspect.get_annotations(one))
    return Origin("default", next(declaring, cls).__module__.removeprefix("fedrepro."))


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


def common(found: list[Unit]) -> dict[str, Told]:
    """Settings outside `training` that all methods with them share, by path."""
    told = {one for unit in found if unit.stage == "federated" for one in unit.main.values()}
    times = Counter(one.path for one in told)
    return {
        one.path: one
        for one in sorted(told)
        if times[one.path] == 1 and not one.path.startswith("training.")
    }
