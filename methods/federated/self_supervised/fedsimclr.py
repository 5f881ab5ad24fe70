"""FedSimCLR (FedC): SimCLR on every client, networks averaged.

Papers: fedrlc, Section IV (FedC); mfcl, Table 4; fcl, Table 1. Loss: Chen et al. 2020, NT-Xent
(`methods.objectives.simclr`), with negatives from a client's own batch. MFCL's Table 5 gives the
encoder's first two convolutions another norm than the batch's (`methods.nn.normalisation`);
there the two views of an image, which the objective encodes together, are twins.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import PositiveInt

from ...nn.normalisation import Norm, TwinVariance
from ._self_supervised import SelfSupervised


@dataclass(frozen=True)
class FedSimCLR(SelfSupervised):
    """client_norm: after the first two convolutions; `group_channels`, `twin_variance`: of it."""

    client_norm: Norm = "batch"
    group_channels: PositiveInt = 16
    twin_variance: TwinVariance = "pooled"

    def encoder_options(self) -> Mapping[str, Any]:
        if self.client_norm == "batch":
            return {}
        own = ("client_norm", "group_channels", "twin_variance")
        return {"client_layers": 2, **{name: getattr(self, name) for name in own}}

    def objective_name(self) -> str:
        return "simclr"
