"""How many classes a client holds: MFCL, Figure 7, whose text counts them.

Evidence: `tests/methods/test_fedavg.py`.
"""

from __future__ import annotations

from fedrepro.methods.data.federation import Federation

METRICS = ("classes_per_client",)


def classes_per_client(federation: Federation) -> float:
    """Mean over clients of the classes of which a client has at least one training image."""
    return float((federation.class_counts() > 0).sum(1).double().mean())
