import csv
import io
import json
import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.external import binding
from fedrepro.benchmark.external.binding import bind_rows, external_plan, template, why_not
from fedrepro.benchmark.external.copies import copied_seeds
from fedrepro.benchmark.external.rows import Row, from_records, read_rows
from fedrepro.benchmark.judging.evidence import load_trials
from fedrepro.benchmark.judging.external import judge_external
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.results import CellResult, ProtocolScale, Report
from fedrepro.benchmark.spec.load import load_paper, paper_ids
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main
from fedrepro.methods.outcome import Curve, Outcome
from fedrepro.reports.publish import write_report
from fedrepro.reports.scoreboard import counts

MEAN = "Mean ± SD"
HEADER = "table,row,column,seed,value\n"
PRINTED = {
    "FedAvg|None": 42.7,
    "FedAvg|SimCLR": 56.0,
    "IFCA|None": 65.8,
    "IFCA|FedAvg": 68.6,
    "CP-CFL|SimCLR": 76.7,
}
LINE = f"11,CP-CFL|SimCLR,{MEAN},0,76.1\n"
ROW = Row("a:2", "11", "CP-CFL|SimCLR", MEAN, 0, 76.1)


@pytest.fixture(scope="module")
def cpcfl() -> Paper:
    return load_paper("cpcfl")


@pytest.fixture(scope="module")
def accuracies() -> Mapping[str, list[float]]:
    """Five trials of each method of Table 11, spread by half a point about what is printed."""
    noise = np.random.default_rng(3)
    return {row: [round(mean + noise.normal(0, 0.5), 2) for _ in range(5)]
            for row, mean in PRINTED.items()}  # fmt: skip


def rows_of(values: Mapping[str, list[float]], column: str = MEAN) -> list[Row]:
    return [
        Row(f"{row} {seed}", "11", row, column, seed, value)
        for row, trials in values.items()
        for seed, value in enumerate(trials)
    ]


def judged(paper: Paper, rows: list[Row], protocol: ProtocolScale = "full") -> Report:
    return judge_external(paper, rows, command="test", protocol=protocol, audit=False)


def by_place(report: Report) -> dict[tuple[str, str], CellResult]:
    [table] = report.tables
    return {("|".join(one.row), "|".join(one.column)): one for one in table.cells}


def test_results_are_judged_as_the_same_numbers_in_a_store_are(
    cpcfl: Paper, accuracies: Mapping[str, list[float]], tmp_path: Path
) -> None:
    plan, store = make_plan(cpcfl, "paper", tables=["11"]), Store(tmp_path)
    rows = {one.config: "|".join(one.cell.row) for one in plan.cells}
    with store.writing():
        for config, seed in plan.trials_to_run():
            if config in rows:
                at_100 = Curve((100,), (accuracies[rows[config]][seed] / 100,))
                store.save(config, seed, Outcome({"accuracy": at_100}), {"wall_s": 1.0})
    [ours] = judge(plan, load_trials(plan, store), command="test", audit=False).tables
    [theirs] = judged(cpcfl, rows_of(accuracies)).tables
    assert {one.verdict.word for one in ours.cells} >= {"REPRODUCED"}
    for own, one in zip(ours.cells, theirs.cells, strict=True):
        assert (own.verdict.word, own.verdict.reason) == (one.verdict.word, one.verdict.reason)
        assert own.trials == pytest.approx(one.trials)
        assert own.interval == pytest.approx(one.interval)
    for mine, other in zip(ours.claims, theirs.claims, strict=True):
        assert (mine.word, mine.answer.shown) == (other.word, other.answer.shown)
        if mine.answer.ours is not None:
            assert astuple(mine.answer.ours) == pytest.approx(astuple(other.answer.ours))
    assert (ours.word, ours.reason) == (theirs.word, theirs.reason)
    for own, one in zip(ours.answers, theirs.answers, strict=True):
        assert astuple(own.retention) == pytest.approx(astuple(one.retention))
    for own, one in zip(ours.leads, theirs.leads, strict=True):
        assert astuple(own.ours) == pytest.approx(astuple(one.ours))


def test_what_is_not_declared_as_the_full_protocol_is_never_held_against_the_print(
    cpcfl: Paper, accuracies: Mapping[str, list[float]]
) -> None:
    report = judged(cpcfl, rows_of(accuracies), "scaled")
    assert set(counts([report], "verdicts")) == {"NOT COMPARED"}
    assert report.scaled
    assert counts([report], "claims")["HOLDS"] == 2  # comparisons are judged all the same
    assert report.external is not None
    assert report.external.protocol == "scaled"
    assert "cannot vouch" in report.external.statement


def test_comparisons_use_the_seeds_that_both_sides_have_in_any_order(cpcfl: Paper) -> None:
    seeds = {"CP-CFL|SimCLR": (1234, 7, 42), "IFCA|None": (42, 1234, 5), "IFCA|FedAvg": (42, 1234)}
    rows = [
        Row("x", "11", row, MEAN, seed, PRINTED[row] + seed / 1000)
        for row, of_row in seeds.items()
        for seed in of_row
    ]
    report = judged(cpcfl, rows)
    [table] = report.tables
    assert report.provenance.seeds == (5, 7, 42, 1234)
    leads = next(one for one in table.claims if one.id == "best-on-average")
    for comparison in leads.comparisons:
        base = (
            PRINTED["CP-CFL|SimCLR"]
            - PRINTED["IFCA|None" if "None" in comparison.text else "IFCA|FedAvg"]
        )
        assert comparison.differences == pytest.approx((base, base))
    assert any("18 of 18 cells" in note for note in table.notes)
    apart = [replace(row, seed=row.seed + len(row.row)) for row in rows]
    assert {one.word for one in judged(cpcfl, apart).tables[0].claims} == {"NOT RUN", "OPEN"}


def test_cells_that_show_one_number_share_it_and_must_not_contradict_each_other(
    cpcfl: Paper,
) -> None:
    one = Row("a:2", "11", "CP-CFL|SimCLR", "Trial 1", 3, 76.1)
    report = judged(cpcfl, [one, Row("a:3", "11", "CP-CFL|SimCLR", MEAN, 3, 76.1)])
    shown = {place: one.trials for place, one in by_place(report).items()}
    for column in (MEAN, "Trial 4"):  # a printed trial shows ours of its seed
        assert shown["CP-CFL|SimCLR", column] == (76.1,)
    for column in ("Trial 1", "Trial 5"):
        assert shown["CP-CFL|SimCLR", column] == (None,)
    with pytest.raises(FedreproError, match=r"a:3: seed 3 .* twice.* a:2 for .*same trials"):
        judged(cpcfl, [one, Row("a:3", "11", "CP-CFL|SimCLR", MEAN, 3, 76.2)])


@pytest.mark.parametrize("id", paper_ids())
def test_a_template_asks_for_every_result_of_a_paper_once(id: str, tmp_path: Path) -> None:
    paper = load_paper(id)
    text, without = template(paper, trials=2)
    lines = list(csv.DictReader(io.StringIO(text)))
    plan = external_plan(paper, [table.id for table in paper.tables if not table.is_control])
    cells = [one.cell for one in plan.cells]
    filled = tmp_path / "filled.csv"
    with filled.open("w", newline="", encoding="utf-8-sig") as file:
        writer = csv.DictWriter(file, lines[0], delimiter=";")
        writer.writeheader()
        places = {(cell.table, "|".join(cell.row), "|".join(cell.column)): cell for cell in cells}
        for i, line in enumerate(lines):
            cell = places[line["table"], line["row"], line["column"]]
            percent = cell.unit == "%" and "variance" not in str(cell.metric)
            writer.writerow({**line, "value": f"{i % 45 + 2}.5" if percent else "0.125"})
    rows = read_rows(filled, id)
    found = bind_rows(rows, plan, "full")
    wanted = sum(why_not(one.cell) is None for one in plan.cells)
    assert len(found) == wanted >= len(rows) / 2
    assert "%" not in {one.unit for one in rows}, "fractions in a filled template would be believed"
    assert len(rows) / 2 + without.total() == len(cells)
    assert all(set(trials) == {0, 1} for trials in found.values())


@pytest.mark.parametrize(
    "written",
    [
        "\ufeffsep=;\r\ntable;row;column;seed;value\r\n11;CP-CFL|SimCLR;Mean;0;76.1\r\n",
        ",table,row,column,seed,value\n3,11,CP-CFL|SimCLR,Mean,0,76.1\n",
        "table,row,column,seed,value,,\n11,CP-CFL|SimCLR,Mean,0,76.1\n",
        "table,row,column,seed,value\n11,CP-CFL|SimCLR,Mean,0,76.1,,\n",
        "table,row,column,seed,value\n'11,'CP-CFL|SimCLR,Mean,0,76.1\n",
        "table,row,column,seed,value\n11,CP-CFL|SimCLR,Mean,0,7610e\u22122\n",
        "table;row;column;seed;value\n11;CP-CFL|SimCLR;Mean;0;76,1\n",
    ],
    ids=["sep=;", "index", "commas behind the header", "commas behind a line", "apostrophes",
         "the minus of typesetting", "decimal commas"],
)  # fmt: skip
def test_csv_is_read_as_spreadsheets_and_data_frames_write_it(written: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(written, "utf-8")
    [row] = read_rows(file, "cpcfl")
    assert (row.table, row.row, row.column, row.seed) == ("11", "CP-CFL|SimCLR", "Mean", 0)
    assert row.value == 76.1


def test_decimal_commas_are_read_in_a_data_frame_too() -> None:
    places = {"table": "11", "row": "a", "column": "b"}
    values = ["76,1", "75,925", "77", None]
    records = [("x", {**places, "seed": i, "value": one}) for i, one in enumerate(values)]
    assert [row.value for row in from_records(records, "cpcfl")][:3] == [76.1, 75.925, 77]


def test_fractions_are_percent_where_that_is_said(cpcfl: Paper) -> None:
    row = replace(ROW, value=0.761, unit="fraction")
    assert by_place(judged(cpcfl, [row]))["CP-CFL|SimCLR", MEAN].mean == pytest.approx(76.1)


@pytest.mark.parametrize(
    ("given", "said", "fits_scaled"),
    [
        ({"value": 0.761}, "a:2: .*, and 0.761 looks like a fraction", False),
        ({"value": 0.7}, "a:2: .*, and 0.7 looks like a fraction", False),
        ({"metric": "f1_macro"}, "shows accuracy, not 'f1_macro'", False),
        ({"round": "50"}, "read at round 100, not 50", True),
        ({"round": "best"}, "read at round 100, not best", False),
        ({"round": "hello"}, "round 'hello' is no number, nor final or best", False),
        ({"profile": "smoke", "made": "smoke"}, "profile smoke, not of the published", True),
        ({"made": "paper (departs)", "departs": True}, "profile paper .departs", True),
    ],
)
def test_the_full_protocol_takes_what_its_cells_show(
    given: dict[str, Any], said: str, fits_scaled: bool, cpcfl: Paper
) -> None:
    row = replace(ROW, **given)
    with pytest.raises(FedreproError, match=said):
        judged(cpcfl, [row])
    with nullcontext() if fits_scaled else pytest.raises(FedreproError, match=said):
        judged(cpcfl, [row], "scaled")


def test_a_spread_between_clients_that_is_given_as_a_fraction_is_refused() -> None:
    paper = load_paper("calibre")
    row = Row("a:2", "1", "L_n|L_p", "Calibre (SimCLR)|std", 0, 0.19)
    with pytest.raises(FedreproError, match=r"0\.19 looks like a fraction"):
        judged(paper, [row], "scaled")
    assert judged(paper, [replace(row, unit="%")], "scaled").tables
    own = replace(binding.cell_of(row, paper), metric="mine.balanced")
    assert "looks like a fraction" in str(binding._problem(row, own, "scaled"))


NO_RESULTS = (
    ("12x,CP-CFL|SimCLR,Mean ± SD,0,76.1", "mine.csv:3: paper cpcfl has no table '12x'"),
    ("11,CP-CFL|SimCRL,Mean ± SD,0,76.1", "did you mean 'CP-CFL|SimCLR'"),
    ("11,CP-CFL|SimCLR,Mean,0,76.1", "mine.csv:3: table 11 has no column 'Mean'"),
    ("11,CP-CFL|SimCLR,Mean ± SD,0,76.1", "given twice; first at"),
    ("11,CP-CFL|SimCLR,Mean ± SD,-1,76.1", "seed '-1' is no whole number"),
    ("11,CP-CFL|SimCLR,Mean ± SD,1,nan", "not finite"),
    ("11,CP-CFL|SimCLR,Mean ± SD,1,142.7", "142.7% is no accuracy, which is 0 to 100%"),
    ("11,CP-CFL|SimCLR,Mean ± SD,1,1e40", "beyond"),
    ("11,CP-CFL|SimCLR,Mean ± SD,1,=1+75", "'=1+75' is no number"),
    ('11,CP-CFL|SimCLR,Mean ± SD,1,"1,234.5"', "'1,234.5' is no number"),
    ("0011,CP-CFL|SimCLR,Mean ± SD,1,76.1", "no table '0011'"),
    ('11,CP-CFL|SimCLR,Mean ± SD,1,"76,1"', "write a decimal point"),
    ("11,CP-CFL|SimCLR,Mean ± SD,1", "has 4 fields, and the first line has 5"),
    ('11,CP-CFL|SimCLR,Mean ± SD,1,"76.1', "is no CSV"),
    ("E.22,ResNet-18|SimCLR,x,1,3", "E.22"),
)
"""Lines of a file, and what is said of them."""
COMMAS = b"table;row;column;seed;value\n11;a;b;0;"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", b"", "holds nothing"),
        ("a.csv", b"\xff\xfet\x00a\x00", ":1: is not UTF-8"),
        ("a.csv", HEADER.encode() + b"11,\xe9,x,0,1\n", ":2: is not UTF-8"),
        ("a.csv", b"table,row,column,seed\n11,a,b,0\n", ":1: column 'value' is missing"),
        ("a.csv", b"sep=,\ntable,row,column,seed,values\n11,a,b,0,1\n", ":2: unknown column"),
        ("a.csv", b"table,row,row,seed,value\n", "there twice"),
        ("a.csv", b"table,row,column,seed,value,\n11,a,b,0,1,x\n", ":1: column 6 has no name"),
        ("a.csv", b",table,row,column,seed,value\nx,11,a,b,0,1\n", ":1: column 1 has no name"),
        ("a.csv", b"sep=;\ntable;row\n\n11;a;b\n", ":4: has 3 fields, and the first line has 2"),
        ("a.csv", HEADER.encode() + b'11,"' + b"x" * 200_000 + b'",b,0,1\n', "is no CSV"),
        ("a.csv", COMMAS + b"76,123\n", ":2: value '76,123' is no number; write a decimal point"),
        ("a.csv", COMMAS + b"76,1\n11;a;b;1;75.9\n", ":2: value '76,1' is no number; write a"),
        ("a.toml", b"tool = ", "not valid TOML"),
        ("a.toml", b"tool = 'flower'", "needs [[results]]"),
        ("missing.csv", None, "No such file"),
        *(("mine.csv", f"{HEADER}{LINE}{line}\n".encode(), said) for line, said in NO_RESULTS),
    ],
)
def test_a_file_that_cannot_be_read_and_what_belongs_to_no_cell_are_one_line(
    name: str, content: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    if isinstance(content, bytes):
        file.write_bytes(content)
    assert main(["judge", "cpcfl", "--results", str(file), "--out", str(tmp_path / "r")]) == 2
    error = capsys.readouterr().err.strip()
    assert len(error.splitlines()) == 1
    assert said in error
    assert not (tmp_path / "r").exists()


def test_no_result_is_taken_where_nothing_is_measured(cpcfl: Paper) -> None:
    plan = external_plan(cpcfl, [table.id for table in cpcfl.tables if not table.is_control])
    computed = next(one.cell for one in plan.cells if one.cell.kind == "analytic")
    row, column = "|".join(computed.row), "|".join(computed.column)
    with pytest.raises(FedreproError, match="takes no results: it is computed"):
        judged(cpcfl, [Row("a:2", computed.table, row, column, 0, 1.0)])


def test_every_format_says_that_the_numbers_were_made_elsewhere(
    accuracies: Mapping[str, list[float]], tmp_path: Path
) -> None:
    file, out = tmp_path / "mine.csv", tmp_path / "report"
    lines = [f"11,{one.row},{one.column},{one.seed},{one.value}" for one in rows_of(accuracies)]
    file.write_text(HEADER + "\n".join(lines), "utf-8")
    words = ["--protocol", "full", "--note", "on <our> cluster", "--out", str(out)]
    assert main(["judge", "cpcfl", "--results", str(file), *words]) == 0
    plain = json.loads((out / "report.json").read_text("utf-8"))
    told = plain["external"]
    assert told.pop("statement")
    assert told == {
        "protocol": "full", "note": "on <our> cluster", "files": ["mine.csv"], "values": 25,
        "seeds": [0, 1, 2, 3, 4],
    }  # fmt: skip
    assert plain["runs"] == []
    for name in ("report.html", "report.md", "report.junit.xml"):
        assert "cannot vouch for these numbers" in (out / name).read_text("utf-8")
    assert "made elsewhere" in (out / "report.tex").read_text("utf-8")
    assert "<our>" not in (out / "report.html").read_text("utf-8")


def test_seeds_that_are_left_out_a_series_and_an_offset_are_told(cpcfl: Paper) -> None:
    rows = [Row(f"a:{seed}", "11", "CP-CFL|SimCLR", MEAN, seed, 76.0 + seed, made="p (series 2)",
                offset=seed // 4 * 9) for seed in (0, 3, 4)]  # fmt: skip
    said = judged(cpcfl, rows, "scaled").external
    assert said is not None
    assert "Of the seeds 0 to 4, 2 are missing: 1, 2." in said.statement
    assert " profiles p (series 2). Their map adds 9 to the rounds of 1 values." in said.statement
    bare, odd = replace(cpcfl, profiles={}), [replace(one, round=f"{one.seed * 5}") for one in rows]
    assert "one round were given at rounds 0, 15, 20." in str(judged(bare, odd, "scaled").external)
    assert "How many trials are planned is not known" in str(judged(bare, rows).external)


def test_claims_on_trials_of_ours_need_the_controls_of_their_profile(cpcfl, accuracies):
    for profile, word in (("reduced", "OPEN"), ("paper", "HOLDS")):
        rows = [replace(row, profile=profile) for row in rows_of(accuracies)]
        report = judged(cpcfl, rows, "scaled")
        assert [one.word for one in report.tables[0].claims].count(word) >= 2
        assert ("of profile reduced are not judged" in str(report.external)) == (word == "OPEN")


def test_how_trials_were_made_is_kept_by_reports_on_them(cpcfl, accuracies, tmp_path):
    lines = [("table", "row", "column", "seed", "value", "profile", "series", "readings")]
    lines += [
        ("11", row, MEAN, seed, value, "reduced", 4, "bfloat16")
        for row, trials in accuracies.items()
        for seed, value in enumerate(trials)
    ]
    (file := tmp_path / "m.csv").write_text("\n".join(",".join(map(str, one)) for one in lines))
    for departs in ("", " (departs from the paper)", " (departs from the paper)"):
        report = judge_external(cpcfl, read_rows(file, "cpcfl"), command="test", audit=False)
        assert report.profile == f"external: reduced (series 4) (bfloat16){departs}"
        assert f"of the profiles {report.profile[10:]}." in str(report.external)
        assert "of profile reduced are not judged" in str(report.external)
        assert "OPEN" in {one.word for one in report.tables[0].claims}
        with pytest.raises(FedreproError, match="not of the published protocol"):
            judge_external(cpcfl, read_rows(file, "cpcfl"), command="test", protocol="full")
        write_report([report], tmp_path / "report")
        file = tmp_path / "report/report.trials.csv"


def test_a_line_without_a_value_is_a_trial_that_is_planned(cpcfl, accuracies):
    lines = [replace(row, value=row.value if row.seed else math.nan) for row in rows_of(accuracies)]
    cells = by_place(judged(replace(cpcfl, profiles={}), lines)).values()
    assert all("4 of 5 trials were given" in one.verdict.reason for one in cells if one.mean)


def test_cells_of_one_run_share_results_only_if_they_print_the_same(cpcfl):
    table = cpcfl.table("5")
    other = next(
        i for i, one in enumerate(table.cells) if one.label == "IFCA|None @ EMNIST to MNIST"
    )
    for text, means in (("98.37", 2), ("98.38", 1)):
        cells = [*table.cells]
        cells[other] = replace(cells[other], printed=replace(cells[other].printed, text=text))
        paper = replace(
            cpcfl, tables=(replace(table, cells=tuple(cells), claims=(), relations=()),)
        )
        found = judged(paper, [Row("a:2", "5", "IFCA|None", "STL-10 to MNIST", 0, 98.0)])
        assert sum(one.mean is not None for one in by_place(found).values()) == means


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([65.6, 65.9], "2 of 5 trials were given"),
        ([65.6, 65.9, 65.8, 66.0], "4 of 5 trials were given"),
        ([65.81] * 5, "gave the same value"),
        ([65.81, 66.07, 66.07, 65.81, 65.81] * 2, "its 10 trials are copies of few"),
        ([65.8, 65.9, 65.9, 65.8, 65.8] * 2, ""),  # rounding leaves no more
        ([65.1, 65.2, 65.2, 65.9, 65.9], ""),
    ],
)
def test_fewer_trials_than_planned_and_few_numbers_decide_nothing(trials, said, cpcfl):
    others = [75.9 + i % 7 / 5 for i in range(len(trials))]
    cells = by_place(judged(cpcfl, rows_of({"CP-CFL|SimCLR": others, "IFCA|None": trials})))
    found = cells["IFCA|None", MEAN].verdict
    assert found.word == ("INCONCLUSIVE" if said else "REPRODUCED")
    assert said in found.reason
    is_of_all = "were given" in said or not said  # the protocol plans five for each cell
    assert is_of_all or said not in cells["CP-CFL|SimCLR", MEAN].verdict.reason


OF_IFCA, OF_FEDAVG = ["IFCA|None", "IFCA|FedAvg"], ["FedAvg|None", "FedAvg|SimCLR"]


@pytest.mark.parametrize("copied", [OF_IFCA, OF_FEDAVG, OF_IFCA + OF_FEDAVG])
def test_trials_of_one_run_that_are_given_for_another_decide_neither(copied, cpcfl, accuracies):
    given = accuracies | dict.fromkeys(copied, accuracies[copied[0]])
    given["CP-CFL|SimCLR"] = [given["IFCA|None"][0], *given["CP-CFL|SimCLR"][1:]]  # chance
    # A printed trial is of the same run as the mean.
    [table] = judged(cpcfl, [*rows_of(given), *rows_of(given, "Trial 1")]).tables
    told = [one for one in table.cells if "same trials" in one.verdict.reason]
    assert {"|".join(one.row) for one in told} == {*copied}
    assert {one.verdict.word for one in told} == {"INCONCLUSIVE"}
    assert all((" and 1 more have" in one.verdict.reason) == (len(copied) > 3) for one in told)


def drawn(rng, n, grid, sd=0.8):
    """Trials of each method, on the grid of 1/n test images, rounded to a hundredth."""
    return {
        row: [round(round(rng.normal(mean, sd) / grid) * grid, 2) for _ in range(n)]
        for row, mean in PRINTED.items()
    }


def told_of(cpcfl, given, word):
    """The rows of which a word is said."""
    [table] = judged(cpcfl, rows_of(given)).tables
    return {"|".join(one.row) for one in table.cells if word in one.verdict.reason}


@pytest.mark.parametrize("noise", [0, 0.01])
@pytest.mark.parametrize("n", [4, 6])
def test_trials_that_are_given_twice_in_another_order_are_copies(cpcfl, n, noise):
    rng = np.random.default_rng(8)
    once = drawn(rng, n, 0.01, sd=2.5)
    twice = {
        row: rng.permutation([*trials, *np.add(trials, noise)]).tolist()
        for row, trials in once.items()
    }
    assert told_of(cpcfl, twice, "copies of few") == {*PRINTED}
    assert told_of(cpcfl, once, "copies") == set()


@pytest.mark.parametrize("near", [
    lambda trials: trials[1:] + trials[:1],  # under other seeds
    lambda trials: [one + 0.01 * (-1) ** i for i, one in enumerate(trials)],
    lambda trials: [round(one, 2) for one in trials],
])  # fmt: skip
def test_a_run_that_is_another_one_but_for_order_noise_or_digits_is_none(cpcfl, near):
    rng = np.random.default_rng(9)
    given = {row: rng.normal(mean, 1.3, 6).round(4).tolist() for row, mean in PRINTED.items()}
    given["IFCA|FedAvg"] = near(given["IFCA|None"])
    assert told_of(cpcfl, given, "same trials") == {"IFCA|None", "IFCA|FedAvg"}


@pytest.mark.parametrize("grid", [2, 1, 0.5, 100 / 750])
@pytest.mark.parametrize("n", [5, 10, 20])
def test_few_test_images_and_whole_percents_are_no_copies(cpcfl, n, grid):
    rng = np.random.default_rng(10)
    for _ in range(5):
        given = drawn(rng, n, grid, sd=1.0)
        given["FedAvg|None"][: n // 2] = [10.0] * (n // 2)  # this one collapses
        given |= {"IFCA|FedAvg": drawn(rng, n, grid, sd=1.0)["IFCA|None"]}  # no better than it
        assert told_of(cpcfl, given, "copies") | told_of(cpcfl, given, "same trials") == set()
    said = "of so few digits do not show" in str(judged(cpcfl, rows_of(given)).external)
    assert grid == 0.5 or said == (grid > 0.5)


def test_trials_that_are_sorted_by_value_decide_no_claim(cpcfl, accuracies):
    for order in (1, -1):
        given = {row: sorted(trials)[::order] for row, trials in accuracies.items()}
        report = judged(cpcfl, rows_of(given))
        assert "All 5 runs are sorted by value" in str(report.external)
        assert {one.word for one in report.tables[0].claims} == {"OPEN"}
        assert any(one.verdict.word == "REPRODUCED" for one in report.tables[0].cells)


def runs(rng, repeat, grid=0.01):
    """Five runs of ten trials, trial k of which repeats trial `repeat[k]`; values on a grid."""
    drawn = np.round(rng.normal(50, 2, (5, 10)) / grid) * grid
    return [dict(enumerate(values[repeat])) for values in drawn]


@pytest.mark.parametrize(
    ("repeat", "copies"),
    [
        ([0] * 10, dict.fromkeys(range(1, 10), 0)),
        ([0, 1] * 5, {seed: seed % 2 for seed in range(2, 10)}),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8, 0], {9: 0}),
        (list(range(10)), {}),
    ],
)
def test_seeds_that_are_equal_in_all_runs_are_copies(repeat, copies):
    assert copied_seeds(runs(np.random.default_rng(1), repeat)) == copies


def test_one_run_shows_no_copies_nor_do_runs_without_values_and_one_that_differs_clears_them():
    repeated = runs(np.random.default_rng(2), [0] * 10)
    assert copied_seeds(repeated[:1]) == {}
    assert copied_seeds([*repeated, {seed: seed / 7 for seed in range(10)}]) == {}
    alone = {0: 76.1, 1: 76.1, 2: 75.0}
    assert copied_seeds([alone, *({} for _ in range(9))]) == {}
    assert copied_seeds([alone, *(dict(alone) for _ in range(9))]) == {1: 0}


def test_equal_values_of_a_coarse_metric_are_seldom_taken_for_copies():
    rng = np.random.default_rng(3)
    for count in (2, 3, 5):
        found = [copied_seeds(runs(rng, list(range(10)), grid=0.5)[:count]) for _ in range(400)]
        assert sum(map(bool, found)) <= 2


@pytest.mark.parametrize("trials", [1, 2])
def test_copied_trials_reproduce_nothing_and_are_named(trials, cpcfl, accuracies):
    copied = {row: (values[:trials] * 10)[:10] for row, values in accuracies.items()}
    [table] = judged(cpcfl, rows_of(copied)).tables
    cells = [one for one in table.cells if one.mean is not None and one.column[0] == MEAN]
    assert {one.verdict.word for one in cells} == {"INCONCLUSIVE"}
    assert all("copies are counted once" in one.verdict.reason for one in cells)
    assert table.word == "OPEN"
    assert not {one.word for one in table.claims} & {"HOLDS", "OPPOSITE", "ABSENT"}
