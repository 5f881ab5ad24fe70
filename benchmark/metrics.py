"""What values a metric can have, and whether less of it is better."""

import math
import sys
from contextlib import suppress
from dataclasses import dataclass

from ..methods import registry


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, as fractions where a table prints percentages.

    Attributes:
        low: the smallest value there is, None without one.
        high: the largest value there is, None without one.
        lower_is_better: whether less is better.
    """

    low: float | None = None
    high: float | None = None
    lower_is_better: bool = False

    def bounds(self, unit: str | None) -> tuple[float, float]:
        """The smallest and the largest value in a unit; infinite where there is none."""
        scale = 100.0 if unit == "%" else 1.0
        low = -math.inf if self.low is None else self.low * scale
        return low, math.inf if self.high is None else self.high * scale


_SHARE = Metric(0.0, 1.0)
_INDEX = Metric(-1.0, 1.0)
_COST = Metric(0.0, lower_is_better=True)
_METRICS = {
    "accuracy": _SHARE,
    "accuracy_sd": Metric(0.0, 0.5, lower_is_better=True),
    "accuracy_variance": Metric(0.0, 0.25, lower_is_better=True),
    "ari": _INDEX,
    "auroc_ovo_macro": _SHARE,
    "auroc_ovo_weighted": _SHARE,
    "auroc_ovr_macro": _SHARE,
    "auroc_ovr_weighted": _SHARE,
    "bits": _COST,
    "bytes": _COST,
    "cluster_recovery": _SHARE,
    "clustering_accuracy": _SHARE,
    "clustering_failed": Metric(0.0, 1.0, lower_is_better=True),
    "f1_macro": _SHARE,
    "f1_weighted": _SHARE,
    "false_negative_ratio": Metric(0.0, 1.0, lower_is_better=True),
    "flops": _COST,
    "headroom": _INDEX,
    "image_error": _COST,
    "merged_groups": _COST,
    "nmi": _SHARE,
    "novel_accuracy": _SHARE,
    "novel_accuracy_variance": Metric(0.0, 0.25, lower_is_better=True),
    "probe_pixels": _SHARE,
    "probe_pretrained": _SHARE,
    "probe_random": _SHARE,
    "rare_share": _SHARE,
    "restarts": _COST,
    "silhouette": _INDEX,
    "view_error": _COST,
}

_ROUNDING = 1e-6
"""By how much, relative to it, the rounding of a sum may pass a bound."""


def metric(name: str | None) -> Metric | None:
    """What is known of a metric; None of one that is not listed, and no module of its own."""
    return _METRICS.get((name or "").removesuffix("_by_client")) or _own(name or "")


def _own(name: str) -> Metric | None:
    # Names of results and reports come from strangers: only what a spec has imported is asked.
    if name.partition(":")[0] in sys.modules or name in registry.installed("metric"):
        with suppress(Exception):  # whatever the code of a user raises; `check` says it
            found = registry.find("metric", name)
            return Metric(found.low, found.high, found.lower_is_better)
    return None


def outside(value: float, name: str | None, unit: str | None) -> str | None:
    """What is wrong with a value that its metric cannot have; None where it can have it."""
    known = metric(name)
    low, high = (-math.inf, math.inf) if known is None else known.bounds(unit)
    if low - _ROUNDING * abs(low) <= value <= high + _ROUNDING * abs(high):
        return None
    written = unit or ""
    ends = f"{low:g} to {high:g}" if math.isfinite(high) else f"{low:g} and more"
    return f"{value:g}{written} is no {name}, which is {ends}{written}"


def looks_like_fraction(value: float, name: str | None, unit: str | None) -> bool:
    """Whether a value of a share in percent may have been meant as a fraction."""
    known = metric(name)
    return unit == "%" and known is not None and known.high == 1 and 0 < value <= 1


def within_bounds(
    interval: tuple[float, float] | None, name: str | None, unit: str | None
) -> tuple[float, float] | None:
    """An interval cut at the values that a metric can have."""
    known = metric(name)
    if interval is None or known is None:
        return interval
    low, high = known.bounds(unit)
    return max(interval[0], low), min(interval[1], high)
