"""Fingerprints of the code behind a run: an edited helper makes results stale, a comment does not.

Files are found by following import statements (anywhere in a file, so lazy imports count) from the
modules that the run names and the harness's own `benchmark.training.training` and
`benchmark.training.stages.<stage>`. Only `methods` and `benchmark` are followed, and of another
project the packages of the modules that the run names. What plans, judges or shows is not reached.

Files that a module of another project reads count where it declares them, by a name from its own
folder: `reads = ["weights.json"]`. What else it may depend on is not followed; `unfollowed` finds
what looks like it. What is hashed is the parsed code without docstrings, comments and layout.
"""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...methods import registry
from .. import data_names
from ..config import RunConfig
from ..errors import FedreproError

Source = Mapping[str, str]
"""SHA-256 in hexadecimal by file, named from the repository: `methods/federated/loop.py`."""

_ROOT = "fedrepro."


@cache
def source_of(config: RunConfig) -> Source:
    """Hashes of the files on which `config` depends; `UnknownNameError` if a name is not known."""
    return _hashes(frozenset(one.partition(":")[0] for one in modules_of(config)))


@cache
def _hashes(modules: frozenset[str]) -> Source:
    """Cached, since most runs name the same modules."""
    others = {one.partition(".")[0] for one in modules if not one.startswith(_ROOT)}
    followed = {f"{_ROOT}benchmark", f"{_ROOT}methods", *others}
    return closure(modules, {one.removeprefix(_ROOT): package_place(one) for one in followed})


def package_place(package: str) -> Path:
    """Where a package of another project lies; of a module alone, its file without the suffix."""
    spec = find_spec(package)
    assert spec is not None  # it was found a moment ago, by its name in a run
    if spec.submodule_search_locations:
        return Path(spec.submodule_search_locations[0])
    return Path(str(spec.origin)).with_suffix("")


def digest(source: Source) -> str:
    """First 12 hexadecimal digits of the SHA-256 over files and hashes."""
    return hashlib.sha256(json.dumps(dict(source), sort_keys=True).encode()).hexdigest()[:12]


def changed(old: Source, new: Source) -> list[str]:
    """Files that differ between two sources, those that came or went included; sorted."""
    return sorted(file for file in {*old, *new} if old.get(file) != new.get(file))


def closure(modules: Iterable[str], folders: Mapping[str, Path]) -> dict[str, str]:
    """Hashes of modules in `folders`, by package, and of all that they import, directly or not."""
    waiting, seen, hashes = list(modules), set[str](), dict[str, str]()
    while waiting:
        module = waiting.pop()
        if module in seen:
            continue
        seen.add(module)
        waiting.append(module.rpartition(".")[0])
        package = module.removeprefix(_ROOT).partition(".")[0]
        if package not in folders:
            continue
        found, imported = _module(module, folders[package])
        waiting.extend(imported)
        hashes |= found
    return hashes


@cache
def _module(module: str, folder: Path) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Hashes of a module's file and of those that it reads, and its imports, looked at once."""
    package, *rest = module.removeprefix(_ROOT).split(".")
    place = folder.joinpath(*rest)
    files = (place / "__init__.py", place.with_suffix(".py"))
    file = next(filter(Path.is_file, files), None)
    if file is None:
        return {}, ()
    inner = file.relative_to(folder) if file.is_relative_to(folder) else None
    name = Path(file.name) if inner is None else Path(package) / inner
    tree = ast.parse(file.read_bytes(), filename=str(file))
    hashes = {}
    words = (ast.Expr, ast.Assign, ast.AnnAssign)
    # An `__init__` that only documents or names does nothing.
    if file.name != "__init__.py" or not all(isinstance(node, words) for node in tree.body):
        code = json.dumps(_plain(tree)).encode()
        hashes[name.as_posix()] = hashlib.sha256(code).hexdigest()
    for read in declared_reads(tree):
        try:
            there = hashlib.sha256((file.parent / read).read_bytes()).hexdigest()
        except OSError as error:
            raise FedreproError(f"{file}: it declares that it reads {read}: {error}") from None
        hashes[(name.parent / read).as_posix()] = there
    return hashes, tuple(_imports(tree, module, file.name == "__init__.py"))


def declared_reads(tree: ast.Module) -> list[str]:
    """The files that a module says it reads: its own `reads = [...]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "reads":
            return [str(one) for one in ast.literal_eval(node.value)]
    return []


_module_of = cache(registry.module_of)  # listing folders for every run takes seconds
_module_of_data = cache(data_names.module_of)

KIND_OF_STAGE = {
    "pretraining": "objective",
    "federated": "federated",
    "costs": "federated",
    "measurement": "protocol",
}
"""What the method of a run is registered as."""


def modules_of(config: RunConfig) -> Iterator[str]:
    """The modules that a run and those that it starts from name, from which files are found."""
    yield "fedrepro.benchmark.training.training"
    yield f"fedrepro.benchmark.training.stages.{config.stage}"
    yield (where := _module_of_data(config.data["name"]))
    if not where.startswith("fedrepro."):
        yield "fedrepro.benchmark.data.own"
    yield from (_module_of("metric", name) for name in config.metrics)
    yield _module_of(KIND_OF_STAGE[config.stage], config.method)
    if config.objective is not None:
        yield _module_of("objective", config.objective["name"])
    if config.augmentation is not None:
        yield "fedrepro.methods.data.views.augment"
    yield _module_of("encoder", config.encoder["name"])
    if config.clients is not None and "partition" in config.clients:
        yield _module_of("partition", config.clients["partition"])
    if config.init_from is not None:
        yield from modules_of(config.init_from)


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_UNSEEN = ("kind", "type_comment", "type_ignores", "ctx")
"""Fields that change nothing of what runs: u before a string, comments, what a place shows."""


def _plain(node: Any) -> Any:
    """A syntax tree as nested lists, without docstrings and without what is empty. `ast.dump` says
    the same tree differently from one version of Python to the next."""
    if isinstance(node, list):
        return [_plain(item) for item in node]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if name not in _UNSEEN}
    if isinstance(node, ast.JoinedStr):  # Python 3.12 ends some with an empty text
        fields["values"] = [v for v in node.values if getattr(v, "value", None) != ""]
    if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = fields["body"][1:]
    given = [[name, _plain(value)] for name, value in fields.items() if value not in (None, [])]
    return [type(node).__name__, *given]


def _imports(tree: ast.Module, module: str, is_package: bool) -> Iterator[str]:
    for node in _executed(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                up = node.level - 1 if is_package else node.level
                base = module.split(".")[: len(module.split(".")) - up]
                origin = ".".join([*base, origin] if origin else base)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below `node` but for what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from _executed(child)


_ANYWHERE = {
    "__import__", "environ", "eval", "exec", "getenv", "import_module", "perf_counter", "time_ns",
    "urandom",
}  # fmt: skip
_OF_FILES = {"open", "read_bytes", "read_csv", "read_text", "loadtxt", "fromfile"} | {
    f"{module}.{load}"
    for module in ("json", "np", "numpy", "pickle", "toml", "tomllib", "torch", "yaml")
    for load in ("load", "loads")
}


def unfollowed(runs: Iterable[RunConfig]) -> list[str]:
    """Sentences on places where own modules of other projects, named by runs, look outside them."""
    names = {name for run in runs for name in source_of(run)}
    own = sorted(name for name in names if not name.startswith(("benchmark/", "methods/")))
    return [
        f"{name}:{line}: what {what} finds is no part of the fingerprint: after a change of it "
        "stored trials still count (declare files by reads = [...])"
        for name in own
        if name.endswith(".py")
        for line, what in _unfollowed_in(name)
    ]


def _unfollowed_in(name: str) -> Iterator[tuple[int, str]]:
    package, _, inner = name.removesuffix(".py").partition("/")
    tree = ast.parse((package_place(package) / inner).with_suffix(".py").read_bytes())
    names = _ANYWHERE if declared_reads(tree) else _ANYWHERE | _OF_FILES
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, one.name) for one in node.names if one.name in names)
        elif isinstance(node, ast.Name | ast.Attribute):
            used = ast.unparse(node)
            if used in names or used.rpartition(".")[2] in names:
                yield node.lineno, used
