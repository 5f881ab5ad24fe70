"""FedBYOL (FedNC): BYOL on every client, online networks averaged.

Papers: fedrlc, Sections IV and VII; Zhuang et al. 2021 and 2022. Loss: `methods.objectives.byol`.
Unstated: a client's target network between rounds. By default it is a copy of what the client
receives each round. With `keeps_target` it stays on the client, as in the code of Zhuang et al.
(EasyFL, `applications/fedssl/client.py`, `update_encoder` `online`).
Evidence: `tests/methods/test_self_supervised.py`, `tests/methods/test_fedema.py`.
"""

from ._self_supervised import WithTarget


class FedBYOL(WithTarget):
    """Options of every method (`WithTarget`), and those of BYOL."""

    def objective_name(self) -> str:
        return "byol"
