"""How long trials take together, and durations in words."""

from __future__ import annotations

from collections.abc import Sequence

from fedrepro.benchmark.config import RunConfig


def elapsed(trials: Sequence[tuple[RunConfig, float]], workers: int) -> float:
    """Wall seconds of trials (run, seconds) on `workers` processes: at least the longest chain."""
    own = dict(trials)

    def chain(config: RunConfig | None) -> float:
        return 0.0 if config is None else own.get(config, 0.0) + chain(config.start)

    longest = max((chain(config) for config in own), default=0.0)
    return max(sum(seconds for _, seconds in trials) / max(workers, 1), longest)


def duration(seconds: float) -> str:
    """Seconds as people say them: '8 s', '7 min', '2.5 h', '3 days'."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    if seconds < 3570:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
