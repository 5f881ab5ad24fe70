"""Errors that a user can act on: one clear line, no traceback, exit code 2."""

import errno
import re


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


_NO_MEMORY = re.compile(
    "out of memory|not enough memory|can't allocate memory|cannot allocate memory|std::bad_alloc",
    re.IGNORECASE,
)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the host or on a device. Python raises
    `MemoryError`. Torch raises `RuntimeError`, for the host too; only its text tells. The operating
    system refuses memory to other calls with ENOMEM."""
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _NO_MEMORY.search(str(error)) is not None
    )
