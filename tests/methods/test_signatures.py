from __future__ import annotations

from typing import Any

import pytest

from fedrepro.methods.federated.base import FederatedMethod
from fedrepro.methods.federated.personalized._personalized import Personalized
from fedrepro.methods.federated.self_supervised._self_supervised import SelfSupervised
from fedrepro.methods.federated.supervised.fedavg import FedAvg

OLD: dict[str, tuple[type[FederatedMethod], Any]] = {
    "broadcast": (FedAvg, lambda self, task, server, t, clients: None),
    "local_update": (FedAvg, lambda self, task, download, t, clients, memory: None),
    "aggregate": (FedAvg, lambda self, task, server, upload, t, clients: None),
    "failed": (FedAvg, lambda self, task, server, t, attempt: None),
    "train": (FedAvg, lambda self, task, local_loss, start, t, clients: None),
    "begin": (SelfSupervised, lambda self, task, download, t, clients, memory: None),
    "local_loss": (SelfSupervised, lambda self, task, t, clients: None),
    "adapt": (Personalized, lambda self, server: None),
}


@pytest.mark.parametrize("name", OLD)
def test_a_step_with_other_arguments_is_refused_when_its_class_is_made(name: str) -> None:
    base, step = OLD[name]
    with pytest.raises(TypeError) as refused:
        type("Mine", (base,), {name: step})
    said = str(refused.value)
    assert f"{__file__}:{step.__code__.co_firstlineno}: Mine.{name} takes (self, " in said
    assert f"write `def {name}(self, " in said


def test_the_refusal_says_what_to_write() -> None:
    with pytest.raises(TypeError) as refused:
        type("Mine", (FedAvg,), {"aggregate": OLD["aggregate"][1]})
    assert (
        "Mine.aggregate takes (self, task, server, upload, t, clients) but is called with "
        "(self, now, server, upload): write `def aggregate(self, now: Round, server: Server, "
        "upload: Message) -> Server`; the round `now` holds now.task, now.t and now.clients"
    ) in str(refused.value)


def test_other_names_and_further_options_are_allowed() -> None:
    class Mine(FedAvg):
        def aggregate(self, r: Any, mine: Any, theirs: Any, share: float = 0.5) -> Any:
            return mine

    assert Mine().aggregate(None, 1, None) == 1
