"""One subcommand a file: its docstring is the help; `EXAMPLE`, `ARGUMENTS` and `execute`."""
