"""What is measured on trained models: one module a family of metrics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True)
class Evaluation:
    """metrics: by name. `per_client`: by name, one value for each client (clients,). `counts`:
    facts about the evaluation itself (how many clients a metric was undefined for). `predicted`: a
    method's predictions for every client's test images (images x classes each), which the training
    loop scores, since only it has the labels. `over_clients`: whether scores are mean, variance and
    SD of the clients' accuracies (`metrics.fairness`), or those of `metrics.classification`."""

    metrics: Mapping[str, float]
    per_client: Mapping[str, Tensor] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    predicted: Sequence[Tensor] | None = None
    over_clients: bool = False
