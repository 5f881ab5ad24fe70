from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from fedrepro.benchmark.claims.answer import ClaimAnswer
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.judging.on_other_data import FILE, PROFILE, RECORDS, elsewhere, recorded
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import OnOtherData, Report
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.stats.intervals import Interval
from fedrepro.reports.writers import html, markdown
from tests.benchmark.test_controls import AS_PRINTED, SEEN, judged, planned, written
from tools.headroom import settings_of

ROOMS, DIFFERENCES = (3.0, 5.0, 4.0), (-1.0, 2.0, 5.0)
ANSWER = ClaimAnswer("OPEN", "too few", "ratio", 1, ours=Interval(2.0, -5.5, 9.5), printed=4.0)
ON_CLOTHES = OnOtherData(
    "3", "better", "it beats the others", "fashion-excerpt", ROOMS, DIFFERENCES, ANSWER, ""
)
HEADROOM = '[profiles.headroom]\nlike = "reduced"\ntrials = 3\nseries = 2\n'
BUNDLED = sorted(file.parent.name for file in tables_root().glob(f"*/{FILE}"))


def report_with(root: Path, *records: OnOtherData, text: bytes | None = None) -> Report:
    folder = written(root)
    with (folder / "paper.toml").open("a", encoding="utf-8") as file:
        file.write(HEADROOM)
    (folder / FILE).write_bytes(text or RECORDS.dump_json(records))
    return judged(root, AS_PRINTED | SEEN)


def test_the_first_sentence_says_where_photographs_answer_otherwise(tmp_path: Path) -> None:
    alone = report_with(tmp_path).first.answer
    said = report_with(tmp_path, ON_CLOTHES).first.answer
    assert said.removeprefix(alone) == (
        " On an excerpt of Fashion-MNIST: "
        "whether it beats the others is open, +2.0 [−5.5, 9.5] points."
    )
    on_letters = replace(ON_CLOTHES, data="glyphs-colour-a")
    assert report_with(tmp_path, on_letters).first.answer == alone
    behind = replace(ANSWER, word="OPPOSITE", ours=Interval(-3.0, -4.0, -2.0))
    placebo = replace(ON_CLOTHES, data="noise", answer=behind)
    assert report_with(tmp_path, placebo).first.answer.removeprefix(alone) == (
        " From encoders that learnt from noise: "
        "the opposite of “it beats the others” is seen, −3.0 [−4.0, −2.0] points."
    )
    counted = replace(ON_CLOTHES, answer=replace(ANSWER, kind="counted"))
    assert report_with(tmp_path, counted).first.answer == alone


def test_more_than_four_other_answers_are_counted(tmp_path: Path) -> None:
    (table,) = (one for one in report_with(tmp_path).tables if one.claims)
    claims = tuple(replace(table.claims[0], id=f"c{i}") for i in range(5))
    there = [replace(ON_CLOTHES, claim=one.id) for one in claims]
    (said,) = elsewhere([replace(table, claims=claims)], there)
    assert said.endswith(": 5 of 5 headline claims have another status there: 5 open.")


def test_a_claim_that_was_not_run_here_has_no_other_answer_there(tmp_path: Path) -> None:
    report_with(tmp_path, ON_CLOTHES)
    some = {row: trials for row, trials in AS_PRINTED.items() if row != "IFCA"}
    report = judged(tmp_path, some | SEEN)
    assert report.on_other_data
    assert "Fashion-MNIST" not in report.first.answer


@pytest.mark.parametrize("write", [html, markdown], ids=["html", "markdown"])
def test_reports_show_each_record_with_its_numbers(tmp_path: Path, write: ModuleType) -> None:
    placebo = replace(ON_CLOTHES, data="noise", differences=())
    text = write.render([report_with(tmp_path, ON_CLOTHES, placebo)]).replace("\\", "")
    shown = ("+4.0 [+1.5, +6.5]", "+2.00 [−5.45, +9.45]", "+4.00", "noise (placebo)", "too few")
    assert [one for one in ("an excerpt of Fashion-MNIST", *shown) if one not in text] == []


def test_only_the_profile_that_was_recorded_shows_it(tmp_path: Path) -> None:
    report_with(tmp_path, ON_CLOTHES)
    profiles = {
        name: judged(tmp_path, AS_PRINTED | SEEN, name) for name in ("reduced", "again", PROFILE)
    }
    shown = [name for name, report in profiles.items() if report.on_other_data]
    assert shown == ["reduced"]
    assert recorded(planned(tmp_path))
    assert not recorded(replace(planned(tmp_path), sets=(("training.rounds", 7),)))


def test_a_record_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"headroom\.json is no record"):
        report_with(tmp_path, text=b'[{"table": 3}]')


@pytest.mark.parametrize("paper", BUNDLED)
def test_records_are_of_all_headline_claims_and_of_photographs(paper: str) -> None:
    spec = load_paper(paper)
    claims = {(one.id, claim.id) for one in spec.tables for claim in one.claims if claim.headline}
    records = RECORDS.validate_json((tables_root() / paper / FILE).read_bytes())
    by_data = {
        one.data: {(x.table, x.claim) for x in records if x.data == one.data} for one in records
    }
    assert {"fashion-excerpt", str(spec.profiles[PROFILE].data)} <= by_data.keys()
    assert all(found == claims for found in by_data.values())


@pytest.mark.slow
@pytest.mark.parametrize("paper", BUNDLED)
def test_records_were_made_with_the_settings_of_today(paper: str) -> None:
    spec = load_paper(paper)
    tables = [one.id for one in spec.tables if any(claim.headline for claim in one.claims)]
    records = RECORDS.validate_json((tables_root() / paper / FILE).read_bytes())
    for data, settings in {(one.data, one.settings) for one in records}:
        on = None if data == spec.profiles[PROFILE].data else data
        assert settings_of(make_plan(spec, PROFILE, tables=tables, on=on).runs) == settings, data
