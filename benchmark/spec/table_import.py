"""A printed table, as LaTeX, Markdown, HTML or CSV, as the draft of a spec.

Rows and columns are read by pandoc (CSV by Python), cells by `table_cells`. What was taken for
what, and what was not understood, is reported by line. What a draft cannot know is left to its
author and said in it: the margin, and the experiment of rows whose label names no method.
"""

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...methods import registry
from ..errors import FedreproError
from . import limits, table_latex
from .csv_text import UNNAMED, csv_rows
from .printed import Printed
from .table_cells import Read, decimal_marks, label_of, read_cell, text_of

_SECONDS = 60
_text = partial(json.dumps, ensure_ascii=False)  # a TOML string is one of JSON's
_tokens = re.compile(r"[^\W_]+").findall
_NO_TABLE = "no table found: a header row and a row with numbers are needed"
_FORMULAS = str(Path(__file__).with_name("formulas.lua"))
_DRAFT = Path(__file__).with_name("draft.txt")
_SPREADS = "\n[sd]  # write `runs = 5` if each spread is of 5 runs; without it, none is judged\n"
HOW_TO_GET = (
    "LaTeX, Markdown and HTML are read by pandoc, which is not installed: "
    "`pip install 'fedrepro[tables]'` brings it, as do the packages of most systems; "
    "CSV needs none"
)
_OTHER = re.compile(
    r"(?i)\b(errors?|loss|(run)?time|seconds|(?<!\d )rounds|param(eter)?s?|size|[MG]i?B|FLOPs)\b"
)
"""Words of headers that name no accuracy."""
_HIDDEN = re.compile(r"(?i)<\w[^<>]*(display\s*:\s*none|visibility\s*:\s*[hc]|(?<!:)\shidden\b)")


@dataclass(frozen=True)
class _Cell:
    """A place of the table; text of what spans several, and how many columns that are."""

    text: str = ""
    wide: int = 1
    repeated: bool = False


@dataclass(frozen=True)
class _Grid:
    """A table as cells, all rows equally long, and the line of the text where each row stands.
    `header`: rows of the header as far as the format says, with the words why."""

    rows: list[list[_Cell]]
    lines: list[int]
    header: int | None
    why: str
    brackets: bool = False


@dataclass(frozen=True)
class ImportedRow:
    """A row of values. `line`: where it stands in the text."""

    label: tuple[str, ...]
    values: tuple[Read, ...]
    line: int

    @property
    def is_words(self) -> bool:
        return any(value.kind in ("words", "odd") for value in self.values)

    @property
    def method(self) -> str | None:
        """The method that the label names, its last parts first."""
        known = {_plain(name): name for name in registry.names("federated")}
        named = (known.get(_plain(part)) for part in reversed(self.label))
        return next(filter(None, named), None)


@dataclass(frozen=True)
class Parsed:
    """A table as text: labels of columns and rows (parts from outer to inner), and values. `told`:
    what was taken for what, a line each."""

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[ImportedRow, ...]
    told: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Percent, if a cell or a column says so, or a number is above 1."""
        values = [value for row in self.rows for value in row.values]
        above = (abs(float(Printed.parse(value.text).value or 0)) > 1 for value in values)
        said = any(re.search(r"(^|[^\d\s])\s*%(?!\s*\w)", " ".join(one)) for one in self.columns)
        return "%" if said or any(value.percent for value in values) or any(above) else ""

    def count(self, kind: str) -> int:
        odd = sum("\\" in part for row in self.rows for part in row.label) if kind == "odd" else 0
        return odd + sum(value.kind == kind for row in self.rows for value in row.values)

    def report(self) -> Iterator[str]:
        """What the import did, line by line, and in the last one how many cells it understood."""
        yield from self.told
        taken = {"words": "is taken as words", "odd": "is not understood"}
        for row in self.rows:
            for part in row.label:
                if "\\" in part:
                    yield f"line {row.line}: label '{part}' is not understood"
            for column, value in zip(self.columns, row.values, strict=True):
                if value.kind in taken:
                    place = f"{'|'.join(row.label)} @ {'|'.join(column)}"
                    yield f"line {row.line}: {place}: '{value.text}' {taken[value.kind]}"
        read, words, odd = map(self.count, ("number", "words", "odd"))
        yield f"{read + self.count('dash')} cells read, {words} as words, {odd} not understood"

    def lacks(self, metric: str) -> Iterator[str]:
        """What keeps cells of the draft from a run and from results, and what to write."""
        odd = (one.text for row in self.rows for one in row.values if one.kind == "odd")
        if found := dict.fromkeys(re.findall(r"\\[A-Za-z]+", " ".join(odd))):
            how = "put its \\newcommand above the table, delete this draft and make it again"
            yield f"not known: {', '.join(found)}; if it is the author's own, {how}"
        other = ("|".join(column) for column in self.columns if _OTHER.search(" ".join(column)))
        named = ", ".join(f"'{one}'" for one in other)
        own = f"one of another metric needs its own `metric` and `unit`{named and f': see {named}'}"
        yield f"all columns are taken as {metric}, in one unit ({self.unit or 'fractions'}); {own}"
        if len(self.columns) > 1:
            said = "columns are one experiment until each has its own setting, such as a line"
            yield f'{said} `clients.data = "cifar10"`'
        if skipped := [row for row in self.rows if row.method is None and not row.is_words]:
            names = ", ".join("|".join(row.label) for row in skipped)
            how = "`fedrepro methods` lists them; to judge results, any name will do"
            yield f"no method is named by {names}: write one in place of skip ({how})"


def parse(text: str) -> Parsed:
    """A table as LaTeX, Markdown, HTML or CSV. Raises `FedreproError` if there is no header or no
    row with numbers, for what exceeds `spec.limits`, and where pandoc is needed and missing."""
    if len(text) > limits.FILE_BYTES:
        raise FedreproError(f"the text is longer than {limits.FILE_BYTES:,} characters")
    if table_latex.BEGIN.search(text):
        grid = _latex(text)
    elif hidden := _HIDDEN.search(text):
        said = "something here is hidden from readers (by its style, or `hidden`); leave it out"
        raise FedreproError(f"line {text.count(chr(10), 0, hidden.start()) + 1}: {said}")
    elif re.search(r"<table\b[^>]*>.*</table>", text, re.IGNORECASE | re.DOTALL):
        grid = _by_pandoc(text, "html", text)
    elif re.search(r"^\s*(?:\|?\s*:?-{2,}:?\s*(?:\||\s|$)|\+[-=:]+\+)", text, re.MULTILINE):
        grid = _by_pandoc(f"{table_latex.MEANINGS}\n{text}", "markdown", text)
    else:
        grid = _csv(text)
    return _labelled(grid)


def _latex(text: str) -> _Grid:
    made, size, header, brackets = table_latex.plain(text)
    grid = _by_pandoc(made, "latex+raw_tex", text)
    if (read := (len(grid.rows), len(grid.rows[0]) if grid.rows else 0)) != size:
        said = f"pandoc reads {read[0]} rows of {read[1]} columns, the file has {size[0]} of "
        raise FedreproError(f"{said}{size[1]}; write out the author's own commands in it")
    return _Grid(grid.rows, grid.lines, header, "above the first rule" if header else "", brackets)


def _by_pandoc(text: str, form: str, source: str) -> _Grid:
    command = [_pandoc(), "--from", form, "--to", "json", "--sandbox", "--lua-filter", _FORMULAS]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise FedreproError(f"pandoc took more than {_SECONDS} s on it") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        raise FedreproError(f"pandoc cannot read it: {said[: limits.TEXT]}")
    tables = list(_tables(json.loads(done.stdout)["blocks"]))
    if len(tables) != 1:
        said = "no table found" if not tables else "the file holds more than one table"
        raise FedreproError(f"{said}: one is read, a header row and rows with numbers")
    _, _, columns, head, bodies, foot = tables[0]
    parts = [row for body in bodies for part in (body[2], body[3]) for row in part]
    rows = _spread([*head[1], *parts, *foot[1]], len(columns))
    lines, at = [], 0
    places = [set(_tokens(line)) for line in source.splitlines()] or [set()]
    for row in rows:
        tokens = {token for cell in row if not cell.repeated for token in _tokens(cell.text)}
        window = range(at, min(len(places), at + 60))
        at = max(window, key=lambda i: (len(tokens & places[i]), -i), default=at)
        lines.append(at + 1)
    return _Grid(rows, lines, len(head[1]) or None, "as the text marks it" if head[1] else "")


def _pandoc() -> str:
    """The program, that of `pypandoc-binary` first."""
    try:
        from pypandoc import get_pandoc_path  # type: ignore[import-untyped]

        return str(get_pandoc_path())
    except (ImportError, OSError):
        if found := shutil.which("pandoc"):
            return found
        raise FedreproError(HOW_TO_GET) from None


def _tables(blocks: Any) -> Iterator[Any]:
    """The tables among blocks, those within tables left out."""
    if isinstance(blocks, dict) and blocks.get("t") == "Table":
        yield blocks["c"]
    else:
        inner = [blocks.get("c")] if isinstance(blocks, dict) else blocks
        for block in inner if isinstance(inner, list) else ():
            yield from _tables(block)


def _spread(rows: Sequence[Any], width: int) -> list[list[_Cell]]:
    """Rows of pandoc's with each cell at all places that it spans."""
    table_latex.bounded(len(rows), width)
    made: list[list[_Cell | None]] = [[None] * width for _ in rows]
    for i, (_, cells) in enumerate(rows):
        j = 0
        for _, _, tall, wide, content in cells:
            while j < width and made[i][j] is not None:
                j += 1
            text = text_of(content)
            for y in range(i, min(i + tall, len(rows))):
                for x in range(j, min(j + wide, width)):
                    made[y][x] = _Cell(text, wide, (y, x) != (i, j))
    return [[cell or _Cell() for cell in row] for row in made]


def _csv(text: str) -> _Grid:
    rows = csv_rows(text, "line ")
    table_latex.bounded(len(rows), len(rows[0][1]) if rows else 0)
    cells = [[_Cell(field) for field in fields] for _, fields in rows]
    return _Grid(cells, [number for number, _ in rows], None, "")


def _labelled(grid: _Grid) -> Parsed:
    rows, told = grid.rows, list[str]()
    texts = [[cell.text for cell in row] for row in rows]
    marks = decimal_marks([text for row in texts for text in row])
    reads = [[_value(cell, marks, grid.brackets) for cell in row] for row in rows]
    first = next((i for i, row in enumerate(reads) if any(map(_is_number, row[1:]))), None)
    if first is None or len(texts[0]) < 2:
        raise FedreproError(_NO_TABLE)
    header, why = _header(grid, reads, first)
    span = f"line {grid.lines[0]}" + (f" to {grid.lines[header - 1]}" if header > 1 else "")
    told.append(f"header: {span}, {why}")
    start, width = 0, len(texts[0])
    body = range(header, len(rows))
    numbers = [label_of(texts[i][0]) for i in body]
    counted = any(numbers == [str(n + one) for n in range(len(body))] for one in (0, 1))
    named_next = width > 2 and not _is_of_values([reads[i][1] for i in body])
    if counted and named_next and label_of(texts[0][0]) in UNNAMED:
        start = 1
        told.append("the first column counts the rows and is left out")
    found = (j for j in range(start, width - 1) if _is_of_values([reads[i][j] for i in body]))
    labels = max(1, next(found, width - 1) - start)
    above_columns = ([label_of(texts[i][j]) for i in range(header)]
                     for j in range(start + labels, width))  # fmt: skip
    percents = any(read.percent for i in body for read in reads[i][start + labels :])
    columns = [tuple(dict.fromkeys(filter(None, parts))) for parts in above_columns]
    made: list[ImportedRow] = []
    above, group = [""] * labels, ""
    for i in body:
        own = [label_of(text) for text in texts[i][start : start + labels]]
        values = reads[i][start + labels :]
        for j, one in enumerate(values):
            if percents and not one.percent and one.text.startswith("0."):
                values[j] = Read(one.text, "odd")  # of 1, or a percent
        if _is_heading(rows[i][start:], labels):
            group, above = own[0], [""] * labels
            told.append(f"line {grid.lines[i]}: '{group}' is taken as heading of the rows below")
            continue
        if not own[0] and made and labels == 1:
            told.append(f"line {grid.lines[i]}: has no label, and takes that of the row above")
        above = [part or old for part, old in zip(own, above, strict=True)]
        label = tuple(filter(None, (group, *above))) or ("row",)
        made.append(ImportedRow(label, tuple(values), grid.lines[i]))
    if not made:
        raise FedreproError(_NO_TABLE)
    taken = Counter(value.how for row in made for value in row.values if value.how)
    told += [f"{how}: {count} cells" for how, count in sorted(taken.items())]
    named = zip(_unique([row.label for row in made], "row"), made, strict=True)
    unique = tuple(ImportedRow(label, row.values, row.line) for label, row in named)
    return Parsed(_unique(columns, "column"), unique, tuple(told))


def _value(cell: _Cell, marks: str, brackets: bool) -> Read:
    read = read_cell(cell.text, marks, brackets)
    if read.kind == "number" and (cell.wide > 1 or cell.repeated):
        return Read(read.text, "odd")  # of which of the places it is, is not said
    return read


def _is_number(read: Read) -> bool:
    """Whether a cell holds a number, understood or not."""
    odd = read.kind == "odd" and not read.text[:1].isalpha()
    return read.kind == "number" or (odd and any(map(str.isdigit, read.text)))


def _header(grid: _Grid, reads: Sequence[Sequence[Read]], first: int) -> tuple[int, str]:
    """How many rows the header has, and why; `first` is the first row with a number."""
    header = grid.header
    if header is not None and header < len(reads):
        held = [read for row in reads[:header] for read in row[1:] if read.kind == "number"]
        if any("." in read.text for read in held):
            said = "the rows above the first rule hold numbers; a header row is needed"
            raise FedreproError(f"line {grid.lines[0]}: {said}")
        # A header of several rows may be ruled below each of them.
        more = header
        while more < first and not _is_heading(grid.rows[more], 1):
            more += 1
        return more, grid.why + (", and rows without numbers below" if more > header else "")
    if first:
        return first, "the rows above the first with a number"
    whole = [read.text for read in reads[0][1:]]
    below = [read.text for row in reads[1:] for read in row[1:] if read.kind == "number"]
    differ = all(map(str.isdigit, whole)) and len({*whole}) == len(whole)
    if differ and any("." in text for text in below):
        return 1, "the first row, of whole numbers that all differ"
    if all(re.fullmatch(r"\d+[ -][A-Za-z]{2}.*|\D*", read.text) for read in reads[0][1:]) and below:
        return 1, "the first row, of numbers with words"
    raise FedreproError(f"line {grid.lines[0]}: holds numbers; a header row of words is needed")


def _is_heading(row: Sequence[_Cell], labels: int) -> bool:
    """Whether a row holds nothing but a text that stands over the whole table."""
    text = label_of(row[0].text)
    rest = [cell for cell in row[1:] if not (cell.repeated and cell.text == row[0].text)]
    return bool(text) and not any(label_of(cell.text) for cell in rest) and len(row) > labels


def _is_of_values(reads: Sequence[Read]) -> bool:
    """Whether a column holds a number in some row, or dashes alone."""
    return any(map(_is_number, reads)) or all(read.kind == "dash" for read in reads)


def draft(parsed: Parsed, *, table: str, title: str, metric: str = "accuracy") -> str:
    """The TOML text of a spec of `parsed`."""
    has_spreads = any(" ± " in value.text for row in parsed.rows for value in row.values)
    texts = {"table": table, "title": title, "metric": metric, "unit": parsed.unit}
    return _DRAFT.read_text("utf-8").format(
        **{name: _text(text) for name, text in texts.items()},
        spreads=_SPREADS if has_spreads else "",
        columns="\n\n".join(f"[[columns]]\nlabel = {_label(column)}" for column in parsed.columns),
        rows="\n\n".join(map(_row, parsed.rows)),
        margin="2.0" if parsed.unit else "0.02",
    )


def _row(row: ImportedRow) -> str:
    lines = ["[[rows]]", f"label = {_label(row.label)}"]
    run = 'skip = "draft: no method yet; write one in place of skip"'
    run = run if row.method is None else f"method = {_text(row.method)}"
    of_words = f'kind = "descriptive"  # for words; once all cells are numbers or "—": {run}'
    lines.append(of_words if row.is_words else run)
    is_number = re.compile(r"-?\d+(\.\d+)?").fullmatch
    # Quotes alone would leave a number that is not understood a number.
    texts = (f"{one.text} ?" if one.kind == "odd" else one.text for one in row.values)
    cells = ", ".join(text if is_number(text) else _text(text) for text in texts)
    return "\n".join([*lines, f"published = [{cells}]"])


def _unique(labels: Sequence[tuple[str, ...]], what: str) -> tuple[tuple[str, ...], ...]:
    """Labels that a spec allows: not empty, without `|` and quotes, and all different."""
    seen, found = Counter[tuple[str, ...]](), []
    for number, label in enumerate(labels, 1):
        parts = tuple(part.replace("|", "/").replace("'", "’") for part in label)
        parts = parts or (f"{what} {number}",)
        seen[parts] += 1
        last = parts[-1] if seen[parts] == 1 else f"{parts[-1]} ({seen[parts]})"
        found.append((*parts[:-1], last))
    return tuple(found)


def _plain(text: str) -> str:
    return re.sub(r"[\s_‐‑-]", "", text.lower())


def _label(parts: Sequence[str]) -> str:
    return _text(parts[0]) if len(parts) == 1 else f"[{', '.join(map(_text, parts))}]"
