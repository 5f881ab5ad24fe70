"""The command `fedrepro`: finds the subcommands in `benchmark.commands` and runs one.

Exit codes: 0 nothing discrepant or regressed, 1 something is or a trial failed, 2 an error,
3 nothing was run, 130 interrupted. An error that the user can act on is one line, never a
traceback.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout

from fedrepro import __version__
from fedrepro.benchmark import commands
from fedrepro.benchmark.commands._terminal import Output, complain, open_standard_streams
from fedrepro.benchmark.errors import FedreproError


def build_parser() -> argparse.ArgumentParser:
    """The parser with every subcommand that has a file in `benchmark.commands`."""
    parser = argparse.ArgumentParser(
        prog="fedrepro",
        description="Re-run the tables of papers and say cell by cell what holds.",
        epilog="Exit codes: 0 nothing discrepant or regressed, 1 something is or a trial failed, "
        "2 an error, 3 nothing was run.",
    )
    parser.add_argument("--version", action="version", version=f"fedrepro {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)
    for found in pkgutil.iter_modules(commands.__path__):
        if found.name.startswith("_"):
            continue
        module = importlib.import_module(f"{commands.__name__}.{found.name}")
        verb = verbs.add_parser(
            found.name.replace("_", "-"),
            aliases=getattr(module, "ALIASES", ()),
            help=module.HELP,
            description=module.HELP,
            epilog=f"Example: {module.EXAMPLE}",
        )
        module.add_arguments(verb)
        verb.set_defaults(execute=module.execute, parser=parser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    open_standard_streams()
    output = Output(sys.stdout)
    with redirect_stdout(output):
        try:
            given = build_parser().parse_args(arguments)
            code = int(given.execute(given))
            # What waits in the buffer may still be refused; at exit nobody could say so.
            output.flush()
            return code
        except FedreproError as error:
            complain(str(error))
            return 2
        except KeyboardInterrupt:
            complain("interrupted; finished trials are kept, and the same command goes on")
            return 130
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            output.discard()
            complain(f"{place}{error.strerror or error}")
            return 2


if __name__ == "__main__":
    sys.exit(main())
