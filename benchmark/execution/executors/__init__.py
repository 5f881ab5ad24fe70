"""Where trials are trained, on this machine or on a cluster: one executor a file, found by name."""

from ....methods.registry import UnknownNameError, class_in, names_in
from ...errors import FedreproError
from .base import Executor


def find(name: str) -> type[Executor]:
    """The executor of that name; `FedreproError` if it, or a package that it needs, is missing."""
    known = names_in(__name__)
    if name not in known:
        raise FedreproError(str(UnknownNameError("executor", name, known)))
    try:
        found: type[Executor] = class_in(f"{__name__}.{name.replace('-', '_')}", Executor)
    except ModuleNotFoundError as error:
        raise FedreproError(
            f"executor {name} needs the package {error.name}: pip install 'fedrepro[cluster]'"
        ) from error
    return found
