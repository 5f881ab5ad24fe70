"""The devices of this machine, and how many workers they are good for."""

from __future__ import annotations

import torch

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.processes import cores


def devices_for(device: str) -> tuple[str, ...]:
    """The devices that `device` stands for.

    Raises `FedreproError` for a device that this machine lacks.
    """
    n_gpus = torch.cuda.device_count()
    if device == "auto":
        device = "cuda" if n_gpus else "cpu"
    if device == "cuda" and n_gpus:
        return tuple(f"cuda:{i}" for i in range(n_gpus))
    try:
        # Read back: the device 'meta' would take numbers, but never give one.
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise FedreproError(f"device '{device}' is not available here; try cpu or auto") from error
    return (device,)


def default_jobs(devices: tuple[str, ...]) -> int:
    """Worker processes: one a GPU, or one a core."""
    if devices[0] != "cpu":
        return len(devices)
    return cores()
