"""This engine with its networks in bfloat16 (`--precision bf16`)."""

from __future__ import annotations

from fedrepro.methods.nn.precision import computing_in
from tests.benchmarks.peers import fedrepro
from tests.benchmarks.peers.work import Result, Work


def train(work: Work) -> Result:
    with computing_in("bf16"):
        return fedrepro.train(work)
