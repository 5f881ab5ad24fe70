"""A report on many papers, made of parts: what each format says of one paper.

Parts are written paper by paper, in any process, and joined in order, so that no more than one
judged paper need be held at a time, and those of unchanged papers need not be made again.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store.files import sha256_of, write_whole
from fedrepro.methods.registry import names_in

Parts = Callable[[str], Iterable[str]]
"""By the name of a part, that part of every paper in order."""

_WRITERS = "fedrepro.reports.writers"


def parts_of(reports: Sequence[Report], part: Callable[[Report, str], str]) -> Parts:
    """The parts of reports in memory, each made when it is asked for."""
    return lambda name: (part(report, name) for report in reports)


def formats() -> dict[str, Any]:
    """The modules of `reports.writers` by name."""
    return {name: importlib.import_module(f"{_WRITERS}.{name}") for name in names_in(_WRITERS)}


def write_parts(report: Report, place: Path) -> dict[str, str]:
    """Writes what every format says of a paper into the folder `place`; SHA-256 by file.

    Raises `OSError` if the disk refuses.
    """
    place.mkdir(exist_ok=True)
    written = {}
    for format, writer in formats().items():
        for name in writer.PARTS:
            content = writer.part(report, name).encode()
            # Not synced as the joined files are: a part that a crash spoils is made again.
            (place / f"{format}-{name}").write_bytes(content)
            written[f"{format}-{name}"] = sha256_of(content)
    return written


def join(places: Sequence[Path], boards: Sequence[Scoreboard], folder: Path) -> None:
    """The report in every format, in `folder`, from the parts in `places`, which stay.

    boards: of the papers, in the order of `places`.

    Raises `OSError` if the disk refuses.
    """
    for format, writer in formats().items():
        parts = _Stored(places, format)
        write_whole(folder / writer.FILE, (text.encode() for text in writer.whole(parts, boards)))
        for name, page in getattr(writer, "PAGES", {}).items():
            for place, board in zip(places, boards, strict=True):
                _show(place / f"{format}-{name}", folder / page.format(paper=board.paper))


def _show(part: Path, page: Path) -> None:
    """Makes a part a page: one file under two names, or a copy where the disk has no such thing."""
    page.parent.mkdir(exist_ok=True)
    unfinished = page.with_name(f".{page.name}.part")
    unfinished.unlink(missing_ok=True)
    try:
        unfinished.hardlink_to(part)
    except OSError:
        shutil.copyfile(part, unfinished)
    unfinished.replace(page)
    # A name that leads to the very same file is not moved.
    unfinished.unlink(missing_ok=True)


class _Stored:
    """Parts in files."""

    def __init__(self, places: Sequence[Path], format: str) -> None:
        self.places, self.format = places, format

    def __call__(self, name: str) -> Iterator[str]:
        for place in self.places:
            with (place / f"{self.format}-{name}").open(encoding="utf-8", newline="") as file:
                yield file.read()
