"""A report without the places of files on the machine where it was made."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedrepro.benchmark.results import Report

_MAY_NAME_FILES = frozenset({"reason", "note", "errors", "command", "data"})
"""Fields that hold what was said or given when the report or its trials were made."""
_ABSOLUTE = re.compile(r"(?<![^\s'\"=(,:])/(?:[^\s/'\"]+/)*([^\s/'\"]+)/?")


def without_places(report: Report) -> Report:
    """The report with paths relative to the working folder; of others, the last name is left."""
    shown: Report = _shown(report)
    return shown


def _shown(value: Any, may_name: bool = False) -> Any:
    if isinstance(value, str):
        return _relative(value) if may_name and "/" in value else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            field.name: _shown(getattr(value, field.name), field.name in _MAY_NAME_FILES)
            for field in dataclasses.fields(value)
            if field.name not in ("panels", "config", "source")
        }
        return dataclasses.replace(value, **fields)
    if isinstance(value, tuple | list):
        return type(value)(_shown(one, may_name) for one in value)
    if isinstance(value, Mapping):
        return {name: _shown(one, may_name) for name, one in value.items()}
    return value


def _relative(text: str) -> str:
    """A sentence or a command with the paths in it cut short.

    The working and the home folder are looked for first: their names may hold spaces.
    """
    for folder, short in ((Path.cwd(), ""), (Path.home(), "~/")):
        if folder != Path(folder.anchor):
            text = text.replace(f"{folder}/", short)
    return _ABSOLUTE.sub(r"\1", text)
