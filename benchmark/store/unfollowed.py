"""What a method of another project may depend on although its fingerprint does not follow it."""

import ast
from collections.abc import Iterable, Iterator

from ..config import RunConfig
from .fingerprint import declared_reads, package_place, source_of

_ANYWHERE = {
    "__import__", "environ", "eval", "exec", "getenv", "import_module", "perf_counter", "time_ns",
    "urandom",
}  # fmt: skip
_OF_FILES = {"open", "read_bytes", "read_csv", "read_text", "loadtxt", "fromfile"}
_LOADERS = {"json", "np", "numpy", "pickle", "toml", "tomllib", "torch", "yaml"}


def unfollowed(runs: Iterable[RunConfig]) -> list[str]:
    """Sentences on places where own modules of other projects, named by runs, look outside them."""
    names = {name for run in runs for name in source_of(run)}
    own = sorted(name for name in names if not name.startswith(("benchmark/", "methods/")))
    return [told for name in own if name.endswith(".py") for told in _of(name)]


def _of(name: str) -> Iterator[str]:
    package, _, inner = name.removesuffix(".py").partition("/")
    tree = ast.parse((package_place(package) / inner).with_suffix(".py").read_bytes())
    declares = bool(declared_reads(tree))
    names = _ANYWHERE if declares else _ANYWHERE | _OF_FILES
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.name in names:
                    yield _told(name, node.lineno, alias.name)
        used = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        is_loader = (
            isinstance(node, ast.Attribute)
            and node.attr in ("load", "loads")
            and ast.unparse(node.value) in _LOADERS
            and not declares
        )
        if isinstance(node, ast.Name | ast.Attribute) and (used in names or is_loader):
            yield _told(name, node.lineno, ast.unparse(node))


def _told(name: str, line: int, what: str) -> str:
    return (
        f"{name}:{line}: what {what} finds is no part of the fingerprint: after a change of it "
        "stored trials still count (declare files by reads = [...])"
    )
