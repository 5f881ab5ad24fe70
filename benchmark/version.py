"""The version of fedrepro."""

__version__ = "0.1.0"
