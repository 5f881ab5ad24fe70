"""`fedrepro completion`: a script that completes commands, options, papers and tables."""

from __future__ import annotations

import argparse

HELP = "print a completion script for bash or zsh"
EXAMPLE = 'eval "$(fedrepro completion bash)"'
_SCRIPT = """\
{zsh}_fedrepro() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" words
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    words="$words {papers}"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _fedrepro fedrepro
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=("bash", "zsh"), help="which shell reads the script")


def execute(given: argparse.Namespace) -> int:
    """Prints the script; it is made anew from the parser, so it cannot be out of date."""
    from fedrepro.benchmark.spec.load import paper_ids

    verbs = next(
        action.choices
        for action in given.parser._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    cases = [
        f'      {name}) words="{" ".join(sorted(_options(parser)))}" ;;'
        for name, parser in verbs.items()
    ]
    zsh = "autoload -U +X bashcompinit && bashcompinit\n" if given.shell == "zsh" else ""
    print(
        _SCRIPT.format(
            zsh=zsh,
            commands=" ".join(verbs),
            cases="\n".join(cases),
            papers=" ".join(paper_ids()),
        ),
        end="",
    )
    return 0


def _options(parser: argparse.ArgumentParser) -> list[str]:
    found: list[str] = []
    for action in parser._actions:
        found += [option for option in action.option_strings if option.startswith("--")]
        found += [str(choice) for choice in action.choices or ()]
    return found
