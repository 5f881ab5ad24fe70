"""One simulator in a process of its own; prints times and accuracy as the last line, as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
from dataclasses import asdict

import torch

from tests.benchmarks.peers.work import Work
from tests.whole_torchvision import ensure_torchvision


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("simulator")
    options.add_argument("shape")
    options.add_argument("clients", type=int)
    options.add_argument("rounds", type=int)
    chosen = options.parse_args()
    torch.set_num_threads(1)
    ensure_torchvision()
    simulator = importlib.import_module(f"tests.benchmarks.peers.{chosen.simulator}")
    result = simulator.train(Work(chosen.shape, chosen.clients, chosen.rounds))
    print(json.dumps(asdict(result)))


if __name__ == "__main__":
    main()
