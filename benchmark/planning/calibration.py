"""How fast a device is: seven numbers, measured once on small networks and kept.

Measured are whole training steps (forward, backward, Adam) of networks in which one thing rules
each: operators (tiny images), multiply-adds (many channels), bytes (few channels on large images),
as a single model and as stacked ones, two tiny federated trials, and views. Non-negative least
squares on relative errors gives what one of each costs. On a processor it is the processor's time
that counts, not that of the wall, and the least of a few repetitions: other programs on the machine
change it less.

The file, `calibration.json` in the user's cache folder, holds an entry by device, version of torch
and precision. It is measured anew after `MAX_AGE_DAYS`, for another version, and where it is
damaged.
Evidence: `tests/benchmark/test_calibration.py`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from . import kept
from .work import Work

MAX_AGE_DAYS = 90
FILE = "calibration.json"
_REPEATED_S, _MOST, _FEWEST = 0.25, 25, 4
_DAY_S = 86_400
_MEASURED = {
    "operator": "operators",
    "stacked_operator": "stacked_operators",
    "multiply_add": "multiply_adds",
    "byte": "bytes",
    "stacked_byte": "stacked_bytes",
    "weight": "weights",
}
"""What is fitted, and what of a work it is the price of."""
_VIEWS = (64, 3, 32, 32)


@dataclass(frozen=True)
class Calibration:
    """Seconds that one takes: an operator, a multiply-add, a byte that autograd saves, a weight
    that is moved, a number of a view."""

    operator: float
    stacked_operator: float
    multiply_add: float
    byte: float
    stacked_byte: float
    weight: float
    view: float

    def seconds(self, work: Work) -> float:
        """What so much takes."""
        return (
            self.operator * work.operators
            + self.stacked_operator * work.stacked_operators
            + self.multiply_add * work.multiply_adds
            + self.byte * work.bytes
            + self.stacked_byte * work.stacked_bytes
            + self.weight * work.weights
            + self.view * work.view_numbers
        )


USUAL = Calibration(1e-5, 5e-6, 2e-11, 1e-9, 2e-9, 2e-9, 1e-8)
"""Where memory is too short to measure: one core of a processor of 2023."""


def calibration(device: str, device_name: str, precision: str = "float32") -> Calibration:
    """The device's speed, from the cache folder where it is known and not too old."""
    key = key_of(device_name, precision)
    held = kept.read(FILE)
    entries: dict[str, Any] = held if isinstance(held, dict) else {}
    found = _usable(entries.get(key))
    if found is not None:
        return found
    measured, whole = _measured(device, precision)
    if whole:
        kept.write(FILE, {**entries, key: {"measured": time.time(), "seconds": asdict(measured)}})
    return measured


def key_of(device_name: str, precision: str) -> str:
    """The name of a device's entry; another version of torch has another."""
    return f"{device_name}, torch {version('torch')}, {precision}"


def _usable(entry: Any) -> Calibration | None:
    """The numbers of an entry; None where it is damaged or too old."""
    try:
        found = Calibration(**{name: float(value) for name, value in entry["seconds"].items()})
        age = time.time() - float(entry["measured"])
    except (TypeError, KeyError, ValueError, AttributeError):
        return None
    sound = all(math.isfinite(v) and v >= 0 for v in asdict(found).values()) and found.operator > 0
    return found if sound and 0 <= age < MAX_AGE_DAYS * _DAY_S else None


def _measured(device: str, precision: str) -> tuple[Calibration, bool]:
    """The numbers, and whether they were measured."""
    from ..errors import is_out_of_memory

    try:
        from ...methods.nn.precision import computing_in, refusal

        # A trial may run elsewhere: a precision that this device lacks is not a reason to stop.
        known = precision if refusal(precision, device) is None else "float32"
        with computing_in(known, device):
            return _fitted(device), True
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return USUAL, False


def _fitted(device: str) -> Calibration:
    import numpy as np
    import torch
    from scipy.optimize import nnls

    from .probe import STEPS, TRIALS, step_of, trial_of, views_of

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows, seconds = [], []
        probes = [partial(step_of, probe) for probe in STEPS]
        probes += [partial(trial_of, method) for method in TRIALS]
        for probe in probes:
            work, step = probe(device)
            rows.append([getattr(work, name) for name in _MEASURED.values()])
            seconds.append(least(step, device))
        numbers, draw = views_of(_VIEWS, device)
        view = least(draw, device) / numbers
    finally:
        torch.set_num_threads(threads)
    found, _ = nnls(np.array(rows) / np.array(seconds)[:, None], np.ones(len(rows)))
    return Calibration(**dict(zip(_MEASURED, map(float, found), strict=True)), view=view)


def least(call: Callable[[], None], device: str) -> float:
    """Seconds of a call: the least of a few, of the processor, on another device of the wall."""
    on_cpu = device == "cpu"
    clock = time.process_time if on_cpu else time.perf_counter
    call()  # pays for allocation
    best, total, calls = math.inf, 0.0, 0
    while calls < _FEWEST or (total < _REPEATED_S and calls < _MOST):
        _wait(device)
        began = clock()
        call()
        _wait(device)
        took = clock() - began
        best, total, calls = min(best, took), total + took, calls + 1
    return best


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        import torch

        torch.cuda.synchronize(device)
