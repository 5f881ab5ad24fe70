"""Where a round's time goes, by kinds of operators: for the limit, the plain loop and the engine.

Torch's profiler says how long every operator itself took, by the clock on the wall and with its own
bookkeeping in small operators; Python between operators is in none of them.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

from torch.profiler import ProfilerActivity, profile

from tests.benchmarks import cases
from tests.benchmarks.shapes import Shape

LIMIT = "channels last"
CALLS = (LIMIT, "plain loop", "engine")
KINDS: dict[str, tuple[str, ...]] = {
    "convolutions": ("mkldnn_convolution", "convolution_backward"),
    "matrix products": ("mm", "addmm", "bmm", "baddbmm"),
    "ReLU and pooling": (
        "clamp_min",
        "threshold_backward",
        "max_pool2d_with_indices",
        "max_pool2d_with_indices_backward",
    ),
    "Adam": ("_fused_adam_",),
    "copies, gathers and zeros": (
        "copy_",
        "fill_",
        "zero_",
        "cat",
        "index",
        "index_select",
        "_index_put_impl_",
    ),
}
OTHER = "other operators, autograd's own among them"
KIND_OF = {f"aten::{name}": kind for kind, names in KINDS.items() for name in names}


def kinds_of(call: Callable[[], Any]) -> dict[str, float]:
    """Seconds of one call by kind of operator."""
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        call()
    seconds: Counter[str] = Counter()
    for event in watched.key_averages():
        seconds[KIND_OF.get(event.key, OTHER)] += event.self_cpu_time_total / 1e6
    return dict(seconds)


def shares(shape: Shape, clients: int | None, turns: int) -> dict[str, dict[str, float]]:
    """For each of `CALLS`, times the limit's whole time by kind; medians of calls in turns."""
    calls = cases.rounds(shape, clients).calls
    found: dict[str, list[dict[str, float]]] = {name: [] for name in CALLS}
    for turn in range(turns + 1):
        for name in CALLS:
            kinds = kinds_of(calls[name])
            if turn:
                found[name].append(kinds)
    medians = {
        name: {
            kind: statistics.median(one.get(kind, 0.0) for one in of_call)
            for kind in (*KINDS, OTHER)
        }
        for name, of_call in found.items()
    }
    limit = sum(medians[LIMIT].values())
    return {
        name: {kind: value / limit for kind, value in kinds.items()}
        for name, kinds in medians.items()
    }


def table(title: str, found: dict[str, dict[str, float]]) -> list[str]:
    """Lines of Markdown: a row for each kind, a column for each call, and the sums."""
    rows = [
        f"| {kind} | " + " | ".join(f"{found[name][kind]:.2f}" for name in CALLS) + " |"
        for kind in (*KINDS, OTHER)
    ]
    sums = [sum(found[name].values()) for name in CALLS]
    rows.append("| **sum** | " + " | ".join(f"**{value:.2f}**" for value in sums) + " |")
    heads = ("limit", *CALLS[1:])
    return [f"**{title}**", "", f"| | {' | '.join(heads)} |", "|---" * 4 + "|", *rows, ""]
