"""A report on many papers, made of parts: what each format says of one paper.

Parts are written paper by paper, in any process, and joined in order, so that no more than one
judged paper need be held at a time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmark.files import write_whole
from benchmark.results import Report
from benchmark.scoreboard import Scoreboard
from methods.registry import names_in

Parts = Callable[[str], Iterable[str]]
"""By the name of a part, that part of every paper in order."""

_WRITERS = "reports.writers"


def parts_of(reports: Sequence[Report], part: Callable[[Report, str], str]) -> Parts:
    """The parts of reports in memory, each made when it is asked for."""
    return lambda name: (part(report, name) for report in reports)


def formats() -> dict[str, Any]:
    """The modules of `reports.writers` by name."""
    return {name: importlib.import_module(f"{_WRITERS}.{name}") for name in names_in(_WRITERS)}


def write_parts(report: Report, place: Path) -> None:
    """Writes what every format says of a paper into the new folder `place`.

    Raises `OSError` if the disk refuses.
    """
    place.mkdir()
    for format, writer in formats().items():
        for name in writer.PARTS:
            # Unfinished as long as the report is: only the joined files are synced.
            (place / f"{format}-{name}").write_text(
                writer.part(report, name), encoding="utf-8", newline=""
            )


def join(places: Sequence[Path], boards: Sequence[Scoreboard], folder: Path) -> None:
    """The report in every format, in `folder`, from the parts in `places`, which are used up.

    boards: of the papers, in the order of `places`.

    Raises `OSError` if the disk refuses.
    """
    for format, writer in formats().items():
        parts = _Stored(places, format)
        write_whole(folder / writer.FILE, (text.encode() for text in writer.whole(parts, boards)))
        for name, page in getattr(writer, "PAGES", {}).items():
            for place, board in zip(places, boards, strict=True):
                own = folder / page.format(paper=board.paper)
                own.parent.mkdir(exist_ok=True)
                (place / f"{format}-{name}").replace(own)


class _Stored:
    """Parts in files."""

    def __init__(self, places: Sequence[Path], format: str) -> None:
        self.places, self.format = places, format

    def __call__(self, name: str) -> Iterator[str]:
        for place in self.places:
            with (place / f"{self.format}-{name}").open(encoding="utf-8", newline="") as file:
                yield file.read()
