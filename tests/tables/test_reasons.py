import re
from pathlib import Path

import pytest

from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.store.store import Store
from tests.tables.plans import plan_of

NEVER = {
    "fcl": {"nothing is printed", "descriptive"},
    "fedrlc": {"nothing is printed", "quoted from ProPos's own paper"},
    "mfcl": {"nothing is printed", "descriptive", "analytic"},
}
"""By paper, why cells have no run in any profile."""

MOST = {"fcl": 10, "fedrlc": 60, "mfcl": 20}
"""Claims that the reduced profile leaves out for time, at most."""


def reasons(paper: str, profile: str) -> set[str]:
    without = (one.reason for one in plan_of(paper, profile).cells if one.config is None)
    return {re.split(r": | \(", str(reason))[0] for reason in without}


@pytest.mark.parametrize("profile", ["paper", "patient"])
@pytest.mark.parametrize("paper", NEVER)
def test_every_cell_that_training_gives_has_a_run(paper: str, profile: str) -> None:
    assert reasons(paper, profile) == NEVER[paper]


def test_smoke_leaves_out_of_mfcl_what_has_no_counterpart_and_nothing_of_fcl() -> None:
    assert reasons("fcl", "smoke") == NEVER["fcl"]
    assert reasons("mfcl", "smoke") == NEVER["mfcl"] | {"no counterpart"}


@pytest.mark.parametrize("paper", NEVER)
def test_what_is_left_out_is_so_for_time_and_takes_no_headline(paper: str, tmp_path: Path) -> None:
    plan = plan_of(paper, "reduced")
    assert reasons(paper, "reduced") == NEVER[paper] | {"time"}
    report = judge(plan, load_trials(plan, Store(tmp_path)), command="", audit=False)
    claims = [claim for table in report.tables for claim in table.claims]
    left_out = [claim for claim in claims if ": time: " in claim.reason]
    assert 0 < len(left_out) <= MOST[paper]
    assert not any(claim.headline for claim in left_out)
