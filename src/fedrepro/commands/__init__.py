"""One subcommand a file: its docstring is the help; `EXAMPLE`, `ARGUMENTS`, and `execute`, which
gives the exit code (nothing means 0)."""
