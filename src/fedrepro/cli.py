"""The command `fedrepro`: finds the subcommands in `fedrepro.commands` and runs one.

Exit codes: 0 nothing discrepant or regressed, 1 something is or a trial failed, 2 an error,
3 nothing was run, 130 interrupted, 141 the reader of the output left, 143 terminated. An error that
the user can act on is one line, never a traceback.
"""

import argparse
import gc
import importlib
import pkgutil
import signal
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from types import FrameType

from fedrepro import __version__, commands
from fedrepro.benchmark.errors import FedreproError
from fedrepro.commands import _options
from fedrepro.commands._terminal import Output, complain, discard_output, open_standard_streams

_NEW_OBJECTS = 50_000
"""After so many new objects Python looks for dead ones in circles; by default after 700, which took
a third of the time in which specs, plain trees without circles, are read and checked."""


def build_parser(first: str = "") -> argparse.ArgumentParser:
    """The parser with every subcommand that has a file in `fedrepro.commands`.

    first: the first word given. If a file has its name, no other one is imported: a command starts
    in the time that its own imports take.
    """
    parser = argparse.ArgumentParser(
        prog="fedrepro",
        description="Re-run the tables of papers and say cell by cell what holds.",
        epilog="Exit codes: 0 nothing discrepant or regressed, 1 something is or a trial failed, "
        "2 an error, 3 nothing was run, 130 interrupted, 143 terminated.",
    )
    parser.add_argument("--version", action="version", version=f"fedrepro {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)
    names = [one.name for one in pkgutil.iter_modules(commands.__path__)]
    named = {name.replace("_", "-"): name for name in names if not name.startswith("_")}
    for shown, name in {first: named[first]}.items() if first in named else named.items():
        module = importlib.import_module(f"{commands.__name__}.{name}")
        verb = verbs.add_parser(
            shown,
            aliases=getattr(module, "ALIASES", ()),
            help=module.HELP,
            description=module.HELP,
            epilog=f"Example: {module.EXAMPLE}",
        )
        for add in module.ARGUMENTS:
            add(verb)
        verb.set_defaults(execute=module.execute, whole_parser=build_parser)
    return parser


def script() -> int:
    """`main` in a process that ends with it, after the first SIGINT or SIGTERM; the exit code."""
    for number in _ENDING:
        signal.signal(number, _end)
    code = main()
    # At its end Python looks through all that is left, which took a fifth of `show` and `check`.
    gc.freeze()
    return code


_ENDING = (signal.SIGINT, signal.SIGTERM)


def _end(number: int, frame: FrameType | None) -> None:
    for one in _ENDING:  # what ends workers and gives the store back is not interrupted itself
        signal.signal(one, signal.SIG_IGN)
    raise KeyboardInterrupt(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    gc.set_threshold(_NEW_OBJECTS)
    open_standard_streams()
    with redirect_stdout(Output(sys.stdout)):
        try:
            words = sys.argv[1:] if arguments is None else arguments
            given = build_parser("".join(words[:1])).parse_args(words)
            _options.complete(given)
            code = int(given.execute(given))
            # What waits in the buffer may still be refused; at exit nobody could say so.
            sys.stdout.flush()
            return code
        except FedreproError as error:
            complain(str(error))
            return 2
        except KeyboardInterrupt as ended:
            complain("interrupted; finished trials are kept, and the same command goes on")
            return 128 + (ended.args[0] if ended.args else signal.SIGINT)
        except BrokenPipeError:  # the reader has left, as `head` does
            discard_output()
            return 141
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            discard_output()
            complain(f"{place}{error.strerror or error}")
            return 2


if __name__ == "__main__":
    sys.exit(script())
