"""The names of data sets, and the module behind each; none is imported, which would take seconds.

A set is called as its module. Sets of a family share a module, and their names begin with its name.
Data of one's own are a module of another package, by its path or its entry point, or a file
(`data.own`), below the data folder. Their names may end in `#` and the checksum of the content.
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..methods.registry import UnknownNameError, add, installed, is_module, modules_in

_SETS = "fedrepro.benchmark.data.sets"
add("data set", _SETS, "fedrepro.benchmark.data.base", "DataSet")
_FILE = re.compile(r"torchvision:\w+|(\./)?[\w-][^#:\\]*(/|\.npz|\.csv)")
_CHECKSUM = re.compile("(#[0-9a-f]{16})?")


@cache
def _facts() -> Mapping[str, Mapping[str, Any]]:
    """By name, what is known of a set before it is read; those of a family are all here."""
    return tomllib.loads((Path(__file__).parent / "data/sets/sets.toml").read_text("utf-8"))


def title(name: str) -> str:
    """`coloured letters` for `glyphs-colour-a`; the name itself where a set has no title."""
    return str(_facts().get(name, {}).get("title", name))


def images_in(name: str, part: str) -> int | None:
    """Training images of a set, or its unlabelled ones; None where that is not known."""
    return _facts().get(name, {}).get("unlabeled" if part == "unlabeled" else "train")


def modules() -> dict[str, str]:
    """The dotted modules of the registered data sets by name, sorted."""
    found = {
        one: module
        for name, module in modules_in(_SETS).items()
        for one in [each for each in _facts() if each.startswith(f"{name}-")] or [name]
    }
    return dict(sorted({**installed("data set"), **found}.items()))


def names() -> list[str]:
    """The registered data sets, sorted."""
    return list(modules())


def module_of(name: str) -> str:
    """The dotted module of a data set; `UnknownNameError` if there is none."""
    known, name = modules(), plain(name)
    if is_file(name):
        return "fedrepro.benchmark.data.own"
    if name not in known and is_module(name):
        return name
    if name not in known:
        raise UnknownNameError("data set", name, list(known))
    return known[name]


def plain(name: str) -> str:
    """The name without the checksum that it may end in."""
    return name.partition("#")[0]


def file_name(name: str) -> str:
    """The name without its checksum, as it can be part of the name of a file."""
    return re.sub("[/:]+", "-", plain(name)).strip("-")


def is_file(name: str) -> bool:
    """Whether a name is that of data of one's own in a file or folder, or in torchvision."""
    own, inside = plain(name), ".." not in name.split("/") and len(name) <= 200
    return bool(inside and _FILE.fullmatch(own) and _CHECKSUM.fullmatch(name[len(own) :]))


def is_own(name: str) -> bool:
    """Whether a name is none of this project: of a file, a module, or another's entry point."""
    own = plain(name)
    return is_file(name) or "." in own or own in installed("data set")
