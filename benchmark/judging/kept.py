"""Parts of a report that are used again while all that they were made from is as it was.

A paper's part rests on the question (paper, profile, ...), its specs, the code, and the files of
the store that judging looked into. Each of them is read and held against its SHA-256, and so are
the parts themselves: nothing is believed by its name, size or date, so that a number that a disk
has changed is found as it is where all is judged anew.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from fedrepro.benchmark.judging.scoreboard import Scoreboard
from fedrepro.benchmark.store.files import FileReader, sha256_of
from fedrepro.benchmark.store.fingerprint import folder_of

_NOTE = "made-from.json"
_PACKAGES = ("benchmark", "methods", "reports")
_NOT_CODE = (".pyc", ".toml")
"""Endings of what lies among the code and is none; specs are held paper by paper."""


@dataclass(frozen=True)
class Made:
    """A paper's part of a report, and what it was made from.

    asked: `question`. seen: SHA-256 by file of the store, None where there was none. parts: SHA-256
    by file. board: None where the paper lacks the profile, and so has no part.
    """

    asked: str
    seen: Mapping[str, str | None]
    parts: Mapping[str, str]
    board: Scoreboard | None


def question(specs: Path, *words: object) -> str:
    """SHA-256 over what is asked and the specs in a folder; `words` hold `code` too.

    Raises `OSError` if a spec cannot be read.
    """
    files = ((file.name, sha256_of(file.read_bytes())) for file in sorted(specs.glob("*.toml")))
    return _digest([*map(repr, words), *map(repr, files)])


def code() -> str:
    """SHA-256 over the files of fedrepro, and the versions of Python and of all that is installed.

    To be asked before the processes begin that answer: should a file be edited meanwhile, their
    answers are by newer code than is noted, and made again, and never the other way round.
    """
    files = (
        f"{name}/{file.relative_to(folder).as_posix()} {sha256_of(file.read_bytes())}"
        for name in _PACKAGES
        for folder in [folder_of(name)]
        for file in folder.rglob("*")
        if file.is_file() and file.suffix not in _NOT_CODE
    )
    installed = {f"{one.name} {one.version}" for one in distributions()}
    return _digest([sys.version, *sorted(files), *sorted(installed)])


def noting(look: FileReader, seen: dict[str, str | None]) -> FileReader:
    """Looks as `look` does, and notes in `seen` what it saw."""

    def noted(name: str) -> bytes | None:
        content = look(name)
        digest = _digest_of(content)
        # What has changed between two looks is never again as it was.
        seen[name] = digest if seen.get(name, digest) == digest else "changed"
        return content

    return noted


def keep(place: Path, made: Made) -> None:
    """Notes beside the parts in the folder `place` what they were made from.

    Raises `OSError` if the disk refuses.
    """
    content = to_json(made)
    place.mkdir(exist_ok=True)
    (place / _NOTE).write_bytes(sha256_of(content).encode() + b"\n" + content)


def kept(place: Path, asked: str, look: FileReader) -> Made | None:
    """What is noted in `place`, if the parts and all that they were made from are as they were.

    Raises what `look` raises.
    """
    try:
        seal, _, content = (place / _NOTE).read_bytes().partition(b"\n")
        if seal != sha256_of(content).encode():
            return None
        made = _MADE.validate_json(content)
        sound = made.asked == asked and all(
            sha256_of((place / part).read_bytes()) == digest for part, digest in made.parts.items()
        )
    except (OSError, ValidationError):
        return None
    if not sound or any(_digest_of(look(name)) != was for name, was in made.seen.items()):
        return None
    return made


def _digest_of(content: bytes | None) -> str | None:
    return None if content is None else sha256_of(content)


_MADE = TypeAdapter(Made)


def _digest(lines: Iterable[str]) -> str:
    return sha256_of("\n".join(lines).encode())
