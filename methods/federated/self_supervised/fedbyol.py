"""FedBYOL (FedNC): BYOL on every client, online networks averaged.

Papers: fedrlc, Sections IV and VII; Zhuang et al. 2021 and 2022, who use it as a baseline. Loss:
Grill et al. 2020 (`methods.objectives.byol`).
Unstated: a client's target network between rounds (a copy of what it receives each round).
Evidence: `tests/methods/test_self_supervised.py`.
"""

from __future__ import annotations

from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised


class FedBYOL(SelfSupervised):
    """Options of every method, and those of BYOL."""

    def objective_name(self) -> str:
        return "byol"
