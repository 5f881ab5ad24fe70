"""Memory and time of MFCL's phase 2 at full size: `python -m tests.benchmarks.phase_two`.

The run is that of the paper's profile: CIFAR-10 under FEDREPRO_DATA (50,000 images, 10 clients,
ξ = 0.01), ResNet-18 cut behind two convolutions, TN, eight pairs of views, batches of 512 images.
The client module has its first weights unless `--rounds` asks for phase 1: what phase 2 holds does
not depend on them. `--steps` ends it early, as each step reads one mini-batch anew.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.training.stages.federated import task_of
from fedrepro.benchmark.training.stages.trial import Trial
from fedrepro.methods import registry
from fedrepro.methods.federated.split.mfcl import MFCL
from fedrepro.methods.seeds import Seeds
from fedrepro.methods.training.representations import Representations
from tests.benchmarks.peak import most_resident


class _EnoughError(Exception):
    """The asked number of steps was made."""


@dataclass(frozen=True)
class _Watched(Representations):
    """Says what every mini-batch took, and ends after `steps` of them."""

    steps: int = 0
    begun: float = 0.0

    def read(self, images: Tensor, vectors: Tensor) -> Tensor:
        done = self.__dict__.setdefault("done", -1) + 1
        self.__dict__["done"] = done
        if done == self.steps:
            raise _EnoughError
        seconds, mebibytes = time.perf_counter() - self.begun, most_resident() >> 20
        print(f"{done} steps, {seconds:.0f} s, peak {mebibytes} MiB", file=sys.stderr, flush=True)
        return super().read(images, vectors)


def phase_two(epochs: int, rounds: int, steps: int | None) -> dict[str, object]:
    """What was run, its seconds, and the peak of this process before and after it, in bytes."""
    wanted = {"client_norm": "twin", "datamix": False, "secure_aggregation": False}
    config = next(
        run
        for run in make_plan(load_paper("mfcl"), "paper").runs
        if (run.stage, run.method, run.data["name"]) == ("federated", "mfcl", "cifar10")
        and run.clients is not None
        and (run.clients["alpha"], run.clients["count"], run.encoder["name"])
        == (0.01, 10, "resnet")
        and wanted.items() <= run.options.items()
    )
    trial = Trial(config, Seeds(0), torch.device("cpu"), None, None, lambda done, total: None)
    task = task_of(trial, trial.federation())
    method: MFCL = registry.make("federated", config.method, config.options)
    method = replace(method, rounds=rounds, server_epochs=epochs)
    server, memory = method.start(task, 0), method.new_memory(task)
    before, begun, made = most_resident(), time.perf_counter(), "all"
    for t in range(method.exchanges):
        clients = method.participants(task, t)
        download = method.broadcast(task, server, t, clients)
        upload = method.local_update(task, download, t, clients, memory)
        if t == rounds:
            sent = upload.in_pieces["representations"]
            assert isinstance(sent, Representations)
            represented = sent.n_bytes
            before, begun = most_resident(), time.perf_counter()
            shown = {name: getattr(sent, name) for name in sent.__dataclass_fields__}
            watched = _Watched(**shown, steps=-1 if steps is None else steps, begun=begun)
            upload = replace(upload, in_pieces={"representations": watched})
        try:
            server = method.aggregate(task, server, upload, t, clients)
        except _EnoughError:
            made = f"the first {steps} mini-batches"
    return {
        "images": len(task.federation.train),
        "representations_bytes": represented,
        "epochs": epochs,
        "made": made,
        "seconds": round(time.perf_counter() - begun),
        "peak_before": before,
        "peak": most_resident(),
        "losses": server.losses,
    }


def main(argv: list[str] | None = None) -> int:
    """Runs it; one line of JSON, and one of progress for each mini-batch."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--epochs", type=int, default=1)
    options.add_argument("--rounds", type=int, default=0, help="of phase 1")
    options.add_argument("--steps", type=int, help="end after so many mini-batches of phase 2")
    chosen = options.parse_args(argv)
    print(json.dumps(phase_two(chosen.epochs, chosen.rounds, chosen.steps)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
