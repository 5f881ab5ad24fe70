"""Where in a TOML file a key stands: dotted paths to line numbers, for messages.

Parsers of TOML forget positions. So a text that one has accepted is parsed again, a statement at a
time: a header, or a key with its value, which may go over several lines.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

KeyPath = tuple[str | int, ...]
"""Keys and positions (from 0) that lead to a value: ('rows', 1, 'label')."""

_MOST = 2_000_000
"""Characters that are parsed, long statements again with each line; nothing is found behind."""


def find_lines(text: str) -> Mapping[KeyPath, int]:
    """The line (from 1) where each key, table and item of valid TOML begins, up to great depth."""
    lines: dict[KeyPath, int] = {}
    last: dict[KeyPath, int] = {}  # by list of tables, the position of its last one
    table, statement, begins, work = KeyPath(), list[str](), 1, 0
    for number, line in enumerate(text.split("\n"), 1):
        statement.append(line)
        whole = _parsed(statement)
        if whole is not None and statement[0].lstrip().startswith("["):
            table = _header(whole, last)
            lines.setdefault(table, number)
            if isinstance(table[-1], int):
                lines.setdefault(table[:-1], number)
        # A list that goes on is closed: what is new in it begins behind what was there before.
        elif data := _parsed([*statement, "]"]) if whole is None else whole:
            for path in _paths(data, table):
                lines.setdefault(path, begins)
            begins = number + 1
            if whole is None and line.rstrip().endswith(","):
                statement = [_shorter(data)]
        work += sum(map(len, statement))
        if work > _MOST:
            break
        if whole is not None:
            statement, begins = [], number + 1
    return lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of `path`, or of the nearest thing around it that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def _parsed(statement: list[str]) -> dict[str, Any] | None:
    with suppress(ValueError, RecursionError):
        return tomllib.loads("\n".join(statement))
    return None


def _shorter(data: Any) -> str:
    """The text of an unfinished list, with zeros for the items that were parsed."""
    keys = list[str]()
    while isinstance(data, dict):
        ((key, data),) = data.items()
        keys.append(json.dumps(key))
    return f"{'.'.join(keys)} = [{'0,' * len(data)}"


def _header(data: Any, last: dict[KeyPath, int]) -> KeyPath:
    """The path of a table from its parsed header; of a list of tables, that of its next one."""
    path = KeyPath()
    while isinstance(data, dict) and data:
        path = (*path, last[path]) if path in last else path
        ((key, data),) = data.items()
        path = (*path, key)
    if isinstance(data, list):
        last[path] = last.get(path, -1) + 1
        path = (*path, last[path])
    return path


def _paths(data: Any, at: KeyPath) -> Iterator[KeyPath]:
    """The paths of all values inside of one."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield (*at, key)
        if isinstance(value, (dict, list)):
            yield from _paths(value, (*at, key))
