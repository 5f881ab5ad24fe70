"""Where in a TOML file a key stands: dotted paths to line numbers, for messages.

Parsers of TOML forget positions. This scanner reads a text that one has accepted, so it follows the
grammar without checking it.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

KeyPath = tuple[str | int, ...]
"""Keys and positions (from 0) that lead to a value: ('rows', 1, 'label')."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'|"
_KEY = re.compile(_STRING + r"[A-Za-z0-9_-]+", re.DOTALL)
_VALUE = re.compile(_STRING + r"[^,\]}#\n]+", re.DOTALL)


def find_lines(text: str) -> Mapping[KeyPath, int]:
    """The line (from 1) where each key, table and item of valid TOML begins, up to great depth."""
    scanner = _Scanner(text)
    with suppress(RecursionError):
        scanner.scan()
    return scanner.lines


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of `path`, or of the nearest thing around it that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


@dataclass
class _Scanner:
    text: str
    at: int = 0
    lines: dict[KeyPath, int] = field(default_factory=dict)
    counts: dict[KeyPath, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.breaks = [match.start() for match in re.finditer("\n", self.text)]

    def scan(self) -> None:
        table: KeyPath = ()
        while self._next():
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _next(self) -> str:
        """The next character that is neither space nor comment; nothing at the end."""
        self._token(_BLANK)
        return self.text[self.at : self.at + 1]

    def _token(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"not TOML at character {self.at}"
        self.at = match.end()
        return match.group()

    def _note(self, path: KeyPath, start: int) -> None:
        self.lines.setdefault(path, bisect_left(self.breaks, start) + 1)

    def _header(self) -> KeyPath:
        start, path = self.at, KeyPath()
        is_array = self.text.startswith("[[", start)
        self.at += 1 + is_array
        *above, last = self._keys("]")
        for key in above:
            path = (*path, key)
            path = (*path, self.counts[path]) if path in self.counts else path
        path = (*path, last)
        self._note(path, start)
        if is_array:
            self.at += 1
            self.counts[path] = self.counts.get(path, -1) + 1
            path = (*path, self.counts[path])
            self._note(path, start)
        return path

    def _keys(self, end: str) -> list[str]:
        """The keys before the sign `end`, which is passed."""
        keys, sign = list[str](), "."
        while sign != end:
            quoted = self._next() in "\"'"
            key = self._token(_KEY)
            keys.append(next(iter(tomllib.loads(f"{key} = 0"))) if quoted else key)
            sign = self._next()
            self.at += 1
        return keys

    def _pair(self, table: KeyPath) -> None:
        start, path = self.at, table
        for key in self._keys("="):
            path = (*path, key)
            self._note(path, start)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        opening = self._next()
        if opening not in "[{":
            self._token(_VALUE)
            return
        self.at += 1
        for position in count():
            if self._next() in "]}":
                break
            if opening == "[":
                self._note((*path, position), self.at)
                self._value((*path, position))
            else:
                self._pair(path)
            self.at += self._next() == ","
        self.at += 1
