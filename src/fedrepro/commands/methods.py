"""List methods, data sets and other parts, or one with its options."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import names
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain, folded
from fedrepro.methods import registry

EXAMPLE = "fedrepro methods cpcfl"
ARGUMENTS = (options.option("name", nargs="?", metavar="NAME", help="tell all about this one"),)


def execute(given: argparse.Namespace) -> None:
    """Prints one line a contribution, or one contribution whole."""
    for told in names.left_out():
        complain(told)
    known, name = list(_known(given.name)), given.name
    shown = [one for one in known if name in (None, one["name"])]
    if not shown:
        hint = suggestion(name, sorted({one["name"] for one in known}))
        raise SpecError(f"no method, data set or other part is called '{name}'{hint}")
    if name is None:
        _print_list(shown)
    else:
        for one in shown:
            _print_whole(one)


def _known(asked: str | None) -> Iterator[dict[str, Any]]:
    """All contributions, and of `asked` those that it is as the path of a module."""
    from fedrepro.benchmark import data

    is_module = asked is not None and registry.is_module(asked)
    for kind in registry.GROUPS:
        listed = registry.names(kind) if kind in registry.kinds() else ()
        for name in (*listed, *((asked,) if is_module else ())):
            if name != asked or not is_module or names.is_of(kind, name):
                yield _described(kind, name, registry.find(kind, name))
    for name in data.names():
        yield _described("data set", name, type(data.find(name)))


def _described(kind: str, name: str, cls: type) -> dict[str, Any]:
    about = (sys.modules[cls.__module__].__doc__ or cls.__doc__ or "").strip()
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {
        "kind": kind,
        "name": name,
        "summary": about.partition("\n\n")[0].replace("\n", " "),
        "about": about,
        "options": {
            one.name: None if one.default is dataclasses.MISSING else one.default
            for one in fields
            if one.init
        },
        "module": cls.__module__,
    }


def _print_list(known: Sequence[dict[str, Any]]) -> None:
    """By kind; federated methods by family too, which is the module's folder."""

    def heading(one: dict[str, Any]) -> str:
        family: str = one["module"].split(".")[-2].replace("_", "-")
        return f"federated, {family}" if one["kind"] == "federated" else one["kind"]

    order = list(dict.fromkeys(map(heading, known)))
    width = max(len(one["name"]) for one in known)
    for title, listed in groupby(sorted(known, key=lambda one: order.index(heading(one))), heading):
        print(f"{title}:")
        for one in listed:
            print(folded(f"  {one['name']:<{width}}  {one['summary']}", width + 4))


def _print_whole(one: dict[str, Any]) -> None:
    path = one["module"].removeprefix("fedrepro.").replace(".", "/")
    print(f"{one['kind']} {one['name']} ({path}.py)\n\n{one['about']}")
    if one["options"]:
        print("\noptions:")
        for name, default in one["options"].items():
            print(f"  {name} = {default}")
