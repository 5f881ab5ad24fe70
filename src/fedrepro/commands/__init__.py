"""One subcommand of the command line a file: `HELP`, `EXAMPLE`, `ARGUMENTS` and `execute`."""
