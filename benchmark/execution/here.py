"""The device that this machine would train on, told without torch where there can be no other.

Evidence: `tests/benchmark/test_work.py` holds it to what executors and trials say.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from ..processor import processor
from .processes import cores

_GPUS = ("nvidia0", "nvidiactl", "kfd", "dxg")
"""Files in /dev of which a GPU that torch can use has one (CUDA, ROCm, WSL)."""


@dataclass(frozen=True)
class Here:
    """device: as torch names it. name: of the hardware. slots: trials at once."""

    device: str
    name: str
    slots: int


def here(device: str, jobs: int | None) -> Here:
    """Where `--device` and `--jobs` would train on this machine.

    Raises `FedreproError` for a device that it lacks.
    """
    if device == "cpu" or (device == "auto" and _has_no_gpu()):
        return Here("cpu", processor(), (cores() if jobs is None else jobs) or 1)
    from ..training.training import device_name
    from .executors.base import ExecutorOptions
    from .executors.local import LocalExecutor

    found = LocalExecutor(ExecutorOptions(None, device, jobs))
    return Here(found.device, device_name(found.device), found.slots)


def _has_no_gpu() -> bool:
    dev = Path("/dev")
    return platform.system() == "Linux" and not any((dev / name).exists() for name in _GPUS)
