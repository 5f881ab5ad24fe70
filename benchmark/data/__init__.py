"""Data sets by name, with what they are, where they came from and how they are brought to size."""

from .loading import (
    PARTS,
    Loaded,
    build_federation,
    classes_of,
    load,
    module_of,
    names,
)

__all__ = ["PARTS", "Loaded", "build_federation", "classes_of", "load", "module_of", "names"]
