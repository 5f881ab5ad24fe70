"""List methods, data sets and other parts, or one with its options."""

import argparse
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.spec import names
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.commands import _options as options
from fedrepro.commands._terminal import complain, folded
from fedrepro.methods import registry

EXAMPLE = "fedrepro methods cpcfl"
Contribution = tuple[str, str, type]  # kind, name and class
ARGUMENTS = (options.option("name", nargs="?", metavar="NAME", help="tell all about this one"),)


def execute(args: argparse.Namespace) -> None:
    """Prints one line a contribution, or one contribution whole."""
    for told in names.left_out():
        complain(told)
    known, name = list(_known(args.name)), args.name
    shown = [one for one in known if name in (None, one[1])]
    if not shown:
        hint = suggestion(name, sorted({one[1] for one in known}))
        why = registry.is_module(name) and names.problem("method", name)
        raise SpecError(why or f"no method, data set or other part is called '{name}'{hint}")
    if name is None:
        _print_list(shown)
    else:
        for one in shown:
            _print_whole(*one)


def _known(asked: str | None) -> Iterator[Contribution]:
    """All contributions, and of `asked` those that it is as the path of a module."""
    from fedrepro.benchmark import data

    is_module = asked is not None and registry.is_module(asked)
    for kind in registry.GROUPS:
        listed = registry.names(kind) if kind in registry.kinds() else ()
        yield from ((kind, name, registry.find(kind, name)) for name in listed)
        if asked is not None and is_module:
            with suppress(Exception):  # whatever the code of a user raises
                yield kind, asked, registry.find(kind, asked)
    for name in data.names():
        yield "data set", name, type(data.find(name))
    for name in sorted(names.known("metric")):
        at = names.metrics().get(name)  # several share a module of ours, and have no class
        one = type(name, (), {"__module__": at}) if at else registry.find("metric", name)
        yield "metric", name, one


def _about(cls: type) -> str:
    return (sys.modules[cls.__module__].__doc__ or cls.__doc__ or "").strip()


def _print_list(known: Sequence[Contribution]) -> None:
    """By kind; federated methods by family too, which is the module's folder."""

    def heading(one: Contribution) -> str:
        kind, _, cls = one
        family = cls.__module__.split(".")[-2].replace("_", "-")
        return f"federated, {family}" if kind == "federated" else kind

    order = list(dict.fromkeys(map(heading, known)))
    width = max(len(name) for _, name, _ in known)
    for title, listed in groupby(sorted(known, key=lambda one: order.index(heading(one))), heading):
        print(f"{title}:")
        for _, name, cls in listed:
            summary = _about(cls).partition("\n\n")[0].replace("\n", " ")
            print(folded(f"  {name:<{width}}  {summary}", width + 4))


def _print_whole(kind: str, name: str, cls: type) -> None:
    path = cls.__module__.removeprefix("fedrepro.").replace(".", "/")
    print(f"{kind} {name} ({path}.py)\n\n{_about(cls)}")
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    if shown := [one for one in fields if one.init]:
        print("\noptions:")
        for one in shown:
            default = None if one.default is dataclasses.MISSING else one.default
            print(f"  {one.name} = {default}")
