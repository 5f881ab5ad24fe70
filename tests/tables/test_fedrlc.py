"""What FedRLC's reduced profile leaves out."""

from pathlib import Path

import pytest

from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.store.store import Store
from tests.tables.plans import plan_of


def test_what_is_left_out_is_said_to_be_for_time_and_takes_no_headline(tmp_path: Path) -> None:
    plan = plan_of("fedrlc", "reduced")
    reasons = {str(one.reason).partition(" ")[0] for one in plan.cells if one.config is None}
    assert reasons == {"time:", "quoted", "nothing"}
    report = judge(plan, load_trials(plan, Store(tmp_path)), command="", audit=False)
    claims = [claim for table in report.tables for claim in table.claims]
    assert any(": time: " in claim.reason for claim in claims)
    assert not any(claim.headline and ": time: " in claim.reason for claim in claims)


@pytest.mark.parametrize("profile", ["paper", "patient"])
def test_other_profiles_run_every_printed_cell_that_is_not_quoted(profile: str) -> None:
    plan = plan_of("fedrlc", profile)
    reasons = {str(one.reason).partition(" ")[0] for one in plan.cells if one.config is None}
    assert reasons == {"quoted", "nothing"}
