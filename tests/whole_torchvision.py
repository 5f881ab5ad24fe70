"""Lets `import torchvision` succeed beside a torch that its compiled part was not built for.

torchvision tolerates a `_C` extension that does not load (a CUDA build beside a CPU-only torch) in
every place but one: it registers fake kernels for `nms` and `qnms` whether or not they exist.
Data sets, models and transforms need neither. Whoever imports torchvision calls this first.
"""

import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from pathlib import Path

import torch

_OPERATORS = ("nms", "qnms")
_declared: list[torch.library.Library] = []


def ensure_torchvision() -> None:
    """Makes the next `import torchvision` work where only its detection operators are unusable.
    Does nothing if torchvision is missing, already imported, or whole. Detection operators that
    could not be loaded still fail when they are called."""
    if _declared or "torchvision" in sys.modules:
        return
    spec = importlib.util.find_spec("torchvision")
    if spec is None or not spec.submodule_search_locations:
        return
    if _loads(Path(spec.submodule_search_locations[0])):
        return
    # A fragment, because torch aborts the process when a second library defines a namespace.
    library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
    for name in _OPERATORS:
        if not hasattr(torch.ops.torchvision, name):
            schema = f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            library.define(schema)  # type: ignore[no-untyped-call]
    _declared.append(library)


def _loads(folder: Path) -> bool:
    """Whether the compiled part in `folder` can be loaded, tried as torchvision tries it."""
    extension = FileFinder(str(folder), (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec("_C")
    if extension is None or extension.origin is None:
        return False
    try:
        torch.ops.load_library(extension.origin)  # type: ignore[no-untyped-call]
    except (ImportError, OSError):
        return False
    return True
