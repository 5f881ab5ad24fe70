"""`fedrepro completion`: a script that completes commands, options, their values and paths."""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from fedrepro.benchmark.execution import executors
from fedrepro.benchmark.spec import names, toml_file
from fedrepro.benchmark.spec.folders import PAPER_FILE, paper_folders
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.commands._options import add_specs, specs
from fedrepro.methods import registry

HELP = "print a completion script for a shell"
EXAMPLE = 'eval "$(fedrepro completion bash)"'

_PLAIN = re.compile(r"[\w.+-]+")
"""Names that no shell takes for anything else; others, of a stranger's specs, are left out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell, and where papers of one's own lie."""
    add_specs(parser)
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "tcsh"), help="which shell reads it"
    )


def execute(given: argparse.Namespace) -> int:
    """Prints the script; it is made anew from the parser, so it cannot be out of date."""
    import shtab

    parser = given.whole_parser()
    known = _values(paper_folders(specs(given)).values())
    for action in _arguments(parser):
        if action.metavar in known:
            action.choices = known[action.metavar]
        elif action.metavar in ("DIR", "FILE"):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, given.shell))
    return 0


def _values(papers: Collection[Path]) -> Mapping[object, Sequence[str]]:
    """By the name that help gives an argument, what may be said.

    papers: their folders. Specs are not read whole, which would take a second whenever a shell
    starts: the name of a table's file is the table's.
    """
    ids = [folder.name for folder in papers]
    files = (file for folder in papers for file in folder.glob("*.toml"))
    tables = sorted({file.stem for file in files if file.name != PAPER_FILE})
    found = {
        "PAPER": ids,
        "PAPERS": ids,
        "TABLE": tables,
        "TABLES": tables,
        "PROFILE": sorted({name for folder in papers for name in _profiles(folder)}),
        "SET": sorted(names.known("data set")),
        "DEVICE": ["auto", "cpu", "cuda"],
        "EXECUTOR": registry.names_in(executors.__name__),
        "NAME": sorted({name for kind in registry.kinds() for name in registry.names(kind)}),
    }
    return {
        metavar: [value for value in values if _PLAIN.fullmatch(value)]
        for metavar, values in found.items()
    }


def _profiles(paper: Path) -> Iterator[str]:
    """The profiles of a paper as its file has them; none where it cannot be read."""
    with suppress(InvalidSpecError):
        data = toml_file.parse(toml_file.read(paper / PAPER_FILE)) or {}
        profiles = data.get("profiles")
        yield from profiles if isinstance(profiles, dict) else ()


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _arguments(verb)
