"""Options of encoders whose first convolutions belong to the clients: MFCL's modules and norms.

Paper: MFCL, Section 5.1 (cut-off layer), Tables 9 to 11, Section 5.5 (TN in FedSimCLR).
Deviations: Table 10's widths occur in no ResNet-50. So Table 10's client module replaces the
network's first convolutions, and the pooling at its end replaces those before the cut. If a cut
goes through a residual block, the block's other convolutions go on as a plain chain.
Evidence: `tests/methods/test_modular.py`.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pydantic import NonNegativeInt, PositiveInt

from ..nn.layers import Layer, Sequential, dense_layers
from ..nn.mfcl_modules import Convolution, client_autoencoder
from ..nn.modular import MODULE, ModularNetwork, plain_layers
from ..nn.normalisation import Norm, TwinVariance, normalisation
from .base import Encoder


@dataclass(frozen=True, kw_only=True)
class ClientLayers(Encoder):
    """client_layers: how many first convolutions have the norm `client_norm`; the rest have BN.

    `group_channels`: Λ of `group` and `twin`. `twin_variance`: of `twin`, `pooled` as in Eq. 2 or
    `averaged` as in Table 18. `norm_momentum`: of the running statistics of `batch`. `modular`:
    they are MFCL's client module. `projector_widths`: batch-normalised dense layers on top."""

    client_layers: NonNegativeInt = 0
    client_norm: Norm = "batch"
    group_channels: PositiveInt = 16
    twin_variance: TwinVariance = "pooled"
    norm_momentum: float = 0.1
    modular: bool = False
    projector_widths: tuple[PositiveInt, ...] = ()

    def __post_init__(self) -> None:
        if self.projector_widths and not self.modular:
            raise ValueError("projector_widths belong to a modular network")

    @property
    @abstractmethod
    def network_dim(self) -> int:
        """Width of the network's output, below the projector."""

    @property
    def out_dim(self) -> int:
        return self.projector_widths[-1] if self.projector_widths else self.network_dim

    def _normalised(self, index: int, name: str, channels: int) -> Layer:
        """The normalisation after convolution `index`, counted from 0 (-1: on a shortcut)."""
        norm = self.client_norm if 0 <= index < self.client_layers else "batch"
        return normalisation(
            norm, name, channels, self.group_channels, self.norm_momentum, self.twin_variance
        )

    def _modular(
        self, channels: int, width: int, rest_for: Callable[[int], list[Layer]]
    ) -> ModularNetwork:
        """The client module, and behind it `rest_for` so many channels."""
        plan = client_autoencoder(self.client_layers, channels, width).module
        put_out = [one.outputs for one in plan if isinstance(one, Convolution)][-1]
        module = plain_layers(MODULE, plan, partial(self._normalised, 0))
        projector = None
        if widths := self.projector_widths:
            projector = dense_layers("encoder.projector", self.network_dim, widths, len(widths))
        return ModularNetwork(module, Sequential(*rest_for(put_out)), projector, plan)
