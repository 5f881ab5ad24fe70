"""What is measured on trained models: one module a family of metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Evaluation:
    """metrics: by name. per_client: by name, one value for each client (clients,).

    counts: facts about the evaluation itself (how many clients a metric was undefined for).
    """

    metrics: Mapping[str, float]
    per_client: Mapping[str, Tensor] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
