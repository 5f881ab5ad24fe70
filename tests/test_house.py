"""Imports go one way: face -> reports -> benchmark -> methods, without a circle."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = ("face", "reports", "benchmark", "methods")


def modules() -> dict[str, Path]:
    """The file of each module, by its installed name."""
    found = {}
    for root, name in ((ROOT / "src", "fedrepro"), *((ROOT, layer) for layer in LAYERS[1:])):
        for path in (root / name).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            inner = ".".join(parts).removesuffix(".__init__").removeprefix("fedrepro")
            found[f"fedrepro.{inner.lstrip('.')}".rstrip(".")] = path
    return found


def layer_of(module: str) -> int:
    first = f"{module}.".split(".")[1]
    return LAYERS.index(first) if first in LAYERS else 0


def named(module: str, path: Path) -> Iterator[tuple[str, str]]:
    """What a file imports anywhere, or names in a string, and whether absolute or relative."""
    package = module.split(".")[: None if path.name == "__init__.py" else -1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "absolute") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            kind = "relative" if node.level else "absolute"
            yield from ((f"{source}.{alias.name}", kind) for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("fedrepro."):
            yield str(node.value), "string"


def test_imports_go_one_way_and_are_relative_below_the_face() -> None:
    known = modules()
    graph: dict[str, set[str]] = {module: set() for module in known}
    wrong = []
    for module, path in known.items():
        for name, kind in named(module, path):
            other = name if name in known else name.rpartition(".")[0]
            if other not in known or (kind == "string" and name not in known):
                continue
            if kind != "string":
                graph[module] |= {other} - {module}
            expected = "relative" if layer_of(module) else "absolute"
            if layer_of(other) < layer_of(module) or kind not in (expected, "string"):
                wrong.append(f"{path.relative_to(ROOT)} names {name} ({kind})")
    assert {layer_of(module) for module in known} == {0, 1, 2, 3}
    assert wrong == []
    TopologicalSorter(graph).prepare()  # CycleError names the circle
