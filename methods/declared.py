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
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from . import registry

DECISIONS = ("__post_init__", "draws_views", "objective_name", "encoder_options")
"""Methods that check options, or say what follows from them before anything is trained."""

_READ = (ast.AnnAssign, ast.Assign, ast.FunctionDef, ast.Expr, ast.Pass)
"""What a class may hold to be read here; another one is imported."""
_PROJECT = __name__.partition(".")[0] + "."


class _UnreadableError(Exception):
    """What a name stands for is not known without an import."""


@cache
def find(kind: str, name: str) -> Any:
    """The class registered as `name`, as far as its options and `DECISIONS` go.

    Raises `UnknownNameError` for another name, `TypeError` for a module without one class of it.
    """
    return _find_in(registry.module_of(kind, name), kind, name)


@cache
def option_names(kind: str, name: str) -> frozenset[str]:
    """The names of a registered class's options, for which it need not even be executed.

    Raises as `find`.
    """
    module = registry.module_of(kind, name)
    cls = _class_in(module, kind)
    try:
        return _fields(module, cls)
    except _UnreadableError:
        return frozenset(one.name for one in fields(find(kind, name)) if one.init)


@cache
def _find_in(module: str, kind: str, name: str) -> Any:
    cls = _class_in(module, kind)
    return registry.find(kind, name) if cls is None else value(module, cls)


@cache
def _class_in(module: str, kind: str) -> str | None:
    """What a module of the project calls its one class of a kind; else None."""
    if not module.startswith(_PROJECT):
        return None
    found = [one for one in _classes(module) if _derives(module, one, registry.base_of(kind))]
    return found[0] if len(found) == 1 else None


@cache
def _fields(module: str, name: str | None) -> frozenset[str]:
    """The names of the fields that a dataclass of the project takes, with those of its bases.

    Only where each statement of the class says plainly whether it makes one.
    """
    node = _bindings(module).get(name) if name and module.startswith(_PROJECT) else None
    if isinstance(node, ast.ImportFrom) and node.level == 0 and name is not None:
        there = _origin(node, name)
        standard = there[0].partition(".")[0] in sys.stdlib_module_names
        return frozenset() if standard else _fields(*there)
    if not isinstance(node, ast.ClassDef) or node.keywords or not _is_plain(module, node):
        raise _UnreadableError(f"{module}.{name}")
    above = frozenset[str]().union(*(_fields(module, _named(base)) for base in node.bases))
    annotated = [one for one in node.body if isinstance(one, ast.AnnAssign)]
    of_class = {_named(one.target) for one in annotated if _is_class_variable(one)}
    if above & of_class:
        raise _UnreadableError(f"{module}.{name}")
    own = {_named(one.target) for one in annotated} - of_class if node.decorator_list else set()
    return above.union(one for one in own if one is not None)


def _is_plain(module: str, node: ast.ClassDef) -> bool:
    """Whether nothing in a class but annotated names makes fields, and nothing changes them."""

    def is_constant(value: ast.expr | None) -> bool:
        match value:
            case ast.Name(id=name):
                bound = _bindings(module).get(name)
                return isinstance(bound, ast.Assign) and is_constant(bound.value)
            case ast.Call(func=ast.Name(id="field")):
                return all(one.arg in ("default", "default_factory") for one in value.keywords)
            case ast.Tuple(elts=items):
                return all(map(is_constant, items))
            case ast.UnaryOp(operand=operand):
                return is_constant(operand)
            case ast.BinOp(left=left, right=right):
                return is_constant(left) and is_constant(right)
        return value is None or isinstance(value, ast.Constant)

    def is_plain(one: ast.stmt) -> bool:
        match one:
            case ast.AnnAssign(target=ast.Name(id=name), simple=1):
                return is_annotation(one) and is_constant(one.value) and not name.startswith("__")
            case ast.Assign(targets=[ast.Name(id=name)]):
                return not name.startswith("__")
        return isinstance(one, _READ) and not isinstance(one, (ast.AnnAssign, ast.Assign))

    def is_annotation(one: ast.AnnAssign) -> bool:
        if _is_class_variable(one):
            return from_its_module("ClassVar", "typing")
        words = {
            getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(one.annotation)
        }
        bound = [_bindings(module).get(word) for word in words]
        renamed = (name.asname for b in bound if isinstance(b, ast.ImportFrom) for name in b.names)
        return not words & {"ClassVar", "InitVar", "KW_ONLY"} and not words & {*renamed}

    def from_its_module(name: str, where: str) -> bool:
        bound = _bindings(module).get(name)
        return isinstance(bound, ast.ImportFrom) and _origin(bound, name) == (where, name)

    marks = [_named(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list]
    decorated = not marks or (
        marks == [dataclass.__name__] and from_its_module(dataclass.__name__, dataclass.__module__)
    )
    return decorated and all(map(is_plain, node.body))


def _is_class_variable(one: ast.AnnAssign) -> bool:
    of = one.annotation.value if isinstance(one.annotation, ast.Subscript) else one.annotation
    return _named(of) == "ClassVar"


def _named(node: ast.expr) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


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

    Its docstring stays too: without one a dataclass makes one up from its signature. Raises
    `_UnreadableError` where fields may be made in another way than by annotations of the class.
    """
    if not all(isinstance(one, _READ) for one in node.body):
        raise _UnreadableError(node.name)
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
