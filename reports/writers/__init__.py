"""One format of the report a file, found by its name: `FILE` and `write`."""
