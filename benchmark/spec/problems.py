"""What is wrong with a spec: one line each, with file, line, key and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import lines


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong in one file; printed as `file:line: message`."""

    file: Path
    line: int | None
    message: str

    def __str__(self) -> str:
        place = shown(self.file) if self.line is None else f"{shown(self.file)}:{self.line}"
        return f"{place}: {self.message}"

    def as_plain(self) -> dict[str, str | int | None]:
        """The problem as JSON holds it."""
        return {"file": shown(self.file), "line": self.line, "message": self.message}


class InvalidSpecError(SpecError):
    """Everything that is wrong with the specs that were read, one problem a line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        by_file: dict[Path, list[Problem]] = {}
        for problem in problems:
            by_file.setdefault(problem.file, []).append(problem)
        self.problems = tuple(p for found in by_file.values() for p in in_order(found))
        super().__init__("\n".join(map(str, self.problems)))


@dataclass
class Reporter:
    """Collects the problems of one file. Paths are keys and positions from 0."""

    file: Path
    text: str
    problems: list[Problem] = field(default_factory=list)

    @cached_property
    def _lines(self) -> dict[lines.Path, int]:
        return dict(lines.find_lines(self.text))

    def add(self, path: lines.Path, message: str) -> None:
        """Notes that `message` holds for the value at `path`; the same line is noted once."""
        name = dotted(path)
        problem = Problem(
            self.file,
            lines.line_of(self._lines, path),
            f"{name}: {message}" if name else message,
        )
        if problem not in self.problems:
            self.problems.append(problem)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of one file by line."""
    return sorted(problems, key=lambda problem: problem.line or 0)


def dotted(path: lines.Path) -> str:
    """A path as messages show it, positions counted from 1: `rows[2].pretraining.epochs`."""
    name = ""
    for key in path:
        name += f"[{key + 1}]" if isinstance(key, int) else f".{key}" if name else key
    return name


def shown(file: Path) -> str:
    """The file relative to the working directory where it lies below it."""
    try:
        return str(file.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(file)


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that `name` most resembles, or None if none comes near."""
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=cutoff)), None)


def suggestion(name: str, known: Sequence[str] | frozenset[str]) -> str:
    """What to say after 'unknown ...': the nearest name, or all of them where they are few."""
    near = nearest(name, known)
    if near is not None:
        return f"; did you mean '{near}'?"
    return f" (known: {', '.join(sorted(known))})" if 0 < len(known) <= 16 else ""
