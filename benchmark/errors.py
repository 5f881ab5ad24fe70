"""Errors that a user can act on: one clear line, no traceback, exit code 2."""

from __future__ import annotations


class FedreproError(Exception):
    """Base of every error that the command line prints as one line."""


class SpecError(FedreproError):
    """A table spec that cannot be meant as written; names file, line and key."""


class DataError(FedreproError):
    """A data set that is missing, damaged or not what its name promises."""


class MissingDataError(DataError):
    """A data set that is not there at all."""


class StoreError(FedreproError):
    """A store that cannot be read or written."""
