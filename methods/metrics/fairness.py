"""How evenly accuracy and classes are spread over clients.

Papers: Calibre, Section III-A (fairness is a low variance of the clients' test accuracies), Figures
3 and 4 (variance), Table I (standard deviation); MFCL, Figure 7 (classes of a client).
Unstated: population or sample variance; the population's is taken, since there are no other
clients. Accuracies are fractions: a standard deviation of 10.58 points is a variance of 0.0112, of
the size of the differences in the paper's Section V.
Evidence: `tests/methods/test_classification.py` (by hand).
"""

from collections.abc import Sequence

from torch import Tensor

from ..data.federation import Federation
from . import Evaluation, classification

OVER_CLIENTS = ("accuracy", "accuracy_variance", "accuracy_sd")
SCORES = (*OVER_CLIENTS[1:], *(f"novel_{name}" for name in OVER_CLIENTS))
METRICS = (*SCORES, "classes_per_client")


def over_clients(accuracy: Tensor, novel: int = 0) -> dict[str, float]:
    """Mean, variance and SD of accuracies; the last `novel` never trained: `novel_accuracy`, ..."""
    training = len(accuracy) - novel
    groups = {"": accuracy[:training], "novel_": accuracy[training:]}
    found: dict[str, float] = {}
    for prefix, group in groups.items():
        if len(group) > 0:
            variance = group.double().var(correction=0)
            numbers = map(float, (group.double().mean(), variance, variance.sqrt()))
            found |= zip((prefix + name for name in OVER_CLIENTS), numbers, strict=True)
    return found


def evaluate(probabilities: Sequence[Tensor], labels: Sequence[Tensor], novel: int) -> Evaluation:
    """Of all clients on their own test images, as for `classification.evaluate`."""
    evaluation = classification.evaluate(probabilities, labels, final=False)
    metrics = over_clients(evaluation.per_client["accuracy"], novel)
    return Evaluation(metrics, evaluation.per_client)


def classes_per_client(federation: Federation) -> float:
    """Mean over clients of the classes of which a client has at least one training image."""
    return float((federation.class_counts() > 0).sum(1).double().mean())
