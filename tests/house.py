"""The house as its imports make it: rooms, arrows and floors, counted and drawn.

    python -m tests.house [ROOT]                          counts, of this checkout or another
    python -m tests.house --svg docs/architecture.svg     the picture

A room is a module or a folder right inside `benchmark`, `methods` or `reports`. An arrow goes from
a room to another one that a file of it imports, anywhere in the file; many imports are one arrow.
The ground floor imports no other room, every further floor only rooms below it. Rooms that import
each other in a circle share a floor, and are named.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

PACKAGES = ("methods", "benchmark", "reports")
"""From the ground up."""
Arrows = Mapping[str, set[str]]

WIDTH, BOX, ROW, LEFT, GAP = 1180, 24, 54, 100, 10


def imported(path: Path) -> Iterator[str]:
    """The names that a file imports, anywhere in it, with dots and without `fedrepro.`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.removeprefix("fedrepro.") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            source = f"{node.module}.".removeprefix("fedrepro.")
            yield from (source + alias.name for alias in node.names)


def files_of(root: Path) -> dict[str, list[Path]]:
    """The files of each room, `package.room`."""
    rooms: dict[str, list[Path]] = {}
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            room = path.relative_to(root / package).with_suffix("").parts[0]
            if room != "__init__":
                rooms.setdefault(f"{package}.{room}", []).append(path)
    return rooms


def arrows_of(root: Path) -> Arrows:
    """The rooms that each room imports."""
    rooms = files_of(root)
    arrows: dict[str, set[str]] = {}
    for room, files in rooms.items():
        names = (".".join(name.split(".")[:2]) for path in files for name in imported(path))
        arrows[room] = {name for name in names if name in rooms and name != room}
    return arrows


def reachable(arrows: Arrows) -> dict[str, set[str]]:
    """The rooms that each room imports, directly or through others."""
    reach = {room: set(below) for room, below in arrows.items()}
    for through in arrows:
        for below in reach.values():
            if through in below:
                below |= reach[through]
    return reach


def floors_of(arrows: Arrows) -> list[list[str]]:
    """The rooms of each floor, from the ground up."""
    reach = reachable(arrows)
    level: dict[str, int] = {}
    for room in sorted(arrows, key=lambda room: len(reach[room] - {room})):
        lower = [level[other] + 1 for other in reach[room] if room not in reach[other]]
        level[room] = max(lower, default=0)
    return [
        sorted(room for room in arrows if level[room] == n) for n in range(max(level.values()) + 1)
    ]


def drawn(arrows: Arrows) -> str:
    """The picture, as SVG: one package above the other, a row a floor.

    An arrow that a longer way implies is left out; a room's title names all that it imports.
    """
    rows = [
        [room for room in floor if room.startswith(f"{package}.")]
        for package in reversed(PACKAGES)
        for floor in reversed(floors_of(inside(arrows, package)))
    ]
    place: dict[str, tuple[float, float, float]] = {}
    for n, row in enumerate(rows):
        share = (WIDTH - LEFT - GAP) / len(row)
        for k, room in enumerate(row):
            width = min(share - GAP, 8.0 * len(room.partition(".")[2]) + 16)
            place[room] = (LEFT + share * (k + 0.5), 20.0 + ROW * n, width)
    height = 20 + ROW * len(rows)
    reach = reachable(arrows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for room in sorted(arrows):
        x, y, _ = place[room]
        for other in sorted(arrows[room]):
            if any(other in reach[via] for via in arrows[room] - {other}):
                continue
            to_x, to_y, _ = place[other]
            parts.append(
                f'<path d="M{x:.0f} {y + BOX:.0f} C{x:.0f} {y + ROW:.0f} {to_x:.0f} '
                f'{to_y - ROW + BOX:.0f} {to_x:.0f} {to_y:.0f}" fill="none" stroke="#9aa7b5"/>'
            )
    for room in sorted(arrows):
        x, y, width = place[room]
        package, _, name = room.partition(".")
        below = ", ".join(sorted(arrows[room])) or "no other room"
        parts += [
            f"<g><title>{escape(room)} imports {escape(below)}</title>"
            f'<rect x="{x - width / 2:.0f}" y="{y:.0f}" width="{width:.0f}" height="{BOX}" rx="4" '
            f'fill="{COLOURS[package]}" stroke="#445566"/>',
            f'<text x="{x:.0f}" y="{y + 17:.0f}" text-anchor="middle">{escape(name)}</text></g>',
        ]
    for package in PACKAGES:
        first = min(place[room][1] for room in arrows if room.startswith(f"{package}."))
        parts.append(f'<text x="8" y="{first + 17:.0f}" font-weight="bold">{package}</text>')
    return "\n".join([*parts, "</svg>", ""])


COLOURS = {"methods": "#e4f0e4", "benchmark": "#e3ecf7", "reports": "#f7ecdc"}


def inside(arrows: Arrows, package: str) -> Arrows:
    """The arrows between rooms of one package."""
    rooms = {room for room in arrows if room.startswith(f"{package}.")}
    return {room: arrows[room] & rooms for room in rooms}


def lines_in(files: list[Path]) -> int:
    """How many lines these files have."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)


def counts(root: Path) -> str:
    """Rooms, floors, arrows and lines of each package, and of all, as a Markdown table."""
    files, arrows = files_of(root), arrows_of(root)
    told = ["| | rooms | floors | arrows | source lines |", "|---|---|---|---|---|"]
    for package in (*PACKAGES, ""):
        own = inside(arrows, package) if package else arrows
        lines = lines_in([path for room in own for path in files[room]])
        n_arrows = sum(map(len, own.values()))
        name = f"`{package}`" if package else "all three"
        told.append(f"| {name} | {len(own)} | {len(floors_of(own))} | {n_arrows} | {lines:,} |")
    circles = sorted(room for room, reach in reachable(arrows).items() if room in reach)
    return "\n".join([*told, "", f"in circles: {', '.join(circles) or 'none'}"])


def main() -> None:
    """Prints the counts, or writes the picture."""
    parser = argparse.ArgumentParser(description="Rooms, floors and arrows of the house.")
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--svg", type=Path, help="write the picture to this file")
    given = parser.parse_args()
    print(counts(given.root))
    if given.svg is not None:
        given.svg.write_text(drawn(arrows_of(given.root)), encoding="utf-8")


if __name__ == "__main__":
    main()
