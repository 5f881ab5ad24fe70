"""What values a metric can have, and whether less of it is better."""

import math
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from ..methods import registry


@dataclass(frozen=True, slots=True)
class MetricRange:
    """A metric, as fractions where a table prints percentages. `low`, `high`: the smallest and the
    largest value there is, None without one."""

    low: float | None = None
    high: float | None = None
    lower_is_better: bool = False

    def bounds(self, unit: str | None) -> tuple[float, float]:
        """The smallest and the largest value in a unit; infinite where there is none."""
        scale = 100.0 if unit == "%" else 1.0
        low, high = (None if end is None else end * scale for end in (self.low, self.high))
        return -math.inf if low is None else low, math.inf if high is None else high


_METRICS = {
    name: known
    for names, known in (
        ("accuracy auroc_ovo_macro auroc_ovo_weighted auroc_ovr_macro auroc_ovr_weighted"
         " cluster_recovery clustering_accuracy f1_macro f1_weighted nmi novel_accuracy"
         " probe_pixels probe_pretrained probe_random rare_share", MetricRange(0.0, 1.0)),
        ("ari headroom silhouette", MetricRange(-1.0, 1.0)),
        ("bits bytes flops image_error merged_groups restarts uploaded_bytes view_error",
         MetricRange(0.0, lower_is_better=True)),
        ("client_imbalance clustering_failed false_negative_ratio server_imbalance",
         MetricRange(0.0, 1.0, lower_is_better=True)),
        ("accuracy_variance novel_accuracy_variance", MetricRange(0.0, 0.25, lower_is_better=True)),
        ("accuracy_sd", MetricRange(0.0, 0.5, lower_is_better=True)),
    )
    for name in names.split()
}  # fmt: skip

_ROUNDING = 1e-6
"""By how much, relative to it, the rounding of a sum may pass a bound."""


def metric(name: str | None) -> MetricRange | None:
    """What is known of a metric; None of one that is not listed, and no module of its own."""
    return _METRICS.get((name or "").removesuffix("_by_client")) or _own(name or "")


def _own(name: str) -> MetricRange | None:
    # Names of results and reports come from strangers: only what a spec has imported is asked.
    if name.partition(":")[0] in sys.modules or name in registry.installed("metric"):
        with suppress(Exception):  # whatever the code of a user raises; `check` says it
            found = registry.find("metric", name)
            return MetricRange(found.low, found.high, found.lower_is_better)
    return None


def best(values: Iterable[float], name: str | None) -> float:
    """The best of a metric's values, the smallest where less is better."""
    return (min if (metric(name) or MetricRange()).lower_is_better else max)(values)


def outside(value: float, name: str | None, unit: str | None) -> str | None:
    """What is wrong with a value that its metric cannot have; None where it can have it."""
    known = metric(name)
    low, high = (-math.inf, math.inf) if known is None else known.bounds(unit)
    if low - _ROUNDING * abs(low) <= value <= high + _ROUNDING * abs(high):
        return None
    written = unit or ""
    ends = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more"
    return f"{value:g}{written} is no {name}, which is {ends}{written}"


def looks_like_fraction(
    value: float, name: str | None, unit: str | None, endless: float | None = None
) -> bool:
    """Whether a value in percent is also one of its metric's values as a fraction. `endless`: the
    largest one of a metric that has no end."""
    high = (metric(name) or MetricRange()).high or endless
    return unit == "%" and high is not None and high <= 1 and 0 < value <= high


def within_bounds(
    interval: tuple[float, float] | None, name: str | None, unit: str | None
) -> tuple[float, float] | None:
    """An interval cut at the values that a metric can have."""
    known = metric(name)
    if interval is None or known is None:
        return interval
    low, high = known.bounds(unit)
    return max(interval[0], low), min(interval[1], high)
