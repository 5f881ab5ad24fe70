"""Reports on disk: every format is made aside, and all of them take their places at once.

Of many papers each has a whole report of its own in `papers/<paper>/`. The files above are joined
from these files, so that no process holds more than one judged paper.
"""

from __future__ import annotations

import dataclasses
import errno
import fcntl
import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..benchmark.errors import FedreproError
from ..benchmark.judging.scoreboard import Scoreboard
from ..benchmark.results import Report
from ..benchmark.store.files import write_whole
from ..benchmark.store.folder import open_lock
from ..methods.registry import names_in

PAPERS = "papers"
"""The folder of single reports in a report on many papers."""
_WRITERS = "fedrepro.reports.writers"
_LOCK = ".report.lock"
_MAY_NAME_FILES = frozenset({"reason", "note", "errors", "command", "data"})
"""Fields that hold what was said or given when the report or its trials were made."""
_ABSOLUTE = re.compile(r"(?<![^\s'\"=(,:])/(?:[^\s/'\"]+/)*([^\s/'\"]+)/?")

Failures = list[str]
"""Which files could not be made, and why: a sentence each, which begins with the name."""


def formats() -> dict[str, Any]:
    """The modules of `reports.writers` by name."""
    return {name: importlib.import_module(f"{_WRITERS}.{name}") for name in names_in(_WRITERS)}


def names() -> list[str]:
    """The files of a report."""
    return [writer.FILE for writer in formats().values()]


def write(reports: Sequence[Report], folder: Path) -> Failures:
    """Writes one report in every format to `folder`; which formats failed, and why.

    A format that fails costs no other one; its file of an earlier report is removed.

    Raises `FedreproError` if the disk refuses; the earlier report stays then.
    """
    with replacing(folder, names()) as aside:
        return render(reports, aside)


def write_report(reports: Sequence[Report], folder: Path | str) -> None:
    """Writes judged papers as one report, in every format of docs/reports.md, to `folder`.

    Raises `FedreproError` if the folder cannot be written, or a format cannot be made; the other
    formats are written then.
    """
    failed = write(reports, Path(folder))
    if failed:
        raise FedreproError("; ".join(failed))


def render(reports: Sequence[Report], aside: Path) -> Failures:
    """Writes one report in every format to the new folder `aside`; which failed, and why.

    Raises `OSError` if the disk refuses.
    """
    shown = [_without_places(report) for report in reports]
    return _write_each(aside, lambda writer: [writer.render(shown)])


def render_overview(boards: Mapping[str, Scoreboard], aside: Path) -> Failures:
    """Writes the report on many papers to `aside`, where their own reports lie; which failed.

    boards: by paper, in order.

    Raises `OSError` if the disk refuses.
    """

    def joined(writer: Any) -> Iterable[str]:
        files = (aside / PAPERS / paper / writer.FILE for paper in boards)
        made: Iterable[str] = writer.join(list(boards.values()), map(_text, files))
        return made

    return _write_each(aside, joined)


@contextmanager
def replacing(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """A new folder to write to; when the block ends, its files replace those in `folder`.

    names: the files that belong together. One that was not written is removed from `folder`.

    Two processes that write to one folder take turns, each with all of its files. Nothing is
    replaced if the block raises.

    Raises `FedreproError` for an `OSError`, also one of the block.
    """
    try:
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
    except OSError as error:
        raise FedreproError(
            f"the report cannot be written to {folder}: {error.strerror or error}; "
            "no trial is lost, and --out names another folder"
        ) from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Waits for another process, which holds the lock while it renames a few files."""
    lock = open_lock(folder / _LOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _write_each(aside: Path, texts: Callable[[Any], Iterable[str]]) -> Failures:
    failed = []
    for writer in formats().values():
        try:
            # A lone half of a character, from a name that is not UTF-8, has no bytes.
            content = (text.encode("utf-8", "replace") for text in texts(writer))
            write_whole(aside / writer.FILE, content)
        except OSError:
            raise
        except Exception as error:  # whatever goes wrong in one format ends no other
            reason = " ".join(str(error).split())
            why = f"{type(error).__name__}: {reason}"
            failed.append(f"{writer.FILE} could not be made: {why}")
    return failed


def _text(file: Path) -> str:
    if not file.is_file():
        raise ValueError(f"{file.parent.name} has none")
    return file.read_bytes().decode()


def _without_places(value: Any, may_name: bool = False) -> Any:
    """A report with paths relative to the working folder; of others, the last name is left."""
    if isinstance(value, str):
        return _relative(value) if may_name and "/" in value else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _without_places(getattr(value, field.name), field.name in _MAY_NAME_FILES)
            for field in dataclasses.fields(value)
            if field.name not in ("panels", "config", "source")
        }
        return dataclasses.replace(value, **fields)
    if isinstance(value, tuple | list):
        return type(value)(_without_places(one, may_name) for one in value)
    if isinstance(value, Mapping):
        return {name: _without_places(one, may_name) for name, one in value.items()}
    return value


def _relative(text: str) -> str:
    """A sentence or a command with the paths in it cut short.

    The working and the home folder are looked for first: their names may hold spaces.
    """
    for folder, short in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder != Path(folder.anchor):
            text = text.replace(f"{folder}/", short)
    return _ABSOLUTE.sub(r"\1", text)
