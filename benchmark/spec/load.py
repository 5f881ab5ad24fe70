"""Reads the specs of papers: finds the files, validates all of them, expands them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple

from ..errors import SpecError
from . import names, rules, toml_file
from .expand import expand
from .folders import PAPER_FILE, Folders, as_folders, paper_folders
from .model import Paper, Table
from .problems import FileProblems, InvalidSpecError, Model, Problem, name_of, suggestion, validate


def paper_ids(root: Folders = None) -> tuple[str, ...]:
    """The papers that have specs, sorted."""
    return tuple(paper_folders(root))


def load_paper(id: str, root: Folders = None) -> Paper:
    """The paper whose specs are in the folder `id`, its tables in the paper's order.

    `root`: the folders of specs, of which the first with that paper counts; None for those bundled.
    Raises `InvalidSpecError`, a `SpecError` with one line for each mistake in its files, and
    `SpecError` if there is no such paper."""
    paper, files = _files(id, root)
    both: tuple[_File[Any], ...] = (paper, *files)
    own = names.import_named([one.data for one in both])
    rules.check_paper(paper.data, id, own, paper.report)
    for table in files:
        rules.check_table(table.data, paper.data, own, table.report)
    models = [(one.report, one.model) for one in both if one.model is not None]
    if len(models) == len(both):
        rules.check_across(models)
    return expand(_sound(paper, files))


def outline(id: str, root: Folders = None) -> Paper:
    """The paper as its files are written, without cells. Raises as `load_paper`, but for the shape
    of the files and the paper's name alone."""
    paper, tables = _files(id, root)
    rules.check_id(paper.data, id, paper.report)
    return _sound(paper, tables)


def load_papers(
    root: Folders = None,
    *,
    ids: Sequence[str] = (),
    read: Callable[[str, Folders], Paper] = load_paper,
) -> tuple[Paper, ...]:
    """The papers called `ids`, each once, or all. `root`: as for `load_paper`, which `read` is, or
    `outline`. Raises `InvalidSpecError`, with one line for all that is wrong in any file."""
    found, problems = list[Paper](), list[Problem]()
    for id in dict.fromkeys(ids or paper_ids(root)):
        try:
            found.append(read(id, root))
        except InvalidSpecError as wrong:
            problems += wrong.problems
    if problems:
        raise InvalidSpecError(problems)
    return tuple(found)


class _File(NamedTuple, Generic[Model]):
    """A file as it was read: empty data for what is no TOML, None for what has not its shape."""

    report: FileProblems
    data: dict[str, Any]
    model: Model | None


def _read(file: Path, cls: type[Model]) -> _File[Model]:
    report, data = toml_file.read(file)
    return _File(report, data or {}, None if data is None else validate(cls, data, report))


def _sound(paper: _File[Paper], tables: Sequence[_File[Table]]) -> Paper:
    """The paper with its tables in the paper's order; `InvalidSpecError` if anything is wrong."""
    reports = [paper.report, *(one.report for one in tables)]
    problems = [problem for report in reports for problem in report.problems]
    if problems or paper.model is None:
        raise InvalidSpecError(problems)
    found = [replace(one.model, file=one.report.file) for one in tables if one.model is not None]
    in_order = sorted(found, key=lambda table: _print_order(table.id))
    return replace(paper.model, tables=tuple(in_order), file=paper.report.file)


def _files(id: str, root: Folders) -> tuple[_File[Paper], list[_File[Table]]]:
    known = paper_folders(root)
    if id not in known:
        places = ", ".join(map(str, as_folders(root)))
        raise SpecError(f"no paper '{id}' in {places}{suggestion(id, known)}")
    files = sorted(file for file in known[id].glob("*.toml") if file.name != PAPER_FILE)
    for file in sorted({*known[id].rglob("[!.]*")}.difference(files)):
        is_spec = ".toml" in file.name.lower() and not file.name.endswith("~")
        if is_spec and file.name != PAPER_FILE:
            said = f"is not read: tables are NAME.toml next to {PAPER_FILE}"
            raise SpecError(f"{name_of(file)} {said}")
    return _read(known[id] / PAPER_FILE, Paper), [_read(file, Table) for file in files]


def _print_order(id: str) -> tuple[bool, int, str]:
    """Tables by number (the appendix goes on counting), then figures."""
    numbers = re.findall(r"\d+", id)
    return id.startswith("figure"), int(numbers[-1]) if numbers else 0, id
