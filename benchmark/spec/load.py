"""Reads the specs of papers: finds the files, validates all of them, expands them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import SpecError
from . import names, rules, toml_file
from .expand import expand_paper, expand_table
from .folders import PAPER_FILE, Folders, as_folders, paper_folders
from .model import Paper
from .problems import (
    InvalidSpecError,
    Model,
    Problem,
    Reporter,
    suggestion,
    validate,
)
from .schema import RawPaper, RawTable

Found = TypeVar("Found")


class Outline(NamedTuple):
    """What the files of a paper hold, as they are written: the paper, its tables in print order."""

    paper: RawPaper
    tables: tuple[RawTable, ...]


def paper_ids(root: Folders = None) -> tuple[str, ...]:
    """The papers that have specs, sorted."""
    return tuple(paper_folders(root))


def load_papers(root: Folders = None, *, ids: Sequence[str] = ()) -> tuple[Paper, ...]:
    """The papers called `ids`, or all; `root` as for `load_paper`.

    Raises `InvalidSpecError`, a `SpecError` with one line for everything that is wrong in any file.
    """
    return _all(load_paper, root, ids)


def outlines(root: Folders = None, *, ids: Sequence[str] = ()) -> tuple[Outline, ...]:
    """What the files of the same papers hold, with nothing bound to an experiment.

    Raises `InvalidSpecError` as `load_papers`, but for the shape of the files alone.
    """
    return _all(outline, root, ids)


def _all(
    read: Callable[[str, Folders], Found], root: Folders, ids: Sequence[str]
) -> tuple[Found, ...]:
    found: list[Found] = []
    problems: list[Problem] = []
    for id in ids or paper_ids(root):
        try:
            found.append(read(id, root))
        except InvalidSpecError as wrong:
            problems += wrong.problems
    if problems:
        raise InvalidSpecError(problems)
    return tuple(found)


def outline(id: str, root: Folders = None) -> Outline:
    """The files of one paper, its tables in print order; `root` as for `load_paper`.

    Raises as `load_paper`, but for the shape of the files and the paper's name alone.
    """
    paper, tables = _files(id, root)
    rules.check_id(paper.data or {}, id, paper.report)
    raws = [one.raw for one in tables if one.raw is not None]
    reports = [paper.report, *(one.report for one in tables)]
    problems = [problem for report in reports for problem in report.problems]
    if problems or paper.raw is None:
        raise InvalidSpecError(problems)
    return Outline(paper.raw, tuple(sorted(raws, key=lambda raw: _print_order(raw.table))))


def load_paper(id: str, root: Folders = None) -> Paper:
    """The paper whose specs are in the folder `id`, its tables in print order.

    root: the folders of specs that are searched, the first with that paper counts; None for those
    that come along.

    Raises `InvalidSpecError`, a `SpecError` with one line for each mistake in its files,
    and `SpecError` if there is no such paper.
    """
    paper, files = _files(id, root)
    raw, data = paper.raw, paper.data or {}
    for content in (paper.data, *(one.data for one in files)):
        names.import_named(content or {})
    if paper.data is not None:
        rules.check_paper(data, id, paper.report)
    admitted = rules.vocabulary(data)
    problems = list(paper.report.problems)
    tables: dict[str, tuple[Path, RawTable]] = {}
    for read in files:
        report, table = read.report, read.raw
        if read.data is not None:
            rules.check_table(read.data, data, admitted, report)
        if table is not None:
            if table.table in tables:
                other = tables[table.table][0].name
                report.add(("table",), f"'{table.table}' is also the table of {other}")
            tables.setdefault(table.table, (report.file, table))
        problems += report.problems
    if problems or raw is None:
        raise InvalidSpecError(problems)
    file = paper.report.file
    raws = [(file, raw.unstated), *((path, one.unstated) for path, one in tables.values())]
    problems = rules.readings_named_twice(raws) + rules.unknown_lenders(tables.values())
    if problems:
        raise InvalidSpecError(problems)
    in_order = sorted(tables.values(), key=lambda found: _print_order(found[1].table))
    expanded = tuple(expand_table(table, raw, path) for path, table in in_order)
    return expand_paper(raw, expanded, file)


class _File(NamedTuple, Generic[Model]):
    """A file as it was read: None for what is no TOML, and for what has not its shape."""

    report: Reporter
    data: dict[str, Any] | None
    raw: Model | None


def _read(file: Path, model: type[Model]) -> _File[Model]:
    report = toml_file.read(file)
    data = toml_file.parse(report)
    return _File(report, data, None if data is None else validate(model, data, report))


def _files(id: str, root: Folders) -> tuple[_File[RawPaper], list[_File[RawTable]]]:
    """The file of a paper, and those of its tables by name."""
    known = paper_folders(root)
    if id not in known:
        places = ", ".join(map(str, as_folders(root)))
        raise SpecError(f"no paper '{id}' in {places}{suggestion(id, known)}")
    paper = _read(known[id] / PAPER_FILE, RawPaper)
    files = sorted(file for file in known[id].glob("*.toml") if file.name != PAPER_FILE)
    return paper, [_read(file, RawTable) for file in files]


def _print_order(id: str) -> tuple[bool, int, str]:
    """Tables by number (the appendix goes on counting), then figures."""
    numbers = re.findall(r"\d+", id)
    return id.startswith("figure"), int(numbers[-1]) if numbers else 0, id
