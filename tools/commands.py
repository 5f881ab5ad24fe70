"""The commands in docs/commands.md, made from their parsers: `python -m tools.commands`."""

import argparse
from collections.abc import Iterator

from fedrepro.cli import build_parser
from tools.found import ROOT, filled, row, table

PAGE = ROOT / "docs/commands.md"


def lines() -> Iterator[str]:
    yield from table("command", "what it does", "options", "example")
    (verbs,) = (
        one for one in build_parser()._actions if isinstance(one, argparse._SubParsersAction)
    )
    for name, verb in dict(
        sorted((parser.prog, parser) for parser in verbs.choices.values())
    ).items():
        options = (f"`{one.option_strings[-1]}`" for one in verb._actions if one.option_strings)
        example = (verb.epilog or "").removeprefix("Example: ")
        shown = " ".join(one for one in options if one != "`--help`")
        yield row(f"`{name.removeprefix('fedrepro ')}`", verb.description, shown, f"`{example}`")


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text("utf-8"), lines()), "utf-8")
