"""Reads the specs of papers: finds the files, validates all of them, expands them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import rules, toml_file
from fedrepro.benchmark.spec.expand import expand_paper, expand_table
from fedrepro.benchmark.spec.folders import PAPER_FILE, Folders, as_folders, paper_folders
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.spec.problems import (
    InvalidSpecError,
    Problem,
    suggestion,
    validate,
)
from fedrepro.benchmark.spec.schema import RawPaper, RawTable


def paper_ids(root: Folders = None) -> tuple[str, ...]:
    """The papers that have specs, sorted."""
    return tuple(paper_folders(root))


def load_papers(root: Folders = None, *, ids: Sequence[str] = ()) -> tuple[Paper, ...]:
    """The papers called `ids`, or all; `root` as for `load_paper`.

    Raises `InvalidSpecError`, a `SpecError` with one line for everything that is wrong in any file.
    """
    papers: list[Paper] = []
    problems: list[Problem] = []
    for id in ids or paper_ids(root):
        try:
            papers.append(load_paper(id, root))
        except InvalidSpecError as found:
            problems += found.problems
    if problems:
        raise InvalidSpecError(problems)
    return tuple(papers)


def load_paper(id: str, root: Folders = None) -> Paper:
    """The paper whose specs are in the folder `id`, its tables in print order.

    root: the folders of specs that are searched, the first with that paper counts; None for those
    that come along.

    Raises `InvalidSpecError`, a `SpecError` with one line for each mistake in its files,
    and `SpecError` if there is no such paper.
    """
    known = paper_folders(root)
    if id not in known:
        places = ", ".join(map(str, as_folders(root)))
        raise SpecError(f"no paper '{id}' in {places}{suggestion(id, known)}")
    file = known[id] / PAPER_FILE
    report = toml_file.read(file)
    data = toml_file.parse(report)
    raw = None
    if data is not None:
        raw = validate(RawPaper, data, report)
        rules.check_paper(data, id, report)
    admitted = rules.vocabulary(data or {})
    problems = list(report.problems)
    tables: dict[str, tuple[Path, RawTable]] = {}
    for table_file in sorted(file.parent.glob("*.toml")):
        if table_file.name == PAPER_FILE:
            continue
        table_report = toml_file.read(table_file)
        table_data = toml_file.parse(table_report)
        table = None if table_data is None else validate(RawTable, table_data, table_report)
        if table_data is not None:
            rules.check_table(table_data, data or {}, admitted, table_report)
        if table is not None:
            if table.table in tables:
                other = tables[table.table][0].name
                table_report.add(("table",), f"'{table.table}' is also the table of {other}")
            tables.setdefault(table.table, (table_file, table))
        problems += table_report.problems
    if problems or raw is None:
        raise InvalidSpecError(problems)
    raws = [(file, raw.unstated), *((path, one.unstated) for path, one in tables.values())]
    problems = rules.readings_named_twice(raws) + rules.unknown_lenders(tables.values())
    if problems:
        raise InvalidSpecError(problems)
    in_order = sorted(tables.values(), key=lambda found: _print_order(found[1].table))
    expanded = tuple(expand_table(table, raw, path) for path, table in in_order)
    return expand_paper(raw, expanded, file)


def _print_order(id: str) -> tuple[bool, int, str]:
    """Tables by number (the appendix goes on counting), then figures."""
    numbers = re.findall(r"\d+", id)
    return id.startswith("figure"), int(numbers[-1]) if numbers else 0, id
