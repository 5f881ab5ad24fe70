"""Options of registered classes, read from their source: what computes is not imported.

A spec is checked against the options of every class, and importing them all takes seconds, most of
it for torch. `find` executes only what options depend on: fields and class variables, the methods
in `DECISIONS`, base classes, and the constants that these name. Where one of them needs a package
outside the standard library, the module is imported after all.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fedrepro.methods import registry

DECISIONS = ("__post_init__", "draws_views", "objective_name", "encoder_options")
"""Methods that check options, or say what follows from them before anything is trained."""

_PROJECT = __name__.partition(".")[0] + "."


class _UnreadableError(Exception):
    """What a name stands for is not known without an import."""


@cache
def find(kind: str, name: str) -> Any:
    """The class registered as `name`, as far as its options and `DECISIONS` go.

    Raises `UnknownNameError` for another name, `TypeError` for a module without one class of it.
    """
    return _find_in(registry.module_of(kind, name), kind, name)


def every(kind: str) -> Iterator[Any]:
    """The classes of all names of a kind, as `find` gives each; their folder is read once."""
    for name, module in registry.modules(kind).items():
        yield _find_in(module, kind, name)


@cache
def _find_in(module: str, kind: str, name: str) -> Any:
    if not module.startswith(_PROJECT):
        return registry.find(kind, name)
    found = [one for one in _classes(module) if _derives(module, one, registry.base_of(kind))]
    return value(module, found[0]) if len(found) == 1 else registry.find(kind, name)


def base(kind: str) -> Any:
    """The class from which every contribution of a kind derives, as far as `find` goes."""
    return value(*registry.base_of(kind))


@cache
def value(module: str, name: str) -> Any:
    """What a module binds to a name: a constant, a function, a class; else `AttributeError`."""
    try:
        return _evaluated(module, name)
    except (_UnreadableError, NameError, RecursionError):
        return getattr(importlib.import_module(module), name)


def binds(module: str, name: str) -> bool:
    """Whether a module of the project binds something to a name at its top level."""
    return name in _bindings(module)


@cache
def _bindings(module: str) -> dict[str, ast.stmt | None]:
    """The statement that binds each name of a module; None where several do."""
    found: dict[str, ast.stmt | None] = {}
    for statement in _parsed(module).body:
        for name in _bound(statement):
            found[name] = None if name in found else statement
    return found


@cache
def _parsed(module: str) -> ast.Module:
    spec = registry.spec_of(module)
    if spec is None or spec.origin is None:
        raise _UnreadableError(module)
    return ast.parse(Path(spec.origin).read_bytes(), filename=spec.origin)


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (one.asname or one.name.partition(".")[0] for one in statement.names)
    elif isinstance(statement, (ast.ClassDef, ast.FunctionDef)):
        yield statement.name
    else:
        places = statement.targets if isinstance(statement, ast.Assign) else [statement]
        for node in (inner for place in places for inner in ast.walk(place)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _classes(module: str) -> list[str]:
    return [name for name, node in _bindings(module).items() if isinstance(node, ast.ClassDef)]


@cache
def _derives(module: str, name: str, base: tuple[str, str]) -> bool:
    """Whether what a module calls `name` is the class `base`, as (module, name), or below it."""
    node = _bindings(module).get(name) if module.startswith(_PROJECT) else None
    if isinstance(node, ast.ImportFrom):
        return _derives(*_origin(node, name), base)
    if not isinstance(node, ast.ClassDef):
        return False
    above = [one.id for one in node.bases if isinstance(one, ast.Name)]
    return (module, name) == base or any(_derives(module, one, base) for one in above)


def _origin(node: ast.ImportFrom, name: str) -> tuple[str, str]:
    """The module from which a statement imports what is called `name` here, and its name there."""
    there = next(one.name for one in node.names if name in (one.asname, one.name))
    return str(node.module), there


@cache
def _evaluated(module: str, name: str) -> Any:
    statement = _bindings(module).get(name)
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _imported(statement, name)
    if isinstance(statement, ast.ClassDef):
        _reduce(statement)
    elif isinstance(statement, ast.FunctionDef):
        _remove_hints(statement)
    elif not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        raise _UnreadableError(f"{module}.{name}")
    used = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
    read = {node.id for node in used if isinstance(node.ctx, ast.Load)} - {name}
    names = {one: _evaluated(module, one) for one in read if one in _bindings(module)}
    names["__name__"] = module
    body: list[ast.stmt] = [statement]
    code = compile(ast.Module(body, []), module, "exec", dont_inherit=True)
    exec(code, names)
    return names[name]


def _imported(node: ast.Import | ast.ImportFrom, name: str) -> Any:
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        module, there = _origin(node, name)
        if module.startswith(_PROJECT):
            return _evaluated(module, there)
        if module.partition(".")[0] in sys.stdlib_module_names:
            found = getattr(importlib.import_module(module), there)
            return _dataclass if found is dataclass else found
    elif name in sys.stdlib_module_names and name != dataclass.__module__:
        # Its own `dataclass` would be frozen, which no class may be below those made here.
        return importlib.import_module(name)
    raise _UnreadableError(name)


def _dataclass(cls: Any = None, /, **given: Any) -> Any:
    """`dataclass` with `__init__` alone.

    It compiles every method that it adds, and what has options alone is never printed, compared or
    changed.
    """
    without = dict.fromkeys(("repr", "eq", "order", "frozen"), False)
    return dataclass(cls, **{**given, **without})


def _reduce(node: ast.ClassDef) -> None:
    """Leaves a class its fields, class variables and `DECISIONS` alone.

    Its docstring stays too: without one a dataclass makes one up from its signature.
    """
    documented = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
    decisions = [one for one in node.body if getattr(one, "name", None) in DECISIONS]
    fields = [one for one in node.body if isinstance(one, (ast.Assign, ast.AnnAssign))]
    for decision in decisions:
        _remove_hints(decision)
    node.body = [*documented, *fields, *decisions] or [ast.copy_location(ast.Pass(), node)]


def _remove_hints(function: ast.AST) -> None:
    """Takes a function its annotations, which may name what would have to be imported."""
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
