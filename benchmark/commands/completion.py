"""`fedrepro completion`: a script that completes commands, options, papers and paths."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from fedrepro.benchmark.commands._options import add_specs, specs
from fedrepro.benchmark.spec.load import paper_ids

HELP = "print a completion script for a shell"
EXAMPLE = 'eval "$(fedrepro completion bash)"'


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell, and where papers of one's own lie."""
    add_specs(parser)
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell reads it")


def execute(given: argparse.Namespace) -> int:
    """Prints the script; it is made anew from the parser, so it cannot be out of date."""
    import shtab

    parser = given.whole_parser()
    for action in _arguments(parser):
        if action.metavar == "PAPER":
            action.choices = paper_ids(specs(given))
        elif action.metavar in ("DIR", "FILE"):
            action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]
    print(shtab.complete(parser, given.shell))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Those of a parser and of its subcommands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for verb in action.choices.values():
                yield from _arguments(verb)
