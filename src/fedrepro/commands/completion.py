"""Print a completion script for a shell."""

import argparse
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from fedrepro.benchmark.execution import executors
from fedrepro.benchmark.spec import names
from fedrepro.benchmark.spec.folders import PAPER_FILE, paper_folders
from fedrepro.commands import _options as options
from fedrepro.methods import registry

EXAMPLE = 'eval "$(fedrepro completion bash)"'

_PLAIN = re.compile(r"[\w.+-]+")
"""Names that no shell takes for anything else; others, of a stranger's specs, are left out."""
_PROFILE = re.compile(r"^\[+profiles\.([\w+-]+)", re.MULTILINE)
_SHELLS = ("bash", "zsh", "fish", "tcsh")
ARGUMENTS = (options.SPECS, options.option("shell", choices=_SHELLS, help="which shell reads it"))


def execute(given: argparse.Namespace) -> None:
    """Prints the script; it is made anew from the parser, so it cannot be out of date."""
    import shtab

    parser = given.whole_parser()
    known = _values(paper_folders(options.specs(given)).values())
    for action in _arguments(parser):
        if (name := action.metavar or action.dest.upper()) in known:
            action.choices = known[name]
        elif action.metavar in ("DIR", "FILE"):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, given.shell))


def _values(papers: Collection[Path]) -> Mapping[object, Sequence[str]]:
    """By the name that help gives an argument, what may be said.

    Specs in the folders `papers` are not read whole, which would take a second in every new shell.
    """
    ids = [folder.name for folder in papers]
    files = (file for folder in papers for file in folder.glob("*.toml"))
    tables = sorted({file.stem for file in files if file.name != PAPER_FILE})
    texts = [(folder / PAPER_FILE).read_text("utf-8", "replace") for folder in papers]
    found = {
        "PAPER": ids,
        "PAPERS": ids,
        "TABLE": tables,
        "TABLES": tables,
        "PROFILE": sorted({name for text in texts for name in _PROFILE.findall(text)}),
        "SET": sorted(names.known("data set")),
        "DEVICE": ["auto", "cpu", "cuda"],
        "EXECUTOR": registry.names_in(executors.__name__),
        "NAME": sorted({name for kind in registry.kinds() for name in registry.names(kind)}),
    }
    return {
        metavar: [value for value in values if _PLAIN.fullmatch(value)]
        for metavar, values in found.items()
    }


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _arguments(verb)
