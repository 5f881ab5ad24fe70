"""One format of the report a file, found by its name.

Each has `FILE`, the name of its file; `render`, which makes it of some reports; and `join`, which
makes it of many papers, from their counts and from the files that `render` made of each alone.
"""
