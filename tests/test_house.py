"""The rules of the house that a reader should be able to rely on."""

import ast
from pathlib import Path

import pytest

from tests.house import arrows_of, drawn, reachable

ROOT = Path(__file__).parents[1]
FLOORS = {
    "methods": (
        {"transfer"},
        {"checkpoint_tree", "registry", "seeds", "state", "optim"},
        {"checkpoint", "data", "declared", "nn", "outcome"},
        {"clusters"},
        {"objectives", "encoders"},
        {"training"},
        {"metrics", "privacy"},
        {"federated"},
        {"costs", "protocols"},
    ),
    "benchmark": (
        {
            "compared",
            "config",
            "errors",
            "open_choices",
            "plain",
            "printable",
            "processor",
            "stats",
        },
        {"results", "spec"},
        {"claims", "data", "store"},
        {"analytic", "training"},
        {"planning"},
        {"audit", "execution", "external"},
        {"judging"},
        {"commands"},
        {"cli"},
        {"face"},
    ),
    "reports": (),
}
"""Rooms from the ground up: a room imports from those below it; `reports` has one floor."""
BELOW = {"methods": (), "benchmark": ("methods",), "reports": ("methods", "benchmark")}
FILES = [path for package in FLOORS for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    """The modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def place_of(module: str) -> tuple[str, str] | None:
    """Package and room of a module of the project; None for others."""
    _, _, inner = module.partition("fedrepro.")
    package, _, rest = inner.partition(".")
    return (package, rest.partition(".")[0]) if package in FLOORS else None


def floor_of(package: str, room: str) -> int:
    return next(level for level, rooms in enumerate(FLOORS[package]) if room in rooms)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).with_suffix("").parts
    package, room = own[0], own[1]
    for module in imported(path):
        assert not module.startswith((*FLOORS,)), f"{module} lacks `fedrepro.` in front"
        place = place_of(module)
        if place is None:
            continue
        assert place[0] in (package, *BELOW[package]), module
        within = place[0] == package and FLOORS[package] and room not in ("__init__", place[1])
        if within and place[1] in set().union(*FLOORS[package]):
            assert floor_of(package, place[1]) < floor_of(package, room), module


@pytest.mark.parametrize("package", [name for name, floors in FLOORS.items() if floors])
def test_every_room_has_its_floor(package: str) -> None:
    rooms = {
        path.stem
        for path in (ROOT / package).iterdir()
        if (path.is_dir() and (path / "__init__.py").is_file()) or path.suffix == ".py"
    }
    assert rooms - {"__init__"} == set().union(*FLOORS[package])


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert [room for room, reach in reachable(arrows_of(ROOT)).items() if room in reach] == []


def test_the_picture_of_the_house_is_that_of_its_imports() -> None:
    picture = (ROOT / "docs/architecture.svg").read_text(encoding="utf-8")
    renew = "python -m tests.house --svg docs/architecture.svg"
    assert picture == drawn(arrows_of(ROOT)), f"renew it: {renew}"


def test_no_file_outgrows_its_idea() -> None:
    long = {str(path): n for path in FILES if (n := len(path.read_text().splitlines())) > 400}
    assert long == {}


def test_tables_hold_data_only() -> None:
    assert list((ROOT / "tables").rglob("*.py")) == []
