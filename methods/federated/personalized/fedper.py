"""FedPer: the encoder is averaged, heads never leave their clients.

Paper: Arivazhagan et al. 2019, Algorithm 1; encoder and head are trained together.
Unstated: how heads begin (all alike); a novel client's head begins so too.
Evidence: `tests/methods/test_personalized.py`.
"""

from typing import ClassVar

from ...nn.classifier import ENCODER
from ._personalized import Personalized


class FedPer(Personalized):
    """Only encoders travel."""

    shared: ClassVar[tuple[str, ...]] = (ENCODER,)
