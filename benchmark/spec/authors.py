"""Settings of a method's own authors, from `NAME.toml` beside its module `NAME.py`.

A federated method and an objective may have one. Its blocks say where settings come from, and what
they are: by section for a method, plain options for an objective, whose section depends on who
trains it. They are the lowest layer of an experiment, so a paper overrides what it states.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from ...methods import registry
from ..errors import SpecError
from . import names, toml_file
from .fields import InFile, Name, NotEmpty, Settings, Text
from .model import Experiment, Origin
from .problems import InvalidSpecError, Problem, suggestion, validate
from .settings import build, fields_of, get, merge, problem

SECTIONS = ("training", "augmentation")
"""What authors of a federated method decide; the rest is on what it is tried, and how measured."""
OPTIONS = "options"  # the one section in the file of an objective


@dataclass(frozen=True)
class AuthorBlock(InFile):
    """One block; with `data`, for that data set only. Later ones win."""

    source: Text
    settings: Settings
    data: Name | None = None


@dataclass(frozen=True)
class _AuthorsFile(InFile):
    authors: Annotated[tuple[AuthorBlock, ...], NotEmpty]


@cache
def files(kind: str) -> Mapping[str, Path]:
    """Where the settings of each registered name of a kind are, if it has any."""
    specs = {name: registry.spec_of(module) for name, module in registry.modules(kind).items()}
    return {name: Path(str(one.origin)).with_suffix(".toml") for name, one in specs.items() if one}


def layers(stated: Experiment) -> list[tuple[Origin, Experiment]]:
    """What the authors of an experiment's method and objectives give to it, from below.

    A method's settings win over those of the objective that its clients minimise. A federated
    method that pre-trains an encoder for another one gives nothing: `training` is the other's. A
    method gives its views only where its clients draw some and no central pre-training shares the
    section. Raises `InvalidSpecError` for a file with mistakes."""
    data, central = get(stated, "clients.data"), get(stated, "pretraining.data")
    method, pretrained = get(stated, "method"), get(stated, "pretraining.method")
    own = [(one.source, one.settings) for one in _blocks("federated", method, data)]
    training = merge(*(one.get("training", {}) for _, one in own), stated.get("training") or {})
    made = _decided(method, training)
    if made is None or not made.draws_views or pretrained not in (None, names.NONE):
        own = [(source, {"training": one.get("training", {})}) for source, one in own]
    given = [
        *_placed(pretrained, central, "pretraining"),
        *_placed(made and made.objective_name(), data, "training"),
        *own,
    ]
    return [(Origin("authors", source), one) for source, one in given]


def objective_of(experiment: Experiment) -> str | None:
    """The objective that the clients of a whole experiment minimise, None if they have labels."""
    made = _decided(get(experiment, "method"), experiment.get("training") or {})
    return None if made is None else made.objective_name()


def _decided(method: Any, training: Mapping[str, Any]) -> Any:
    """A method with its options; None where it refuses them, of which planning says why."""
    with suppress(SpecError):
        if names.exists("method", method):
            return build("federated", method, training)
    return None


def _blocks(kind: str, name: Any, data: Any) -> list[AuthorBlock]:
    """What a registered name gives on a data set; nothing where it has no file."""
    file = files(kind).get(name) if isinstance(name, str) else None
    blocks = () if file is None else read(kind, name, file)
    return [one for one in blocks if one.data in (None, data)]


def _placed(objective: Any, data: Any, section: str) -> list[tuple[str, Experiment]]:
    """Options of an objective, in the section of those who train it."""
    blocks = _blocks("objective", objective, data)
    return [(one.source, {section: one.settings.get(OPTIONS, {})}) for one in blocks]


@cache
def read(kind: str, name: str, file: Path) -> tuple[AuthorBlock, ...]:
    """The blocks of a file of settings in order; none where there is no file.

    Raises `InvalidSpecError` with one line for each mistake. Mistakes are keys that are unknown or
    no setting of authors, and options that neither the method nor an objective has. So are values
    of the wrong type or beyond `spec.limits`, and data sets that do not exist."""
    if not file.exists():
        return ()
    report, data = toml_file.read(file)
    raw = None if data is None else validate(_AuthorsFile, data, report)
    for i, block in enumerate(raw.authors if raw is not None else ()):
        for at, said in _problems(kind, name, block):
            report.add(("authors", i, *at), said)
    if raw is None or report.problems:
        raise InvalidSpecError(report.problems)
    return raw.authors


def _problems(kind: str, name: str, block: AuthorBlock) -> Iterator[tuple[tuple[str, ...], str]]:
    sets = names.known("data set")
    if block.data is not None and block.data not in sets:
        yield ("data",), f"unknown data set '{block.data}'{suggestion(block.data, sets)}"
    sections = (OPTIONS,) if kind == "objective" else SECTIONS
    for section, options in block.settings.items():
        here = ("settings", section)
        if section not in sections or not isinstance(options, dict):
            yield here, f"settings of authors stand under {' and '.join(sections)}"
            continue
        within = "augmentation" if section == "augmentation" else "training"
        for option, value in options.items():
            said = problem(f"{within}.{option}", value)
            if within == "training" and option not in _options(kind, name):
                said = f"no option of {name}{suggestion(option, _options(kind, name))}"
            if said is not None:
                yield (*here, option), said


@cache
def _options(kind: str, name: str) -> frozenset[str]:
    """The options of a class; of a federated method also those of any objective."""
    classes = [registry.find(kind, name)]
    if kind == "federated":
        classes += [registry.find("objective", one) for one in files("objective")]
    return frozenset(option for cls in classes for option in fields_of(cls))


def check_all() -> Iterator[Problem]:
    """What is wrong with any file of settings, those without a module included."""
    for kind in ("federated", "objective"):
        for name, file in files(kind).items():
            try:
                read(kind, name, file)
            except InvalidSpecError as error:
                yield from error.problems
        expected = set(files(kind).values())
        found = {one for file in expected for one in file.parent.glob("*.toml")}
        for file in sorted(found - expected):
            yield Problem(file, None, f"has no module {file.stem}.py next to it")
