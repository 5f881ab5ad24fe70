"""Finds methods, objectives, encoders, partitions and protocols by name, without any list of them.

The registered name of a contribution is the name of its module, with hyphens for underscores. The
module has one class that derives from the kind's base class. Adding a contribution is adding a
file.

Contributions of other packages are named by their module, `mypackage.my_method`. An installed
package can also name such a module in the entry points of the kind (`GROUPS`). A name of this
project is never replaced by one of theirs.
"""

import difflib
import importlib
import importlib.util
import inspect
import json
import pkgutil
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from pydantic import PydanticUserError, TypeAdapter

from .later import without_defaults

_PACKAGES = {
    "federated": ("federated", "FederatedMethod"),
    "objective": ("objectives", "Objective"),
    "encoder": ("encoders", "Encoder"),
    "partition": ("data.partitions", "Partition"),
    "protocol": ("protocols", "Protocol"),
}
_BASES = {
    kind: (f"fedrepro.methods.{package}", f"fedrepro.methods.{package}.base", name)
    for kind, (package, name) in (*_PACKAGES.items(), ("metric", ("metrics", "Metric")))
}
GROUPS = {kind: f"fedrepro.{package.rpartition('.')[2]}" for kind, (package, *_) in _BASES.items()}
"""Entry points by kind: `fedrepro.federated`, `fedrepro.objectives`, ..."""
_HINTS = "__annotations__"
_NOT_OWN = {"fedrepro", "methods", "benchmark", "reports", *sys.stdlib_module_names}
"""Packages that no spec may name: this one, how records name its files, and Python's own."""


class UnknownNameError(LookupError):
    """A name that no module implements; carries the nearest names that exist."""

    def __init__(self, kind: str, name: str, known: Sequence[str] | None = None) -> None:
        self.kind, self.name = kind, name
        known = names(kind) if known is None else known
        self.suggestions = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean '{self.suggestions[0]}'?" if self.suggestions else ""
        super().__init__(f"{kind} '{name}' is not implemented{hint} (known: {', '.join(known)})")


def modules_in(package: str) -> dict[str, str]:
    """The dotted modules below `package` by registered name, sorted. If a package has families
    (packages), only modules in these count. `base` and names that begin with `_` never do."""
    folders = folders_of(package)
    places = {package: folders}
    inner = [found.name for found in pkgutil.iter_modules(folders) if found.ispkg]
    if inner:
        places = {f"{package}.{name}": [str(Path(at) / name) for at in folders] for name in inner}
    found = {
        module.name.replace("_", "-"): f"{place}.{module.name}"
        for place, searched in places.items()
        for module in pkgutil.iter_modules(searched)
        if module.name != "base" and not module.name.startswith("_")
    }
    return dict(sorted(found.items()))


def folders_of(package: str) -> list[str]:
    """Where a package's modules are, not imported; else `ModuleNotFoundError`."""
    if package in sys.modules:
        return list(sys.modules[package].__path__)
    spec = spec_of(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"no package {package}", name=package)
    return list(spec.submodule_search_locations)


def spec_of(module: str) -> ModuleSpec | None:
    """How a module of the project would be imported, None if there is none; it is not imported."""
    package = module.rpartition(".")[0]
    if "." not in package:
        return importlib.util.find_spec(module)
    return PathFinder.find_spec(module, folders_of(package))


def names_in(package: str) -> list[str]:
    """The registered names of the modules below `package`, sorted."""
    return list(modules_in(package))


def imported(module: str) -> ModuleType:
    """A module, imported; `ImportError` where its code ends the process as it is imported."""
    try:
        found = importlib.import_module(module)
        if not module.startswith("fedrepro."):
            _refuse_patches(module)
        return found
    except (SystemExit, GeneratorExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and error.args:
            raise  # of a signal, whose number it carries (`fedrepro.cli`)
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{place.filename}:{place.lineno} raises {type(error).__name__} when it is imported"
        raise ImportError(said, name=module) from None


def told(error: BaseException, modules: Iterable[str]) -> str:
    """What an error says, its type included, and the last line of `modules` that it went through.
    Modules of fedrepro are looked for as they are, of other projects with all of their package.
    Where no line of another project is among them, what it returned may be wrong."""
    said = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    looked_for = {one if one.startswith("fedrepro.") else one.partition(".")[0] for one in modules}
    for frame, line in reversed([*traceback.walk_tb(error.__traceback__)]):
        module = frame.f_globals.get("__name__", "")
        if not looked_for.isdisjoint((module, module.partition(".")[0])):
            parts = module.removeprefix("fedrepro.").split(".")
            file = Path(frame.f_code.co_filename)
            place = "/".join([*(parts if file.stem == "__init__" else parts[:-1]), file.name])
            return f"{said} ({place}:{line}, in {frame.f_code.co_name})"
    own = sorted(one for one in looked_for if not one.startswith("fedrepro"))
    may_return = own and isinstance(error, (AttributeError, TypeError))
    return f"{said} (in no line of {', '.join(own)}: see what it returns)" if may_return else said


def _refuse_patches(by: str) -> None:
    """Raises `ImportError` if a foreign module has put something of its own into fedrepro's."""
    package = by.partition(".")[0]
    for name, module in [*sys.modules.items()]:
        if not name.startswith("fedrepro."):
            continue
        for holder in (module, *filter(inspect.isclass, vars(module).values())):
            if holder is not module and holder.__module__ != name:
                continue
            for what, value in vars(holder).items():
                origin = getattr(getattr(value, "__func__", value), "__module__", None)
                if isinstance(origin, str) and origin.partition(".")[0] == package:
                    raise ImportError(f"{by} replaces {what} of {name}", name=by)


@cache
def class_in(module: str, base: type) -> Any:
    """The one class of a `module` below `base`, or that of `module:Class`; else `TypeError`."""
    module, _, wanted = module.partition(":")
    found = [
        value
        for value in vars(imported(module)).values()
        if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module
        if wanted in ("", value.__name__)
    ]
    if len(found) != 1:
        said = f"{module} must define exactly one {wanted or base.__name__}, has {len(found)}"
        raise TypeError(f"{said}; {module}:NAME chooses one" if found else said)
    return found[0]


def add(kind: str, package: str, module: str, name: str) -> None:
    """A kind from above this package: the dotted package, and its base class in `module`."""
    _BASES[kind] = (package, module, name)
    GROUPS[kind] = f"fedrepro.{package.rpartition('.')[2]}"


def kinds() -> list[str]:
    """The kinds of contributions that have options."""
    return list(_PACKAGES)


def names(kind: str) -> list[str]:
    """The registered names of a kind, sorted."""
    return list(modules(kind))


def modules(kind: str) -> dict[str, str]:
    """The dotted modules of a kind by registered name, sorted and not imported."""
    return dict(sorted({**installed(kind), **modules_in(_BASES[kind][0])}.items()))


def installed(kind: str) -> dict[str, str]:
    """The dotted modules of a kind to which other packages' entry points give a name."""
    return _installed(kind)[0]


def left_out(kind: str) -> dict[str, str]:
    """Names that other packages' entry points give in vain, each with the reason."""
    return _installed(kind)[1]


@cache
def _installed(kind: str) -> tuple[dict[str, str], dict[str, str]]:
    """The modules that other packages name in their entry points, and why others are left out.
    They are imported, so that a broken package ends no command that never needs it."""
    group, own = GROUPS.get(kind), modules_in(_BASES[kind][0])
    points = sorted({(one.name, one.value) for one in entry_points(group=group)} if group else ())
    found, refused = dict[str, str](), dict[str, str]()
    for name, module in points:
        others = [other for one, other in points if one == name and other != module]
        if name in own:
            refused[name] = f"{module}: the name is one of fedrepro's own"
        elif others:
            refused[name] = f"{', '.join(sorted([module, *others]))}: two packages give the name"
        else:
            try:
                class_in(module, base(kind))
                found[name] = module
            except Exception as error:  # whatever a stranger's code raises
                refused[name] = f"{module}: {told(error, [module])}"
    return found, refused


def is_module(name: str) -> bool:
    """Whether a name is that of a module in another package, installed or where one stands.
    `:` and the name of a class may follow. Nothing is imported. The working folder comes last."""
    module, colon, wanted = name.partition(":")
    top, *rest = module.split(".")
    words = (top, *rest, wanted) if colon else (top, *rest)
    if not rest or top in _NOT_OWN or not all(word.isidentifier() for word in words):
        return False
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    spec = importlib.util.find_spec(top)
    for i in range(len(rest)):
        if spec is None or spec.submodule_search_locations is None:
            return False
        inner = ".".join((top, *rest[: i + 1]))
        spec = PathFinder.find_spec(inner, list(spec.submodule_search_locations))
    return spec is not None and spec.origin is not None


_FOUND: dict[str, dict[str, str]] = {}
"""What `modules` gave for each kind when `module_of` last asked."""


def module_of(kind: str, name: str) -> str:
    """The dotted module that implements `name`, not imported; else `UnknownNameError`.
    Folders are read again for names they lacked; that a file is gone, its import says."""
    if name not in _FOUND.get(kind, ()):
        _FOUND[kind] = modules(kind)
    known = _FOUND[kind]
    if name not in known and is_module(name):
        return name
    if name not in known:
        raise UnknownNameError(kind, name)
    return known[name]


def base(kind: str) -> Any:
    """The class from which every contribution of a kind derives."""
    _, module, name = _BASES[kind]
    return getattr(importlib.import_module(module), name)


def find(kind: str, name: str) -> Any:
    """The class registered as `name`; `UnknownNameError` if no module has that name."""
    return class_in(module_of(kind, name), base(kind))


def is_imported(kind: str, name: str) -> bool:
    """Whether the module of a registered name has been imported; `UnknownNameError` as `find`."""
    return module_of(kind, name) in sys.modules


def make(kind: str, name: str, options: Mapping[str, Any]) -> Any:
    """The registered class, made with those of `options` that it has (`with_options`)."""
    return with_options(find(kind, name), options)


def with_options(cls: Any, options: Mapping[str, Any]) -> Any:
    """A dataclass made with those of `options` that are its fields, in the fields' types. Raises
    `ValueError` (pydantic's, one error for each) for values of another type or that the class
    refuses. Raises `TypeError` for a field of a type that no setting can have."""
    own = {field.name for field in fields(cls) if field.init}
    given = json.dumps({name: value for name, value in options.items() if name in own})
    return _adapter(cls).validate_json(given, strict=True)


def options_of(made: Any) -> dict[str, Any]:
    """The fields of a dataclass, as JSON would give them back; of `later` ones what is set."""
    cls: Any = type(made)
    return without_defaults(made, _adapter(cls).dump_python(made, mode="json", warnings=False))


@cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    try:
        made: TypeAdapter[Any] = TypeAdapter(cls)
        made.rebuild(raise_errors=True)
        return made
    except (PydanticUserError, NameError) as error:
        name, kind = next(_undescribed(cls), ("?", str(error)))
        said = f"{cls.__module__}.{cls.__name__}: no setting can be the field '{name}', a {kind}"
        raise TypeError(said) from error


def _undescribed(cls: type) -> Iterator[tuple[str, str]]:
    """Fields of a type that pydantic cannot read from JSON, each with its type."""
    for field in fields(cls):
        owner = next(one for one in cls.__mro__ if field.name in vars(one).get(_HINTS, ()))
        alone = type(cls.__name__, (), {_HINTS: {field.name: field.type}})
        alone.__module__ = owner.__module__
        try:
            TypeAdapter[Any](get_type_hints(alone)[field.name])
        except (PydanticUserError, NameError):
            yield field.name, str(field.type)
