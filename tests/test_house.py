"""The rules of the house that a reader should be able to rely on."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ALLOWED = {
    "methods": {"methods"},
    "benchmark": {"methods", "benchmark"},
    "reports": {"methods", "benchmark", "reports"},
}
FILES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """Top-level packages that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    assert imported(path) & set(ALLOWED) <= ALLOWED[package]


def test_no_file_outgrows_its_idea() -> None:
    long = {str(path): n for path in FILES if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_tables_hold_data_only() -> None:
    assert list((ROOT / "tables").rglob("*.py")) == []
