"""One format of the report a module, found by its name. Each has `FILE`, the name of its file, and
`render`, which makes it of some reports."""
