"""FedSimCLR (FedC): SimCLR on every client, networks averaged.

Papers: fedrlc, Section IV (FedC); mfcl, Table 4; fcl, Table 1. Loss: Chen et al. 2020, NT-Xent
(`methods.objectives.simclr`), with negatives from a client's own batch.
Evidence: `tests/methods/test_self_supervised.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

from methods.federated._self_supervised import SelfSupervised


@dataclass(frozen=True)
class FedSimCLR(SelfSupervised):
    """Options as for every method, those of SimCLR beside them."""

    def objective_name(self) -> str:
        return "simclr"
