"""One subcommand a file: its docstring is the help; `EXAMPLE`, `ARGUMENTS`, `execute`.

`execute` gives the exit code; nothing means 0.
"""
