"""Reports on disk: every format is made aside, and then all of them take their places."""

import dataclasses
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..benchmark.errors import FedreproError
from ..benchmark.results import Report
from ..methods.registry import names_in

_WRITERS = "fedrepro.reports.writers"
_MAY_NAME_FILES = frozenset({"reason", "note", "errors", "command", "data"})
"""Fields that hold what was said or given when the report or its trials were made."""
_ABSOLUTE = re.compile(r"(?<![^\s'\"=(,:])/(?:[^\s/'\"]+/)*([^\s/'\"]+)/?")


def formats() -> dict[str, Any]:
    """The modules of `reports.writers` by name."""
    return {name: importlib.import_module(f"{_WRITERS}.{name}") for name in names_in(_WRITERS)}


def names() -> list[str]:
    """The files of a report."""
    return [writer.FILE for writer in formats().values()]


def write(reports: Sequence[Report], folder: Path) -> list[str]:
    """Writes one report in every format to `folder`; a sentence for each format that failed. Of a
    format that fails, the file of an earlier report is removed. Raises `FedreproError` if the disk
    refuses; the earlier report stays then."""
    shown, failed = [_without_places(report) for report in reports], []
    with replacing(folder, names()) as aside:
        for writer in formats().values():
            try:
                text = writer.render(shown)
            except Exception as error:  # whatever goes wrong in one format ends no other
                why = f"{type(error).__name__}: {' '.join(str(error).split())}"
                failed.append(f"{writer.FILE} could not be made: {why}")
            else:
                write_text(aside / writer.FILE, text)
    return failed


def write_report(reports: Sequence[Report], folder: Path | str) -> None:
    """Writes judged papers as one report, in every format of docs/reports.md, to `folder`. Raises
    `FedreproError` if that fails; of formats, the others are written then."""
    failed = write(reports, Path(folder))
    if failed:
        raise FedreproError("; ".join(failed))


def write_text(file: Path, text: str) -> None:
    """Writes text as UTF-8; a lone half of a character, which has no bytes, becomes `?`."""
    file.write_bytes(text.encode("utf-8", "replace"))


@contextmanager
def replacing(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    """A new folder to write to; when the block ends, its files replace those in `folder`. `names`:
    the files that belong together; one that was not written is removed. Nothing is replaced if the
    block raises. Raises `FedreproError` for an `OSError`, also one of the block."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".unfinished-") as made:
            aside = Path(made)
            yield aside
            for name in names:
                if (aside / name).exists():
                    (aside / name).replace(folder / name)
                else:
                    (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise FedreproError(
            f"the report cannot be written to {folder}: {error.strerror or error}; "
            "no trial is lost, and --out names another folder"
        ) from None


def _without_places(value: Any, may_name: bool = False) -> Any:
    """A report with paths relative to the working folder; of others, the last name is left."""
    if isinstance(value, str):
        return _relative(value) if may_name and "/" in value else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _without_places(getattr(value, field.name), field.name in _MAY_NAME_FILES)
            for field in dataclasses.fields(value)
            if field.init
            if field.name not in ("panels", "config", "source")
        }
        return dataclasses.replace(value, **fields)
    if isinstance(value, tuple | list):
        return type(value)(_without_places(one, may_name) for one in value)
    if isinstance(value, Mapping):
        return {name: _without_places(one, may_name) for name, one in value.items()}
    return value


def _relative(text: str) -> str:
    """Paths in a text cut short, the working and home folder first: their names may hold spaces."""
    for folder, short in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder != Path(folder.anchor):
            text = text.replace(f"{folder}/", short)
    return _ABSOLUTE.sub(r"\1", text)
