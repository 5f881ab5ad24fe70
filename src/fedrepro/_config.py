"""Defaults of options in the working folder: `fedrepro.toml`, or `[tool.fedrepro]`."""

import os
import tomllib
from pathlib import Path
from typing import Any

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec.problems import suggestion

KEYS = {"data-dir": str, "device": str, "jobs": int, "profile": str, "store": str}
"""What a file may set, by the name of the option, and the type of the value."""
_PLACES = (Path("fedrepro.toml"), ()), (Path("pyproject.toml"), ("tool", "fedrepro"))


def configured() -> dict[str, Any]:
    """What the working folder's files set, by key; $FEDREPRO_DATA stands for `data-dir`. Raises
    `FedreproError` for a file that is no TOML, an unknown key and a value of another type."""
    found: dict[str, Any] = {}
    for file, section in _PLACES:
        if not file.is_file():
            continue
        try:
            inside: Any = tomllib.loads(file.read_text("utf-8-sig"))
            for name in section:
                inside = inside.get(name, {})
            settings = dict(inside)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise FedreproError(f"{file} cannot be read as TOML: {error}") from error
        where = f"{file}{', [tool.fedrepro]' if section else ''}"
        for key, value in settings.items():
            if key not in KEYS:
                raise FedreproError(f"{where}: unknown key '{key}'{suggestion(key, KEYS)}")
            if type(value) is not KEYS[key]:
                wanted = "a whole number" if KEYS[key] is int else "text in quotes"
                raise FedreproError(f"{where}: {key} must be {wanted}, not {value!r}")
            if found.setdefault(key, value) != value:
                raise FedreproError(f"{where}: {key} is another one in {_PLACES[0][0]}; keep one")
    if os.environ.get("FEDREPRO_DATA"):
        found["data-dir"] = os.environ["FEDREPRO_DATA"]
    return found
