"""`fedrepro methods`: what can be named in a spec, with its options."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import names
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.commands._terminal import complain_of_plugins, folded, print_json
from fedrepro.methods import registry

HELP = "list methods, objectives, encoders, partitions, protocols and data sets, or one's options"
EXAMPLE = "fedrepro methods cpcfl"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A name, and the format."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="tell everything about this one")
    parser.add_argument("--json", action="store_true", help="names, summaries and options")


def execute(given: argparse.Namespace) -> int:
    """Prints one line a contribution, or one contribution whole."""
    complain_of_plugins()
    known = _known()
    if given.name is not None:
        chosen = [one for one in known if one["name"] == given.name]
        if not chosen and registry.is_module(given.name):
            kinds = [kind for kind in registry.kinds() if names.is_of(kind, given.name)]
            chosen = [
                _described(kind, given.name, registry.find(kind, given.name)) for kind in kinds
            ]
        if not chosen:
            hint = suggestion(given.name, sorted({one["name"] for one in known}))
            raise SpecError(f"nothing is called '{given.name}'{hint}")
        known = chosen
    if given.json:
        print_json(known)
    elif given.name is not None:
        for one in known:
            _print_whole(one)
    else:
        _print_list(known)
    return 0


def _known() -> list[dict[str, Any]]:
    from fedrepro.benchmark.data.base import DataSet
    from fedrepro.benchmark.data.loading import module_of
    from fedrepro.benchmark.data.loading import names as names_of_sets

    found = [
        _described(kind, name, registry.find(kind, name))
        for kind in registry.kinds()
        for name in registry.names(kind)
    ]
    sets = ((name, registry.class_in(module_of(name), DataSet)) for name in names_of_sets())
    return found + [_described("data set", name, cls) for name, cls in sets]


def _described(kind: str, name: str, cls: type) -> dict[str, Any]:
    about = (sys.modules[cls.__module__].__doc__ or cls.__doc__ or "").strip()
    options = {
        field.name: None if field.default is dataclasses.MISSING else field.default
        for field in (dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ())
        if field.init
    }
    return {
        "kind": kind,
        "name": name,
        "summary": about.partition("\n\n")[0].replace("\n", " "),
        "about": about,
        "options": options,
        "module": cls.__module__,
    }


def _print_list(known: list[dict[str, Any]]) -> None:
    width = max(len(one["name"]) for one in known)
    for heading in dict.fromkeys(map(_heading, known)):
        print(f"{heading}:")
        for one in known:
            if _heading(one) == heading:
                print(folded(f"  {one['name']:<{width}}  {one['summary']}", width + 4))


def _heading(one: dict[str, Any]) -> str:
    """The kind; of federated methods the family too, which is the module's folder."""
    family: str = one["module"].split(".")[-2].replace("_", "-")
    return f"federated, {family}" if one["kind"] == "federated" else one["kind"]


def _print_whole(one: dict[str, Any]) -> None:
    path = one["module"].removeprefix("fedrepro.").replace(".", "/")
    print(f"{one['kind']} {one['name']} ({path}.py)\n")
    print(one["about"])
    if one["options"]:
        print("\noptions:")
        for name, default in one["options"].items():
            print(f"  {name} = {default}")
