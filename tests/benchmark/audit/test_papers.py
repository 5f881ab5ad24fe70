"""What the audit finds in the papers on its own, and how the command shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fedrepro.benchmark.audit.checks import mean_and_sd
from fedrepro.benchmark.audit.findings import Finding, findings_for
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import Paper
from fedrepro.cli import main
from fedrepro.reports.audit import html, markdown

Found = Mapping[str, Sequence[Finding]]


@pytest.fixture(scope="module")
def papers() -> Mapping[str, Paper]:
    return {paper.id: paper for paper in load_papers()}


@pytest.fixture(scope="module")
def found(papers: Mapping[str, Paper]) -> Found:
    return {id: findings_for(paper) for id, paper in papers.items()}


def the(findings: Sequence[Finding], kind: str, table: str, text: str) -> Finding:
    (one,) = [
        finding
        for finding in findings
        if finding.kind == kind and table in finding.tables and text in finding.published
    ]
    return one


def test_sds_of_cpcfl_are_those_of_populations(papers: Mapping[str, Paper]) -> None:
    rows = list(mean_and_sd.rows(papers["cpcfl"]))
    assert len(rows) == 45
    assert sum(0 in row.fits for row in rows) == 45
    assert sum(1 in row.fits for row in rows) == 3


def test_value_off_the_grid_of_table_10_of_cpcfl(found: Found) -> None:
    off = [
        one for one in found["cpcfl"] if one.kind == "granularity" and one.status != "consistent"
    ]
    assert [(one.tables, one.status) for one in off] == [(("10",), "inconsistent")]
    assert off[0].published.startswith("68.95")


def test_counts_and_names_of_clusters_in_mfcl(found: Found) -> None:
    one = the(found["mfcl"], "stated-number", "figure-9", "8 = 7")
    assert one.status == "inconsistent"


def test_bits_of_fedema_that_only_touch(found: Found) -> None:
    one = the(found["mfcl"], "relation", "3", "44e10 = 45e8 * 100")
    assert one.status == "inconsistent"


def test_leads_of_mfcl_that_spreads_do_not_bear_out(found: Found) -> None:
    told = [one for one in found["mfcl"] if one.kind == "significance"]
    assert [one.status for one in told if "tn-significantly" in one.id] == [
        "undecidable",
        "inconsistent",
    ]
    assert told[0].published == "84.1 ± 0.22 - 83.3 ± 0.34"


def test_two_starts_of_ifca_differ_by_their_spreads(found: Found) -> None:
    one = the(found["cpcfl"], "significance", "10", "68.61 ± 1.14 - 65.79 ± 0.74")
    assert one.status == "undecidable"  # the sentence has another reading


def test_baselines_of_cpcfl_exceed_all_of_their_trials(found: Found) -> None:
    told = [one for one in found["cpcfl"] if one.kind == "beyond-trials"]
    odd = {one.tables for one in told if one.status != "consistent"}
    assert odd == {("3", "11"), ("4", "B.14"), ("4", "B.15")}


def test_average_gain_of_cpcfl_against_its_table(found: Found) -> None:
    one = the(found["cpcfl"], "stated-number", "11", "8.35")
    assert one.status == "inconsistent"
    assert one.computed.startswith("76.69 - 68.61 = 8.08")


def test_gains_of_cpcfl_that_recompute_are_consistent(found: Found) -> None:
    stated = [one for one in found["cpcfl"] if one.kind == "stated-number"]
    assert [one.published for one in stated if one.status != "consistent"] == [
        "76.69 - 68.61 = 8.35"
    ]
    assert len(stated) > 5


def test_one_cluster_of_cpcfl_prints_fedavg(found: Found) -> None:
    assert the(found["cpcfl"], "repeat", "9", "59.33").tables == ("9", "3")


def test_two_values_of_one_experiment_of_mfcl(found: Found) -> None:
    one = the(found["mfcl"], "same-experiment", "14", "84.6 ± 0.21 (table 2)")
    assert one.status == "inconsistent"
    assert "84.5 (table" in one.published


def test_factor_ten_in_a_row_of_mfcl(found: Found) -> None:
    tied = [one for one in found["mfcl"] if "phase2-bits" in one.id]
    assert sorted(one.status for one in tied) == ["consistent", "inconsistent"]
    assert the(tied, "relation", "3", "52e8").computed.endswith("left is 0.1 times right")


def test_accuracy_in_the_text_of_fedrlc(found: Found) -> None:
    assert the(found["fedrlc"], "stated-number", "11", "41.4").status == "inconsistent"


def test_ablation_row_of_fedrlc_equals_fedbyol(found: Found) -> None:
    one = the(found["fedrlc"], "repeat", "9", "85.44, 79.44, 59.14, 57.51")
    assert {label for _, (label,), _ in one.cells} == {
        "FedRLC (Without Clustering Loss)",
        "FedBYOL",
    }


def test_every_finding_has_its_own_id_and_names_tables_that_exist(
    papers: Mapping[str, Paper], found: Found
) -> None:
    for id, findings in found.items():
        assert len({one.id for one in findings}) == len(findings)
        known = {table.id for table in papers[id].tables}
        assert all(one.tables and known.issuperset(one.tables) for one in findings)


def test_findings_on_one_table_are_those_of_the_whole_paper(
    papers: Mapping[str, Paper], found: Found
) -> None:
    told = [one for one in found["mfcl"] if "15" in one.tables and one.kind != "significance"]
    whole = {one.id: one for one in told}
    assert {one.id: one for one in findings_for(papers["mfcl"], {"15"})} == whole


def test_json_holds_the_promised_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "fcl", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    keys = {"id", "paper", "tables", "kind", "statement", "published", "computed", "status"}
    assert listed
    assert all(set(one) == keys for one in listed)


def test_strict_alone_turns_findings_into_an_exit_code(tmp_path: Path) -> None:
    assert main(["audit", "fedrlc", "--out", str(tmp_path)]) == 0
    assert main(["audit", "fedrlc", "--strict"]) == 1
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"audit.html", "audit.md"}


def test_reports_put_what_is_wrong_first_and_load_nothing(
    papers: Mapping[str, Paper], found: Found
) -> None:
    audited = [(papers["fedrlc"], found["fedrlc"])]
    page, text = html(audited), markdown(audited)
    for shown in (page, text):
        assert shown.index("49.5 - 44.7 = 4.6") < shown.index("For all values that print so")
        assert all(one.id in shown for one in found["fedrlc"])
    assert "http" not in page
    assert "<script" not in page


def test_labels_are_shown_as_text(papers: Mapping[str, Paper]) -> None:
    evil = Finding("i", "p", ("1",), "new-check", "<b>|x|</b>", "1", "2", "inconsistent")
    audited = [(papers["fcl"], [evil])]
    assert "&lt;b&gt;|x|" in html(audited)
    assert r"\<b\>\|x\|" in markdown(audited)
