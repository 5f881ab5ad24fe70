"""Carries out plans without a word on the terminal, and what a store holds then."""

import io
from pathlib import Path
from typing import Any

from rich.console import Console

from fedrepro.benchmark.execution.display import Display
from fedrepro.benchmark.execution.jobs import Execution
from fedrepro.benchmark.execution.run import execute
from fedrepro.benchmark.planning.plan import Plan
from fedrepro.benchmark.store.store import Store


def quiet(said: io.StringIO | None = None) -> Display:
    return Display(Console(file=said or io.StringIO(), width=200))


def carry_out(
    plan: Plan, store: Store, said: io.StringIO | None = None, **options: Any
) -> Execution:
    """On the processor, in this process if nothing else is asked for."""
    return execute(plan, store, progress=quiet(said), **{"device": "cpu", "jobs": 0} | options)


def numbers(store: Store) -> dict[tuple[str, int], Any]:
    """All that trials gave, and of what; the checksums of their arrays; not when and how long."""
    found = {}
    for one in store.records():
        made = tuple(one.provenance.get(name) for name in ("device", "versions", "data"))
        gave = (one.metrics, one.counts, one.arrays, one.encoder)
        found[one.run, one.seed] = (*gave, one.source, made)
    return found


def finished(store: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in store.glob("trials/*/*.json")}
