"""FedAvg-FT: one model by federated averaging, then a head fine-tuned by every client.

Papers: McMahan et al. 2017, Algorithm 1; Calibre, Section V-A.
Evidence: `tests/methods/test_personalized.py` (its training is FedAvg's).
"""

from ._personalized import Personalized


class FedAvgFT(Personalized):
    """Everything is shared; the global head is where fine-tuning starts."""
