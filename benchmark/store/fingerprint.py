"""Fingerprints of the code behind a run: an edited helper makes results stale, a comment does not.

Files are found by following import statements (anywhere in a file, so lazy imports count) from the
modules that the run names and the harness's own `benchmark.training.training` and
`benchmark.training.stages.<stage>`. Only `methods` and `benchmark` are followed, and of another
project the packages of the modules that the run names. So is what is not installed but is beside
these or on the path. What plans, judges or shows is not reached.

Files that a module of another project reads count where it declares them, by a name from its own
folder: `reads = ["weights.json"]`. What else it may depend on is not followed; `unfollowed` finds
what looks like it, and modules that are no source of their package. What is hashed is the parsed
code without docstrings, comments and layout.
"""

import ast
import json
import os.path
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ...methods import registry
from .. import data_names
from ..config import RunConfig
from ..errors import FedreproError
from .files import sha256_of

Source = Mapping[str, str]
"""SHA-256 in hexadecimal by file, named from the repository: `methods/federated/loop.py`."""

_ROOT = "fedrepro."
_NOT_BESIDE = {"", "__main__", "fedrepro", *sys.stdlib_module_names}
_TYPES = {"TYPE_CHECKING", "t.TYPE_CHECKING", "typing.TYPE_CHECKING"}


@cache
def source_of(config: RunConfig) -> Source:
    """Hashes of the files on which `config` depends; `UnknownNameError` if a name is not known."""
    return _hashes(frozenset(one.partition(":")[0] for one in modules_of(config)))


@cache
def _hashes(modules: frozenset[str]) -> Source:
    """Cached, since most runs name the same modules."""
    others = [one for one in modules if not one.startswith(_ROOT)]
    with suppress(Exception):  # whoever trains it says what is wrong
        [*map(registry.imported, others)]  # they may add folders to `sys.path`
    followed = {f"{_ROOT}benchmark", f"{_ROOT}methods", *(one.partition(".")[0] for one in others)}
    return closure(modules, {one: package_place(one) for one in followed})


def package_place(package: str) -> Path:
    """Where a package of another project lies; of a module alone, its file without the suffix."""
    spec = find_spec(package)
    assert spec is not None  # it was found a moment ago, by its name in a run
    return Path([*(spec.submodule_search_locations or ()), str(spec.origin)][0].removesuffix(".py"))


@cache
def _beside(package: str) -> Path | None:
    """Where a package lies that is no part of fedrepro or Python and is not installed."""
    if package.partition(".")[0] in _NOT_BESIDE or find_spec(package) is None:
        return None
    place = package_place(package)
    return place if {"site-packages", "dist-packages"}.isdisjoint(place.parts) else None


def digest(source: Source) -> str:
    """First 12 hexadecimal digits of the SHA-256 over files and hashes."""
    return sha256_of(json.dumps(dict(source), sort_keys=True).encode())[:12]


def changed(old: Source, new: Source) -> list[str]:
    """Files that differ between two sources, those that came or went included; sorted."""
    return sorted(file for file in {*old, *new} if old.get(file) != new.get(file))


def closure(modules: Iterable[str], folders: Mapping[str, Path]) -> dict[str, str]:
    """Hashes of modules in `folders`, by package, and of all that they import, directly or not."""
    waiting, seen, hashes = list(modules), set[str](), dict[str, str]()
    while waiting:
        module = waiting.pop()
        is_ours = module.startswith(_ROOT)
        package = ".".join(module.split(".")[: 1 + is_ours])
        folder = folders.get(package) or _beside(package)
        if module in seen or folder is None:
            continue
        seen.add(module)
        found, imported = _module(module, folder)
        waiting.append(module.rpartition(".")[0])
        waiting.extend(one for one in imported if one.startswith(_ROOT) or not is_ours)
        hashes |= found
    return hashes


def _file(module: str, folder: Path) -> Path | None:
    """The source of a module whose package lies in `folder`."""
    place = folder.joinpath(*module.removeprefix(_ROOT).split(".")[1:])
    return next(filter(Path.is_file, (place / "__init__.py", place.with_suffix(".py"))), None)


@cache
def _module(module: str, folder: Path) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Hashes of a module's file and of those that it reads, and its imports, looked at once."""
    if (file := _file(module, folder)) is None:
        return {}, ()
    name = file.relative_to(folder.parent)
    tree = ast.parse(file.read_bytes(), filename=str(file))
    hashes = {}
    # An `__init__` that only says what it is does nothing.
    said = re.compile(r"['\"].*|__(all|version)__ = (?!\w+ = ).*", re.DOTALL)
    if file.name != "__init__.py" or not all(said.fullmatch(ast.unparse(x)) for x in tree.body):
        hashes[name.as_posix()] = sha256_of(json.dumps(_plain(tree)).encode())
    for read in declared_reads(tree):
        try:
            hashes[(name.parent / read).as_posix()] = sha256_of((file.parent / read).read_bytes())
        except OSError as error:
            raise FedreproError(f"{file}: it declares that it reads {read}: {error}") from None
    return hashes, tuple(_imports(tree, module, file.name == "__init__.py"))


def declared_reads(tree: ast.Module) -> list[str]:
    """The files that a module says it reads: its own `reads = [...]`."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if ast.unparse(target) == "reads":
                return [str(one) for one in ast.literal_eval(node.value)]
    return []


_module_of = cache(registry.module_of)  # listing folders for every run takes seconds
_module_of_data = cache(data_names.module_of)

KIND_OF_STAGE = {
    "pretraining": "objective", "federated": "federated", "costs": "federated",
    "measurement": "protocol",
}  # fmt: skip
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
            base = module.split(".")[: is_package - node.level or None] if node.level else []
            origin = ".".join([*base, *filter(None, [node.module])])
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below `node` but for what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in _TYPES:
            child = ast.Module(child.orelse, [])
        yield child
        yield from _executed(child)


_ANYWHERE = (
    r"__(all|doc|import)__|ConfigParser|environ|eval|exec|exec_module|getdoc|getenv|import_module"
    r"|perf_counter|resolve_name|run_path|subprocess\.\w+|sys\.modules|time_ns|urandom"
)
_OF_FILES = (
    r"open|read_(bytes|text|csv|json|table|parquet|excel|pickle|hdf|image)|(load|genfrom)txt|imread"
    r"|loadmat|from_?file|memmap|urlopen|load_(file|npz|dataset)|h5py\.File"
    r"|(json|np|numpy|pickle|toml|tomllib|torch|hub|joblib|dill|yaml)\.(safe_)?loads?"
)


def unfollowed(runs: Iterable[RunConfig]) -> list[str]:
    """Sentences on places where own modules of other projects, named by runs, look outside them."""
    names = {name for run in runs for name in source_of(run) if name.endswith(".py")}
    own = sorted(name for name in names if not name.startswith(("benchmark/", "methods/")))
    return [
        f"{name}:{line}: what {what} finds is no part of the fingerprint: after a change of it "
        "stored trials still count (declare files by reads = [...])"
        for name in own
        for line, what in dict(_unfollowed_in(name)).items()  # one a line
    ]


def _unfollowed_in(name: str) -> Iterator[tuple[int, str]]:
    package, _, inner = name.removesuffix(".py").partition("/")
    file = (package_place(package) / inner).with_suffix(".py")
    tree = ast.parse(file.read_bytes())
    module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for imported in {*_imports(tree, module, file.name == "__init__.py")} & sys.modules.keys():
        beside = _beside(imported.partition(".")[0])
        of = getattr(sys.modules[imported], "__file__", None)
        if beside and of and _file(imported, beside) is None:
            yield 1, f"importing {imported} from {Path(of).name}"
    declared = {(file.parent / one).resolve() for one in declared_reads(tree)}
    looks = re.compile(rf"(.*\.)?({_ANYWHERE if declared else f'{_ANYWHERE}|{_OF_FILES}'})")
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{one.name}" for one in node.names)
            yield from ((node.lineno, one) for one in names if looks.fullmatch(one))
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            if looks.fullmatch(used := ast.unparse(node)):
                yield node.lineno, used
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            places = (file.parent / node.value, Path(node.value))
            there = {one.resolve() for one in places if os.path.isfile(one)}  # noqa: PTH113
            if there and there.isdisjoint(declared):
                yield node.lineno, f"reading {node.value!r}"
