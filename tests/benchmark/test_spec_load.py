import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.resolve import Resolver
from fedrepro.benchmark.spec import lines
from fedrepro.benchmark.spec.load import load_paper, load_papers, paper_ids
from fedrepro.benchmark.spec.model import Cell, Override, Paper
from fedrepro.benchmark.spec.settings import get
from tests.benchmark.small_papers import write_made_up

FILES = Path(__file__).parent / "spec_load"
PAPER = (FILES / "paper.toml").read_text("utf-8")
TABLE = (FILES / "table.toml").read_text("utf-8")
FIGURE = (FILES / "figure.toml").read_text("utf-8")


def read(root: Path, spec: str = PAPER, table: str | None = TABLE, **more: str) -> Paper:
    write_made_up(root, spec, table, **more)
    return load_paper("made-up", root)


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    return read(tmp_path, f4=FIGURE)


def cell(paper: Paper, row: str, column: str) -> Cell:
    (found,) = (one for one in paper.table("3").cells if one.label == f"{row} @ {column}")
    return found


def test_a_byte_order_mark_before_a_spec_is_no_part_of_it(tmp_path: Path) -> None:
    assert read(tmp_path, table="\ufeff" + TABLE).tables[0].id == "3"


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "http://a.example/x", "https://a.example/<b>", "10.1000/182"]
)
def test_what_is_no_secure_web_address_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(SpecError, match="must be an address"):
        read(tmp_path, PAPER.replace("year = 2023", f'year = 2023\naddress = "{address}"'))


def test_a_paper_is_read_whole(paper: Paper) -> None:
    assert (paper.id, paper.year, paper.venue) == ("made-up", 2023, None)
    assert [table.id for table in paper.tables] == ["3", "figure-4"]
    assert paper.unstated[0].setting == "momentum"
    table = paper.table("3")
    assert len(table.cells) == 4 * 3
    assert (table.sd.ddof, table.sd.runs) == (1, None)
    assert table.margin is not None
    assert (table.margin.value, table.margin.reason) == (2.0, "two SDs")
    assert table.claims[0].where == "4.2"
    assert table.notes == ("one",)


def test_digits_stay_as_printed(paper: Paper) -> None:
    printed = cell(paper, "FedAvg|None", "15 clients|T = 25").printed
    assert (printed.text, printed.value) == ("41.20", Decimal("41.20"))
    printed = cell(paper, "FedAvg|None", "best").printed
    assert (printed.text, printed.sd) == ("42.73", Decimal("0.60"))
    printed = cell(paper, "CP-CFL", "15 clients|T = 25").printed
    assert (printed.low, printed.high) == (Decimal("41.3"), Decimal("41.9"))
    assert cell(paper, "CP-CFL", "size").printed.approximate
    assert cell(paper, "Elsewhere", "15 clients|T = 25").printed.text == "50"


def test_the_row_wins_over_the_column_over_the_table_over_the_paper(paper: Paper) -> None:
    experiment = cell(paper, "FedAvg|None", "15 clients|T = 25").experiment
    assert get(experiment, "clients.count") == 30
    assert get(experiment, "training.local_epochs") == 3
    assert get(experiment, "training.rounds") == 100
    assert get(experiment, "method") == "fedavg"
    rate = get(experiment, "training.learning_rate")
    assert (rate, type(rate)) == (0.001, float)
    beside = cell(paper, "CP-CFL", "15 clients|T = 25").experiment
    assert get(beside, "clients.count") == 15
    assert get(cell(paper, "FedAvg|None", "best").experiment, "training.local_epochs") == 2


def test_reading_kind_metric_unit_and_notes_come_from_the_nearest_place(paper: Paper) -> None:
    assert cell(paper, "FedAvg|None", "15 clients|T = 25").read == 25
    assert cell(paper, "FedAvg|None", "best").read == "best"
    assert cell(paper, "FedAvg|None", "size").read == "final"
    size = cell(paper, "CP-CFL", "size")
    assert (size.kind, size.metric, size.unit) == ("analytic", "parameters", "")
    assert cell(paper, "Words", "size").kind == "descriptive"
    assert cell(paper, "Words", "size").trial == 4
    assert size.note == "row note; by eye"
    assert cell(paper, "FedAvg|None", "best").note == "column note"


def test_cells_that_train_nothing_have_no_experiment(paper: Paper) -> None:
    assert cell(paper, "CP-CFL", "best").experiment == {}
    assert cell(paper, "Words", "best").experiment == {}
    skipped = cell(paper, "Elsewhere", "best")
    assert (skipped.experiment, skipped.skip) == ({}, "quoted from another paper")


def test_overrides_stand_in_order_from_paper_to_row_to_data_set(paper: Paper) -> None:
    chosen = cell(paper, "FedAvg|None", "15 clients|T = 25")
    reasons = [o.why for o in Resolver(paper.profiles["reduced"], "mnist").overrides(chosen)]
    assert reasons == ["paper", "table", "column", "row", "asked for"]
    assert Resolver(paper.profiles["paper"]).overrides(chosen) == ()
    assert chosen.overrides["reduced"][1] == Override("at", divide=5, why="column")


def test_rows_without_values_are_runs_to_draw(paper: Paper) -> None:
    table = paper.table("figure-4")
    assert table.figure is not None
    assert (table.figure.plot, table.figure.split) == ("curves", 1)
    assert [run.parts for run in table.drawn] == [("IFCA", "15"), ("IFCA", "30")]
    assert [get(run.experiment, "clients.count") for run in table.drawn] == [15, 30]
    assert {run.metric for run in table.drawn} == {"accuracy"}
    unprinted, dash = table.cells
    assert get(unprinted.experiment, "method") == "fedavg"
    assert (unprinted.printed.value, dash.experiment) == (None, {})


def test_tables_stand_in_print_order_and_figures_behind(tmp_path: Path) -> None:
    ids = ["figure-3", "B.14", "10", "A.13", "2"]
    files = {f"t{i}": TABLE.replace('"3"', f'"{id}"') for i, id in enumerate(ids)}
    loaded = read(tmp_path, PAPER, None, **files)
    assert [t.id for t in loaded.tables] == ["2", "10", "A.13", "B.14", "figure-3"]


def test_papers_are_the_folders_with_a_paper_file(tmp_path: Path) -> None:
    read(tmp_path)
    (tmp_path / "notes").mkdir()
    assert paper_ids(tmp_path) == ("made-up",)
    assert [paper.id for paper in load_papers(tmp_path)] == ["made-up"]
    with pytest.raises(SpecError, match=r"no paper 'madeup' in .*; did you mean 'made-up'"):
        load_paper("madeup", tmp_path)


toml_keys = st.sampled_from(["a", "b c", "d.e", "f"])
toml_values = st.recursive(
    st.sampled_from(["1", "2.50", "true", '"x # y"', "'[z'", '"""m\\"\n]\nn"""', "1979-05-27"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[ # c ]\n" + ",\n".join(items) + "\n]")
        | st.dictionaries(toml_keys, inner.filter(lambda v: "\n" not in v), max_size=2).map(
            lambda d: "{" + ", ".join(f'"{k}" = {v}' for k, v in d.items()) + "}"
        )
    ),
    max_leaves=5,
)
toml_table = st.dictionaries(toml_keys, toml_values, max_size=3)


@given(st.lists(toml_table, min_size=1, max_size=3), toml_table)
def test_every_key_is_found_on_its_line(rows: list[dict[str, str]], other: dict[str, str]) -> None:
    text, expected = "# comment\n", {}
    for path, header, pairs in [
        *((("rows", i), "[[rows]]", pairs) for i, pairs in enumerate(rows)),
        (("t", "u v"), '[t."u v"] # end', other),
    ]:
        expected[path] = text.count("\n") + 1
        text += header + "\n"
        for key, value in pairs.items():
            expected[(*path, key)] = text.count("\n") + 1
            text += f'"{key}" = {value}\n\n'
    data = tomllib.loads(text)
    found = lines.find_lines(text)
    assert {path: found[path] for path in expected} == expected
    assert {path for path in found if len(path) > 2} == set(paths_below(data))


def paths_below(data: object, at: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items: list[tuple[str | int, object]] = []
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list):
        items = list(enumerate(data))
    here = [at] if len(at) > 2 else []
    return here + [p for key, value in items for p in paths_below(value, (*at, key))]


def test_what_stands_in_and_behind_a_long_list_has_lines() -> None:
    rows = "".join(f'  {{ label = "row {i}", note = "{"x" * 200}" }},\n' for i in range(700))
    found = lines.find_lines(f'"a b".rows = [\n{rows}]\nlast = 1\n')
    assert found["a b", "rows", 650, "label"] == 652
    assert found["last",] == 703


def test_dotted_keys_and_unknown_paths_have_lines() -> None:
    text = "x = 1\n[a.b]\nc.d = [\n 1,\n 2]\n[[a.r]]\nk = 1\n[a.r.s]\nq = 2\n"
    found = lines.find_lines(text)
    assert lines.line_of(found, ("a", "b", "c", "d", 1)) == 5
    assert lines.line_of(found, ("a", "r", 0, "s", "q")) == 9
    assert lines.line_of(found, ("a", "r", 0, "missing")) == 6
    assert lines.line_of(found, ("nowhere",)) == 1
