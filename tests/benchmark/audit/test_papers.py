import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fedrepro.benchmark.audit.checks import mean_and_sd
from fedrepro.benchmark.audit.findings import STATUSES, Finding, findings_for
from fedrepro.benchmark.audit.identity import numbers
from fedrepro.benchmark.planning.resolve import MEASUREMENTS, Resolver
from fedrepro.benchmark.spec.load import load_papers
from fedrepro.benchmark.spec.model import AS_PUBLISHED, Paper
from fedrepro.cli import main
from fedrepro.reports.audit import html, markdown
from tests.benchmark.audit.small_paper import cell, paper

Found = Mapping[str, Sequence[Finding]]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def papers() -> Mapping[str, Paper]:
    return {paper.id: paper for paper in load_papers()}


@pytest.fixture(scope="module")
def found(papers: Mapping[str, Paper]) -> Found:
    return {id: findings_for(paper) for id, paper in papers.items()}


def test_sds_of_cpcfl_are_those_of_populations(papers: Mapping[str, Paper]) -> None:
    rows = list(mean_and_sd.rows(papers["cpcfl"]))
    assert len(rows) == 45
    assert sum(0 in row.fits for row in rows) == 45
    assert sum(1 in row.fits for row in rows) == 3


@pytest.mark.parametrize(
    ("paper", "kind", "table", "published", "status"),
    [
        ("cpcfl", "granularity", "10", "68.95", "inconsistent"),  # off the grid of its neighbours
        ("cpcfl", "stated-number", "11", "76.69 - 68.61 = 8.35", "inconsistent"),  # 8.08
        ("cpcfl", "significance", "10", "68.61 ± 1.14 - 65.79 ± 0.74", "undecidable"),
        ("cpcfl", "repeat", "9", "59.33", "undecidable"),  # one cluster prints FedAvg of Table 3
        ("mfcl", "stated-number", "figure-9", "8 = 7", "inconsistent"),  # clusters and their names
        ("mfcl", "relation", "3", "44e10 = 45e8 * 100", "inconsistent"),  # bits that only touch
        ("mfcl", "relation", "3", "50e9 = (52e8", "inconsistent"),  # a factor of ten
        ("mfcl", "same-experiment", "14", "84.6 ± 0.21 (table 2)", "inconsistent"),
        ("mfcl", "significance", "2", "84.1 ± 0.22 - 83.3 ± 0.34", "undecidable"),
        ("fedrlc", "stated-number", "11", "41.4", "inconsistent"),
        ("fedrlc", "repeat", "9", "85.44, 79.44, 59.14, 57.51", "undecidable"),  # FedBYOL's row
    ],
)
def test_what_the_audit_finds(
    paper: str, kind: str, table: str, published: str, status: str, found: Found
) -> None:
    (told,) = (
        one.status
        for one in found[paper]
        if one.status != "consistent"
        and (one.kind == kind and table in one.tables and published in one.published)
    )
    assert told == status


def test_baselines_of_cpcfl_exceed_all_of_their_trials(found: Found) -> None:
    told = [one for one in found["cpcfl"] if one.kind == "beyond-trials"]
    odd = {one.tables for one in told if one.status != "consistent"}
    assert odd == {("3", "11"), ("4", "B.14"), ("4", "B.15")}


def test_as_many_findings_as_docs_say(found: Found) -> None:
    table = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    for id, findings in found.items():
        counts = Counter(one.status for one in findings)
        shown = re.search(rf"\| {id} \| (\d+) \| (\d+) \| (\d+) \|", table)
        assert shown is not None
        assert tuple(map(int, shown.groups())) == tuple(counts[status] for status in STATUSES)


def test_every_finding_has_its_own_id_and_names_tables_that_exist(
    papers: Mapping[str, Paper], found: Found
) -> None:
    for id, findings in found.items():
        assert len({one.id for one in findings}) == len(findings)
        known = {table.id for table in papers[id].tables}
        assert all(one.tables and known.issuperset(one.tables) for one in findings)


def test_strict_alone_turns_findings_into_an_exit_code(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedrepro.commands.audit.findings_for", lambda paper: found[paper.id])
    assert main(["audit", "fedrlc", "--out", str(tmp_path)]) == 0
    assert main(["audit", "fedrlc", "--strict"]) == 1
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"audit.html", "audit.md"}


def test_reports_put_what_is_wrong_first_and_load_nothing(
    papers: Mapping[str, Paper], found: Found
) -> None:
    audited = [(papers["fedrlc"], found["fedrlc"])]
    page, text = html(audited), markdown(audited)
    for shown in (page, text):
        assert shown.index("49.5 - 44.7 = 4.6") < shown.index("For all values that round to")
        assert all(one.id in shown for one in found["fedrlc"])
    assert "http" not in page
    assert "<script" not in page


def test_numbers_share_their_key_where_the_published_runs_have_one_config() -> None:
    shared = 0
    for loaded in load_papers():
        resolver = Resolver(AS_PUBLISHED)
        pairs = set()
        for one in numbers(loaded):
            measured = one.cell.metric if one.cell.metric in MEASUREMENTS else "accuracy"
            config = resolver.resolve(one.cell, measured).config
            if config is not None:
                pairs.add((one.experiment, config.canonical))
        keys, configs = {key for key, _ in pairs}, {config for _, config in pairs}
        assert len(pairs) == len(keys) == len(configs)
        shared += len(numbers(loaded)) > len(pairs) > 1
    assert shared >= 3


def test_numbers_of_what_nothing_implements_share_their_key_where_specs_say_the_same() -> None:
    cells = (
        cell("50.2", column=f"{i}", experiment={"method": "made-up", "name": name})
        for i, name in enumerate("xyx")
    )
    first, second, third = (one.experiment for one in numbers(paper(*cells)))
    assert first == third != second
