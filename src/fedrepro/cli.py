"""The command `fedrepro`: finds the subcommands in `fedrepro.commands` and runs one. An error that
the user can act on is one line, never a traceback."""

import argparse
import gc
import importlib
import pkgutil
import signal
import sys
import traceback
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from types import FrameType

from fedrepro import __version__, commands
from fedrepro._config import configured
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec.folders import bundled
from fedrepro.benchmark.spec.problems import suggestion
from fedrepro.commands import _options
from fedrepro.commands._terminal import Output, complain, discard_output, open_standard_streams

_NEW_OBJECTS = 50_000
"""New objects after which Python looks for dead cycles; 700 took a third of `check`'s time."""
_GROUPS = {
    "run a paper": ("run", "plan", "report", "multiverse"),
    "judge your results": ("judge", "template"),
    "look": ("list", "show", "audit", "readings", "settings", "methods"),
    "extend": ("new-project", "new-table", "new-method", "check"),
    "maintain": ("doctor", "regress", "diff"),
}
"""The commands by what a user wants."""
_FIRST = ("list", "show", "plan", "run", "doctor")
_EXIT_CODES = (
    "Exit codes: 0 nothing discrepant or regressed, 1 something is or a trial failed,\n"
    "2 an error, 3 nothing was run, 130 interrupted, 143 terminated."
)


def build_parser(first: str = "") -> argparse.ArgumentParser:
    """The parser with every subcommand; of that called `first` alone, no other is imported then."""
    told = "Re-run the tables of papers and say cell by cell what holds."
    parser = argparse.ArgumentParser(prog="fedrepro", allow_abbrev=False, description=told)
    parser.add_argument("--version", action="version", version=f"fedrepro {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)
    names = [one.name for one in pkgutil.iter_modules(commands.__path__)]
    defaults = {f"--{key}": value for key, value in configured().items()}
    named = {name.replace("_", "-"): name for name in names if not name.startswith("_")}
    for shown, name in {first: named[first]}.items() if first in named else named.items():
        module = importlib.import_module(f"{commands.__name__}.{name}")
        told = str(module.__doc__)[:1].lower() + str(module.__doc__)[1:].removesuffix(".")
        verb = verbs.add_parser(
            shown,
            help=told,
            description=told,
            epilog=f"Example: {module.EXAMPLE}",
            allow_abbrev=False,
        )
        for add in module.ARGUMENTS:
            add(verb)
        for action in verb._actions:
            for name in defaults.keys() & action.option_strings:
                action.default = str(defaults[name])  # read by the option's own type
        verb.set_defaults(execute=module.execute, verb=verb)
    begin = "Begin with those marked *. `fedrepro COMMAND --help` has options and an example."
    lines = [parser.format_usage(), str(parser.description), begin, ""]
    helps = {name: verb.description for name, verb in verbs.choices.items()}
    for title, group in _GROUPS.items():
        lines.append(f"{title}:")
        lines += [f" {' *'[n in _FIRST]} {n:<12}{helps[n]}" for n in group if n in helps]
    lines += ["", f"Guides: {bundled('docs')}, first-report.md to begin with", _EXIT_CODES, ""]
    overview = "\n".join(lines)
    parser.format_help = lambda: overview  # type: ignore[method-assign]
    return parser


def parse(words: Sequence[str]) -> argparse.Namespace:
    """What a command line asks for; one that cannot be read ends the process with 2."""
    first = "".join(words[:1])
    parser = build_parser(first)
    known: Iterable[str] = parser._actions[-1].choices or ()
    if first[:1] not in ("", "-") and first not in known:
        hint = suggestion(first, [*known]) or "; `fedrepro --help` lists them"
        parser.error(f"no command '{first}'{hint}")
    args, unknown = parser.parse_known_args(words)
    if unknown:
        names = [name for one in args.verb._actions for name in one.option_strings]
        option = unknown[0].partition("=")[0]
        hint = suggestion(option, names) if option.startswith("-") else ""
        hint = f"; write {option} behind the command" if option in names else hint
        before = words[: [*words, unknown[0]].index(unknown[0])]
        last = next((one for one in reversed(before) if one.startswith("-")), "")
        if not hint and last in ("--tables", "--reading"):
            at = len(before) - before[::-1].index(last)
            hint = f"; write {last} {','.join(words[at : at + 2])}"
        args.verb.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    given = [word.partition("=")[0] for word in words]
    for one in args.verb._actions:
        again = sum(map(given.count, one.option_strings)) > 1
        if again and not isinstance(one, argparse._AppendAction):  # argparse takes the last
            args.verb.error(f"{one.option_strings[-1]} is given twice")
    return args


def script() -> int:
    """`main` in a process that ends with it, after the first SIGINT or SIGTERM; the exit code."""
    for number in _ENDING:
        signal.signal(number, _end)
    code = main()
    gc.freeze()  # at its end Python looks through all that is left, for a fifth of `check`'s time
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
            args = parse(sys.argv[1:] if arguments is None else arguments)
            _options.check(args)
            code = _executed(args)
            # What waits in the buffer may still be refused; at exit nobody could say so.
            sys.stdout.flush()
            return code
        except FedreproError as error:
            complain(str(error))
            return 2
        except KeyboardInterrupt as ended:
            complain("interrupted; finished trials are stored, and the same command continues")
            return 128 + (ended.args[0] if ended.args else signal.SIGINT)
        except BrokenPipeError:  # the reader has left, as `head` does
            discard_output()
            return 141
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            discard_output()
            complain(f"{place}{error.strerror or error}")
            return 2


def _executed(args: argparse.Namespace) -> int:
    """A command's exit code; `FedreproError` where code that it called would end the process."""
    try:
        return int(args.execute(args) or 0)
    except (SystemExit, GeneratorExit) as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{place.filename}:{place.lineno} raises {type(error).__name__}"
        raise FedreproError(f"{said}, so the command did not come to its end") from None
