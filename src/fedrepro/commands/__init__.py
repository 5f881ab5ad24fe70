"""One subcommand of the command line a file: `HELP`, `add_arguments` and `execute`."""
