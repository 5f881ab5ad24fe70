import re
from pathlib import Path

import numpy as np
import pytest

from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.store.store import Store, TrialRecord
from fedrepro.cli import main
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.small_papers import MakePaper
from tools import published

OUTCOME = Outcome(
    metrics={"accuracy": Curve((1, 2), (0.25, 0.5))}, counts={}, arrays={"choice": np.arange(3)}
)


@pytest.fixture
def plan(tiny_paper: MakePaper) -> Plan:
    return make_plan(tiny_paper({"a": {}}, trials=2), "smoke")


def saved(root: Path, plan: Plan, *, is_release: bool = True, at: str = "2026-01-01") -> Store:
    used = {"checksum": "ab", "source": "/home/somebody/data/digits", "is_release": is_release}
    made = {"device": "d", "wall_s": 1.0, "started": at, "commit": "0a", "data": {"digits": used}}
    store = Store(root, lambda config: {"methods/a.py": "1"})
    with store.writing():
        for config, seed in plan.trials_to_run():
            store.save(config, seed, OUTCOME, made)
    return store


def test_the_pages_say_what_the_committed_records_say() -> None:
    for page, text in published.pages():
        assert text == page.read_text("utf-8"), "python -m tools.published"
        assert "INCONCLUSIVE" in text


def test_the_committed_records_are_a_store_that_a_report_shows_as_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--stale", "--store", str(published.RECORDS), "--out", str(tmp_path)]
    before = sorted(published.RECORDS.rglob("*"))
    assert main(["report", "cpcfl", "--profile", "paper", "--precision", "bf16", *store]) == 0
    said = capsys.readouterr()
    assert re.search(r"Trials of earlier code are shown: \d+ files have been edited", said.out)
    assert "damaged" not in said.err
    assert sorted(published.RECORDS.rglob("*")) == before


def test_a_copied_record_keeps_its_numbers_and_leaves_files_and_folders_out(
    plan: Plan, tmp_path: Path
) -> None:
    store, records = saved(tmp_path / "store", plan), tmp_path / "records"
    assert published.copy(store, records) == {"copied": 2}
    said: list[str] = []
    copies = list(Store(records, warn=said.append).records())

    def numbers(one: TrialRecord) -> list[object]:
        return [one.run, one.seed, one.metrics, one.counts, one.source, one.config]

    originals = list(store.records())
    assert list(map(numbers, copies)) == list(map(numbers, originals))
    for copied, original in zip(copies, originals, strict=True):
        assert original.arrays is not None
        assert copied.provenance["left_out"] == {"arrays": original.arrays["sha256"]}
        assert copied.provenance["data"]["digits"]["source"] == "digits"
        assert copied.provenance["commit"] == "0a"
    assert not said


def test_what_is_published_stays_and_other_data_are_left(plan: Plan, tmp_path: Path) -> None:
    records = tmp_path / "records"
    other = saved(tmp_path / "other", plan, is_release=False)
    assert published.copy(other, records) == {"left: its data are not the release": 2}
    published.copy(saved(tmp_path / "first", plan), records)
    again = saved(tmp_path / "second", plan, at="2027-01-01")
    assert published.copy(again, records) == {"published already": 2}
    assert {one.provenance["started"] for one in Store(records).records()} == {"2026-01-01"}
