"""Data sets by name, with what they are, where they came from and how they are brought to size."""

from ..data_names import names
from .loading import PARTS, Loaded, build_federation, classes_of, find, load

__all__ = ["PARTS", "Loaded", "build_federation", "classes_of", "find", "load", "names"]
