"""Files that the `new-` commands write, from the templates in `fedrepro/templates`."""

import os
from collections.abc import Mapping
from pathlib import Path
from string import Template

from fedrepro.benchmark.errors import FedreproError

_FOLDER = Path(__file__).parents[1] / "templates"


def template(file: str, **words: str) -> str:
    """The text of a template with its `$words` filled in."""
    return Template((_FOLDER / f"{file}.in").read_text(encoding="utf-8")).substitute(words)


def write_new(files: Mapping[Path, str]) -> None:
    """Writes files and says where.

    Raises `FedreproError` if one of them is there already; nothing is written then.
    """
    for path in files:
        if os.path.lexists(path):
            raise FedreproError(f"{path} is there already; nothing was written")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        print(f"wrote {path.absolute()}")
