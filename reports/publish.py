"""Reports on disk: every format is made aside, and all of them take their places at once.

Of many papers each has a whole report of its own in `papers/<paper>/`. The files above them join
these reports or lead to them, and are made from their files, so that no process holds more than
one judged paper.
"""

from __future__ import annotations

import errno
import fcntl
import importlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.results import Report
from fedrepro.benchmark.store.files import write_whole
from fedrepro.methods.registry import names_in
from fedrepro.reports.places import without_places

PAPERS = "papers"
"""The folder of single reports in a report on many papers."""
_WRITERS = "fedrepro.reports.writers"
_LOCK = ".report.lock"

Failures = dict[str, str]
"""Why a file could not be made, by its name."""


def formats() -> dict[str, Any]:
    """The modules of `reports.writers` by name."""
    return {name: importlib.import_module(f"{_WRITERS}.{name}") for name in names_in(_WRITERS)}


def names() -> list[str]:
    """The files of a report."""
    return [writer.FILE for writer in formats().values()]


def write(reports: Sequence[Report], folder: Path) -> Failures:
    """Writes one report in every format to `folder`; which formats failed, and why.

    A format that fails costs no other one; the file of an earlier report is removed, since the
    others do not belong to it.

    Raises `OSError` if the disk refuses; the earlier report stays then.
    """
    with replacing(folder, names()) as aside:
        return render(reports, aside)


def render(reports: Sequence[Report], aside: Path) -> Failures:
    """Writes one report in every format to the new folder `aside`; which failed, and why.

    Raises `OSError` if the disk refuses.
    """
    shown = [without_places(report) for report in reports]
    made = {writer.FILE: _lazily(writer.render, shown) for writer in formats().values()}
    return _write_each(made, aside)


def render_overview(boards: Mapping[str, Scoreboard], aside: Path) -> Failures:
    """Writes the report on many papers to `aside`, where their own reports lie; which failed.

    boards: by paper, in order.

    Raises `OSError` if the disk refuses.
    """
    made = {}
    for writer in formats().values():
        files = [aside / PAPERS / paper / writer.FILE for paper in boards]
        made[writer.FILE] = _lazily(writer.join, list(boards.values()), _texts(files))
    return _write_each(made, aside)


@contextmanager
def replacing(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """A new folder to write to; when the block ends, its files replace those in `folder`.

    names: the files that belong together. One that was not written is removed from `folder`, where
    it would stand among files that it does not belong to.

    Two processes that write to one folder take turns, each with all of its files. Nothing is
    replaced if the block raises.

    Raises `OSError` if the disk refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix=".unfinished-") as name:
        aside = Path(name)
        yield aside
        made = {file.name for file in aside.iterdir()}
        files = sorted(file for file in aside.rglob("*") if file.is_file())
        with _alone(folder):
            for file in files:
                place = folder / file.relative_to(aside)
                if place.is_dir():  # no file replaces a folder; said before any is replaced
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
            for file in files:
                place = folder / file.relative_to(aside)
                place.parent.mkdir(parents=True, exist_ok=True)
                file.replace(place)
            for left in set(names) - made:
                (folder / left).unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits for another process, which holds the lock while it renames a few files."""
    # Neither waits for a pipe's other end nor creates a file behind a link.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    lock = os.open(folder / _LOCK, flags, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write_each(made: Mapping[str, Callable[[], Iterable[str]]], aside: Path) -> Failures:
    failed = {}
    for name, texts in made.items():
        try:
            # A lone half of a character, from a name that is not UTF-8, has no bytes.
            write_whole(aside / name, (text.encode("utf-8", "replace") for text in texts()))
        except OSError:
            raise
        except Exception as error:  # whatever goes wrong in one format is told, and ends no other
            reason = " ".join(str(error).split())
            failed[name] = f"{type(error).__name__}: {reason}"
    return failed


def _lazily(make: Callable[..., Any], *given: object) -> Callable[[], Iterable[str]]:
    def texts() -> Iterable[str]:
        made = make(*given)
        return [made] if isinstance(made, str) else made

    return texts


def _texts(files: Sequence[Path]) -> Iterator[str]:
    """One after the other, so that one is held at a time."""
    for file in files:
        if not file.is_file():
            raise ValueError(f"{file.parent.name} has none")
        yield file.read_bytes().decode()
