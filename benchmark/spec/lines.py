"""Where in a TOML file a key stands: dotted paths to line numbers, for messages.

Parsers of TOML forget positions. This scanner reads a text that one has accepted, so it follows the
grammar without checking it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

Path = tuple[str | int, ...]
"""Keys and positions (from 0) that lead to a value: ('rows', 1, 'label')."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|' + r"'''.*?'{3,5}|" + r'"(?:\\.|[^"\\\n])*"|' + r"'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def find_lines(text: str) -> Mapping[Path, int]:
    """The line (from 1) on which each key, table and array item of a valid TOML text begins.

    Of a text that is nested too deeply to be followed, those before that place.
    """
    scanner = _Scanner(text)
    with suppress(RecursionError):
        scanner.scan()
    return scanner.lines


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """The line of `path`, or of the nearest thing around it that stands in the file."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


@dataclass
class _Scanner:
    text: str
    at: int = 0
    lines: dict[Path, int] = field(default_factory=dict)
    counts: dict[Path, int] = field(default_factory=dict)

    def scan(self) -> None:
        table: Path = ()
        self._blank()
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)
            self._blank()

    def _blank(self) -> None:
        match = _BLANK.match(self.text, self.at)
        assert match is not None
        self.at = match.end()

    def _note(self, path: Path, start: int) -> None:
        self.lines.setdefault(path, self.text.count("\n", 0, start) + 1)

    def _header(self) -> Path:
        start = self.at
        is_array = self.text.startswith("[[", start)
        self.at += 1 + is_array
        path: Path = ()
        keys = self._keys("]")
        for i, key in enumerate(keys):
            path = (*path, key)
            if is_array and i == len(keys) - 1:
                self._note(path, start)
                self.counts[path] = self.counts.get(path, -1) + 1
            if path in self.counts:
                path = (*path, self.counts[path])
        self.at += 1 + is_array
        self._note(path, start)
        return path

    def _keys(self, end: str) -> list[str]:
        keys = []
        while True:
            self._blank()
            if self.text[self.at] in "\"'":
                keys.append(self._quoted())
            else:
                keys.append(self._token(_BARE))
            self._blank()
            if self.text[self.at] == end:
                return keys
            self.at += 1

    def _pair(self, table: Path) -> None:
        start = self.at
        path = table
        for key in self._keys("="):
            path = (*path, key)
            self._note(path, start)
        self.at += 1
        self._value(path)

    def _value(self, path: Path) -> None:
        self._blank()
        opening = self.text[self.at]
        if opening in "\"'":
            self._token(_STRING)
        elif opening == "[":
            self._items(path)
        elif opening == "{":
            self._inline(path)
        else:
            self._token(_SCALAR)

    def _items(self, path: Path) -> None:
        self.at += 1
        position = 0
        while self._before("]"):
            self._note((*path, position), self.at)
            self._value((*path, position))
            position += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._before("}"):
            self._pair(path)

    def _before(self, end: str) -> bool:
        """Skips to the next item, or past `end`, and says which it was."""
        self._blank()
        if self.text[self.at] == ",":
            self.at += 1
            self._blank()
        if self.text[self.at] != end:
            return True
        self.at += 1
        return False

    def _quoted(self) -> str:
        return next(iter(tomllib.loads(f"{self._token(_STRING)} = 0")))

    def _token(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"not TOML at character {self.at}"
        self.at = match.end()
        return match.group()
