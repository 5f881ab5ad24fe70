"""A printed table, as LaTeX or CSV, as the draft of a spec that passes `fedrepro check`.

What a draft cannot know is left to its author and said in it: the margin with its reason, and the
experiment of rows whose label names no method (they are skipped with that reason).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...methods import registry
from ..errors import FedreproError
from . import limits
from .printed import Printed

_NUMBER = re.compile(r"[-−]?\d+(\.\d+)?")
_DASHES = ("", "-", "--", "---", "–", "—", "n/a", "N/A")
_RULES = re.compile(r"\\(?:hline|toprule|midrule|bottomrule)|\\c(?:mid)?rule(?:\(\w+\))?\{[^}]*\}")
_SPAN = re.compile(r"\\multicolumn\s*\{(\d+)\}\s*\{[^{}]*\}\s*\{(.*)\}\s*$", re.DOTALL)
_ROWS = re.compile(r"\\multirow\s*\{[^}]*\}\s*(?:\[[^]]*\])?\s*\{[^}]*\}\s*\{(.*)\}\s*$", re.DOTALL)
_MARKUP = re.compile(r"\\(?:textbf|textit|emph|underline|mathbf|bm|text|mathrm)\s*\{([^{}]*)\}")
_SIGNS = {
    r"\pm": " ± ", r"\%": "%", r"\&": "&", r"\_": "_", r"\#": "#", r"\checkmark": "✓",
    r"\times": "×", r"\approx": "≈", "~": " ", "$": "", r"\,": " ", "{": "", "}": "",
}  # fmt: skip


@dataclass(frozen=True)
class Parsed:
    """A table as text: labels of columns and rows (parts from outer to inner), and values."""

    columns: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]


def parse(text: str) -> Parsed:
    """A LaTeX `tabular` or CSV as a table; the header ends at the first row with a number.

    Raises `FedreproError` if there is no row with numbers, and if the table exceeds `spec.limits`.
    """
    if len(text) > limits.FILE_BYTES:
        raise FedreproError(f"the text is longer than {limits.FILE_BYTES:,} characters")
    lines = _latex(text) if r"\begin{tabular" in text else _csv(text)
    width = max(map(len, lines), default=0)
    if width > limits.COLUMNS or len(lines) * width > limits.CELLS:
        raise FedreproError(
            f"the table has {len(lines):,} rows of up to {width:,} columns; "
            f"at most {limits.COLUMNS} columns and {limits.CELLS:,} cells are read"
        )
    lines = [line + [""] * (width - len(line)) for line in lines if any(line)]
    first = next((i for i, line in enumerate(lines) if any(map(_is_number, line[1:]))), None)
    if not first:
        raise FedreproError("no table found: a header row and a row with numbers are needed")
    header, body = lines[:first], lines[first:]
    labels = max(1, _label_columns(header, body))
    columns = [tuple(filter(None, (h[i] for h in header))) for i in range(labels, width)]
    rows = []
    above = [""] * labels
    for line in body:
        above = [part or old for part, old in zip(line[:labels], above, strict=True)]
        rows.append((tuple(filter(None, above)) or ("row",), tuple(line[labels:])))
    return Parsed(
        _unique(columns, "column"),
        tuple(zip(_unique([r for r, _ in rows], "row"), [v for _, v in rows], strict=True)),
    )


def draft(parsed: Parsed, *, table: str, title: str, metric: str = "accuracy") -> str:
    """The TOML text of a spec of `parsed`."""
    spreads = any("±" in value for _, values in parsed.rows for value in values)
    numbers = [Printed.parse(v).value for _, values in parsed.rows for v in values if _is_number(v)]
    unit = "%" if any(abs(value) > 1 for value in numbers if value is not None) else ""
    blocks = [
        f'table   = {_text(table)}\ntitle   = {_text(title)}\nsection = "?"\n'
        f'kind    = "empirical"\nmetric  = {_text(metric)}\nunit    = {_text(unit)}\n'
        'notes   = ["A draft made by fedrepro new-table: section, margin and experiments are to '
        'be filled in."]'
    ]
    if spreads:
        blocks.append("[sd]  # ddof = 0 or 1, runs = number of runs, where the paper says so")
    blocks += [f"[[columns]]\nlabel = {_label(column)}" for column in parsed.columns]
    blocks += [_row(label, values) for label, values in parsed.rows]
    blocks.append(
        f"[margin]\nvalue  = {'2.0' if unit else '0.02'}\n"
        'reason = "draft: say how close is close enough, and why"'
    )
    return "\n\n".join(blocks) + "\n"


def method_named(label: Sequence[str]) -> str | None:
    """The registered method that a part of a row's label names, None if none does."""
    known = {_plain(name): name for name in registry.names("federated")}
    return next((known[_plain(part)] for part in label if _plain(part) in known), None)


def _row(label: Sequence[str], values: Sequence[str]) -> str:
    lines = ["[[rows]]", f"label = {_label(label)}"]
    method = method_named(label)
    readable = all(_is_number(value) or value in _DASHES for value in values)
    if not readable:
        lines.append('kind = "descriptive"')
    elif method is None:
        lines.append('skip = "draft: not bound to a method yet"')
    else:
        lines.append(f"method = {_text(method)}")
    lines.append(f"published = [{', '.join(map(_value, values))}]")
    return "\n".join(lines)


def _value(value: str) -> str:
    if value in _DASHES:
        return '"—"'
    return value.replace("−", "-") if _NUMBER.fullmatch(value) else _text(value)


def _is_number(value: str) -> bool:
    return value not in _DASHES and Printed.parse(value).value is not None


def _label_columns(header: Sequence[Sequence[str]], body: Sequence[Sequence[str]]) -> int:
    """Leading columns that hold no number in any row."""
    count = 0
    for column in zip(*body, strict=True):
        if any(map(_is_number, column)):
            break
        count += 1
    return min(count, len(header[0]) - 1)


def _csv(text: str) -> list[list[str]]:
    try:
        dialect: type[csv.Dialect] = csv.Sniffer().sniff(text, delimiters=",;\t")
    except csv.Error:
        dialect = csv.excel
    try:
        return [[part.strip() for part in line] for line in csv.reader(io.StringIO(text), dialect)]
    except csv.Error as error:
        raise FedreproError(f"not a CSV file: {error}") from None


def _latex(text: str) -> list[list[str]]:
    body = re.sub(r"(?<!\\)%.*", "", text)
    body = re.split(r"\\begin\{tabular\*?\}(?:\[[^]]*\])?\s*", body, maxsplit=1)[1]
    body = _without_argument(body).split(r"\end{tabular", 1)[0]
    lines = re.split(r"\\\\(?:\[[^]]*\])?", _RULES.sub("", body))
    return [list(_fields(line)) for line in lines if line.strip()]


def _without_argument(text: str) -> str:
    """What follows the column specification, whose braces may be nested."""
    depth = 0
    for i, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return text[i + 1 :]
    raise FedreproError("the tabular's column specification has no end")


def _fields(line: str) -> Iterator[str]:
    for field in re.split(r"(?<!\\)&", line):
        if len(field) > limits.TEXT:
            raise FedreproError(f"a cell has {len(field):,} characters; at most {limits.TEXT:,}")
        span = _SPAN.match(field.strip())
        if span and (len(span[1]) > 9 or int(span[1]) > limits.COLUMNS):
            raise FedreproError(
                f"a \\multicolumn spans {span[1][:20]} columns; at most {limits.COLUMNS} are read"
            )
        yield from [_unmarked(span[2] if span else field)] * (int(span[1]) if span else 1)


def _unmarked(text: str) -> str:
    rows = _ROWS.match(text.strip())
    text = rows[1] if rows else text
    while _MARKUP.search(text):
        text = _MARKUP.sub(r"\1", text)
    for sign, plain in _SIGNS.items():
        text = text.replace(sign, plain)
    text = re.sub(r"\\[a-zA-Z]+\s*", "", text)
    return re.sub(r"\s+", " ", text).strip()


def _unique(labels: Sequence[tuple[str, ...]], what: str) -> tuple[tuple[str, ...], ...]:
    """Labels that a spec allows: not empty, without `|` and quotes, and all different."""
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for number, label in enumerate(labels, 1):
        parts = tuple(part.replace("|", "/").replace("'", "’") for part in label)
        parts = parts or (f"{what} {number}",)
        seen[parts] = seen.get(parts, 0) + 1
        last = parts[-1] if seen[parts] == 1 else f"{parts[-1]} ({seen[parts]})"
        found.append((*parts[:-1], last))
    return tuple(found)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


def _label(parts: Sequence[str]) -> str:
    return _text(parts[0]) if len(parts) == 1 else f"[{', '.join(map(_text, parts))}]"


def _text(text: str) -> str:
    """A TOML string: JSON's, which is also TOML's."""
    return json.dumps(text, ensure_ascii=False)
