"""Whatever `check` passes is planned, audited, judged and written without a traceback."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from fedrepro.benchmark.audit.findings import findings_for
from fedrepro.benchmark.claims.bind_cells import bind
from fedrepro.benchmark.claims.context import ClaimContext
from fedrepro.benchmark.claims.nodes import key_of
from fedrepro.benchmark.claims.printed import support
from fedrepro.benchmark.claims.trials import judge_claims
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.judging.trials import load_trials
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from tests.benchmark.spec_grammar import papers, write
from tests.hostile import unseen

VALUES = (0.0, 0.5, 0.5, 1.0, 41.2)
"""Trials of cells, so that divisors are zero and differences tie."""


def passes(root: Path, files: Mapping[str, Any]) -> Paper | None:
    """The paper, or None if reading or `check` refuses it, each time with one line a problem."""
    write(root / "made-up", files)
    try:
        paper = load_paper("made-up", root)
        problems, _, _ = check([paper])
        said = [str(problem) for problem in problems]
    except FedreproError as error:
        said = str(error).splitlines()
    assert all(".toml" in line and "\n" not in line for line in said), said
    return None if said else paper


def go_through(paper: Paper, root: Path) -> None:
    """All that `plan`, `audit`, `claims` and `report` do with a paper that was never run."""
    for table in paper.tables:
        resolved = [(claim, bind(claim, table, paper)) for claim in table.claims]
        for _, comparisons in resolved:
            support(comparisons)
        cells = [cell for one in paper.tables for cell in one.cells]
        values = {
            key_of(cell): {seed: VALUES[(i + seed) % len(VALUES)] for seed in range(3)}
            for i, cell in enumerate(cells)
        }
        judge_claims(resolved, ClaimContext(values, 2.0, "%", frozenset(), {}))
    findings_for(paper)
    formats = importlib.import_module("fedrepro.reports.publish").formats()
    store = Store(root / "store", source_of=lambda config: {})
    for profile in paper.profiles:
        for on in (None, *paper.profiles[profile].on):
            plan = make_plan(paper, profile, on=on)
            report = judge(plan, load_trials(plan, store), command="fedrepro")
            for writer in formats.values():
                text = writer.render([report])
                assert not unseen(text) or writer.FILE == "report.json"


def survived(files: Mapping[str, Any]) -> bool:
    """Whether the spec passed `check`; fails if it did and something behind it did not finish."""
    with tempfile.TemporaryDirectory() as folder:
        paper = passes(Path(folder), files)
        if paper is not None:
            go_through(paper, Path(folder))
        return paper is not None


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(papers())
def test_what_check_passes_is_planned_audited_and_judged(files: Mapping[str, Any]) -> None:
    survived(files)


@pytest.mark.slow
def test_a_thousand_specs_from_the_grammar(record_property: Any) -> None:
    counts = Counter[bool]()

    @settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(papers())
    def some(files: Mapping[str, Any]) -> None:
        counts[survived(files)] += 1

    some()
    record_property("passed check", counts[True])
    record_property("refused", counts[False])
    assert counts[True] > counts[False] // 4
