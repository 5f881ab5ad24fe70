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
    rules.check_id(paper.data, id, paper.report)
    raw, raws = _sound(paper, tables)
    return Outline(raw, tuple(table for _, table in raws))


def load_paper(id: str, root: Folders = None) -> Paper:
    """The paper whose specs are in the folder `id`, its tables in print order.

    root: the folders of specs that are searched, the first with that paper counts; None for those
    that come along.

    Raises `InvalidSpecError`, a `SpecError` with one line for each mistake in its files,
    and `SpecError` if there is no such paper.
    """
    paper, files = _files(id, root)
    both: tuple[_File[Any], ...] = (paper, *files)
    for one in both:
        names.import_named(one.data)
    rules.check_paper(paper.data, id, paper.report)
    admitted = rules.vocabulary(paper.data)
    for table in files:
        rules.check_table(table.data, paper.data, admitted, table.report)
    raws = [(one.report, one.raw) for one in both if one.raw is not None]
    if len(raws) == len(both):
        rules.check_across(raws)
    raw, tables = _sound(paper, files)
    expanded = tuple(expand_table(table, raw, file) for file, table in tables)
    return expand_paper(raw, expanded, paper.report.file)


class _File(NamedTuple, Generic[Model]):
    """A file as it was read: empty data for what is no TOML, None for what has not its shape."""

    report: Reporter
    data: dict[str, Any]
    raw: Model | None


def _read(file: Path, model: type[Model]) -> _File[Model]:
    report = toml_file.read(file)
    data = toml_file.parse(report)
    return _File(report, data or {}, None if data is None else validate(model, data, report))


def _sound(
    paper: _File[RawPaper], tables: Sequence[_File[RawTable]]
) -> tuple[RawPaper, list[tuple[Path, RawTable]]]:
    """A paper, and its tables in print order with their files.

    Raises `InvalidSpecError` if anything was said of them.
    """
    reports = [paper.report, *(one.report for one in tables)]
    problems = [problem for report in reports for problem in report.problems]
    if problems or paper.raw is None:
        raise InvalidSpecError(problems)
    raws = [(one.report.file, one.raw) for one in tables if one.raw is not None]
    return paper.raw, sorted(raws, key=lambda one: _print_order(one[1].table))


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
