"""Networks that objectives have in common: a projector, and for BYOL and SimSiam a predictor.

Paper: CP-CFL, Section 4.1: a projector of two batch-normalised layers of 512, ReLU on the first;
predictor 64 (batch norm, ReLU), then 512.
Unstated: dense layers before batch normalisation have no bias.
Evidence: `tests/methods/test_objectives.py` (torch.nn networks).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from ..nn.layers import Layer, dense_layers
from ..state import State
from ._memory import last_width, unit
from .base import Learner, Objective


class ProjectingLearner(Learner):
    """Encoder and projector of features of length one, `width` wide (MoCo, DeepCluster)."""

    def __init__(self, encoder: Layer, dim: int, widths: Sequence[int], normalised: int) -> None:
        self.encoder = encoder
        self.projector = dense_layers("projector", dim, widths, normalised)
        self.networks = (self.encoder, self.projector)
        self.width = last_width(tuple(widths), dim)

    def project(self, state: State, x: Tensor, training: bool = True) -> Tensor:
        """Features of length one, models x batch x width, by the weights in `state`."""
        h = self.encoder(state, x, training)  # models x batch x dim
        return unit(self.projector(state, h, training))  # models x batch x width


@dataclass(frozen=True)
class Predicting(Objective):
    """Options of the networks. The predictor's output is as wide as the projector's.

    `projector_output_norm`: whether the projector's last layer is batch-normalised, as CP-CFL says
    of both layers and as Chen and He do for SimSiam. In the code of Grill et al. for BYOL
    (deepmind-research, `byol/utils/networks.py`) and in that of FedEMA for both (EasyFL,
    `applications/fedssl/model.py`) it is not."""

    positive_samples: ClassVar[bool] = True
    projector: ClassVar[bool] = True
    predictor: ClassVar[bool] = True
    stop_gradient: ClassVar[bool] = True

    projector_widths: tuple[int, ...] = (512, 512)
    projector_output_norm: bool = True
    predictor_width: int = 64


class PredictingLearner(Learner):
    """Encoder, projector and predictor."""

    def __init__(self, encoder: Layer, dim: int, options: Predicting) -> None:
        widths = options.projector_widths
        bottleneck = (options.predictor_width, widths[-1])
        self.encoder = encoder
        normalised = len(widths) - (not options.projector_output_norm)
        self.projector = dense_layers("projector", dim, widths, normalised)
        self.predictor = dense_layers("predictor", widths[-1], bottleneck, normalised=1)
        self.networks: tuple[Layer, ...] = (self.encoder, self.projector, self.predictor)
