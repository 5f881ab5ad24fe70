import re
import shutil
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec import table_cells, table_import
from fedrepro.benchmark.spec.printed import Printed
from fedrepro.benchmark.spec.table_import import Parsed, draft, parse
from fedrepro.cli import main

PRINTED = Path(__file__).parent / "printed_tables"


def has_pandoc() -> bool:
    try:
        return bool(table_import._pandoc())
    except FedreproError:
        return False


needs_pandoc = pytest.mark.skipif(
    not has_pandoc(), reason="pandoc is not installed (pip install 'fedrepro[tables]')"
)


def cases() -> Iterator[object]:
    """Each table with what a reader sees in print; `?5` is a cell of line 5, not understood."""
    for file in ("latex.txt", "others.txt"):
        for case in (PRINTED / file).read_text("utf-8").split("=== ")[1:]:
            name, _, rest = case.partition("\n")
            source, _, seen = rest.partition("--- print\n")
            marks = () if "CSV" in name else needs_pandoc
            yield pytest.param(source, seen.rstrip("\n"), id=name, marks=marks)


def shown(parsed: Parsed) -> str:
    lines = [["", *("|".join(column) for column in parsed.columns)]]
    for row in parsed.rows:
        values = [f"?{row.line}" if one.kind == "odd" else one.text for one in row.values]
        lines.append(["|".join(row.label), *values])
    return "\n".join("\t".join(line) for line in lines)


@pytest.mark.parametrize(("source", "seen"), list(cases()))
def test_a_table_is_read_as_a_reader_sees_it_or_refused_by_line(source: str, seen: str) -> None:
    if seen.startswith("refused"):
        with pytest.raises(FedreproError) as error:
            parse(source)
        assert str(error.value).startswith(seen.removeprefix("refused: "))
    else:
        parsed = parse(source)
        assert shown(parsed) == seen
        spec = tomllib.loads(draft(parsed, table="1", title="t"))
        held = (Printed.parse(str(cell)) for row in spec["rows"] for cell in row["published"])
        kinds = [one.kind == "number" for row in parsed.rows for one in row.values]
        assert [one.value is not None for one in held] == kinds


def test_of_at_least_sixty_tables_fifty_are_read_whole() -> None:
    seen = [str(case.values[1]) for case in cases()]  # type: ignore[attr-defined]
    assert len(seen) >= 60
    assert sum("refused" not in one and "\t?" not in one for one in seen) >= 50


CSV = "Method,A,B\nFedAvg,44.13,—\nOurs,46.40 ± 0.5,OOM\nFedProx,1/2,3.0 (0.1)\n"


def test_digits_stay_as_printed_and_known_methods_are_bound() -> None:
    parsed = parse(CSV)
    spec = tomllib.loads(draft(parsed, table="7", title="t"), parse_float=Decimal)
    first, second, third = spec["rows"]
    assert str(first["published"][0]) == "44.13"
    assert first["method"] == "fedavg"
    assert second["published"] == ["46.40 ± 0.5", "OOM"]
    assert second["kind"] == third["kind"] == "descriptive"
    told = (
        'kind = "descriptive"  # for words; once all cells are numbers or "—": method = "fedprox"'
    )
    assert told in draft(parsed, table="7", title="t")
    assert "sd" in spec
    assert list(parsed.report()) == [
        "header: line 1, the rows above the first with a number",
        "spreads from brackets: 1 cells",
        "line 3: Ours @ B: 'OOM' is taken as words",
        "line 4: FedProx @ A: '1/2' is not understood",
        "4 cells read, 1 as words, 1 not understood",
    ]


def test_without_pandoc_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pypandoc", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FedreproError, match=r"pip install 'fedrepro\[tables\]'"):
        parse("| a | b |\n|---|---|\n| c | 1.0 |\n")
    assert parse(CSV).rows


def test_a_row_is_bound_to_the_method_that_its_own_label_names() -> None:
    table = "Method,A\nFed_Avg,70\nFedAvg++,1\nFedAvg*,1\nα-FedAvg,1\nIFCA,\nFedProx,72.0\n"
    first, *others, row = tomllib.loads(draft(parse(table), table="1", title="t"))["rows"]
    assert first["method"] == "fedavg"
    assert (row["label"], row["method"]) == (["IFCA", "FedProx"], "fedprox")
    assert all("skip" in one for one in others)
    assert "named by FedAvg++, FedAvg*, α-FedAvg:" in "".join(parse(table).lacks("accuracy"))


def test_columns_of_another_metric_are_named() -> None:
    table = "Method,Error (%),Time (s),CIFAR-10\nFedAvg,30.0,88.5,70\n"
    (said, *_) = parse(table).lacks("accuracy")
    assert said.startswith("all columns are taken as accuracy, in one unit (%); one of another")
    assert said.endswith("`metric` and `unit`: see 'Error (%)', 'Time (s)'")


def test_a_sign_of_percent_sets_the_unit() -> None:
    cells = {"A,0.4 ± 0.1%": "%", "Err. [%],0.4": "%", "A at 10 %,0.4": "", "A,0.4 (↑2%)": ""}
    for cell, unit in cells.items():
        parsed = parse("Method,{}\nFedAvg,{}\n".format(*cell.split(",")))
        assert tomllib.loads(draft(parsed, table="1", title="t"))["unit"] == unit


def test_a_raised_mark_is_no_raised_spread() -> None:
    marks = {"number": ["a", "1", "(1)", "1,2"], "odd": ["0.3", "(0.6)", " .3", "12"]}
    for kind, raised in marks.items():
        read = [table_cells.read_cell(f"70.1^{{{mark}}}") for mark in raised]
        assert {one.kind for one in read} == {kind}
    assert table_cells.read_cell("70.1^{2}").how == "raised digits taken as those of notes"


NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters='",;\r\n'),
    min_size=1,
    max_size=8,
)


@given(st.lists(NAMES, min_size=2, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_any_labels_make_a_spec_of_labels_that_differ(columns: list[str], rows: list[str]) -> None:
    lines = [["", *(f"c{name}" for name in columns)]]
    lines += [[f"r{name}", *(["1.50"] * len(columns))] for name in rows]
    spec = tomllib.loads(draft(parse("\n".join(",".join(x) for x in lines)), table="1", title="t"))
    for part, count in (("columns", len(columns)), ("rows", len(rows))):
        labels = [str(one["label"]) for one in spec[part]]
        assert len(set(labels)) == len(labels) == count
        assert not any("|" in label for label in labels)


def test_the_command_says_what_it_read_and_passes_no_draft_that_lost_something(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, specs = tmp_path / "table.csv", tmp_path / "tables"
    source.write_text(CSV.replace("1/2", "1.5"))
    arguments = ["new-table", str(source), "--paper", "fresh", "--specs", str(specs), "--table"]
    assert main([*arguments, "B.7"]) == 0
    told = capsys.readouterr().out
    assert "5 cells read, 1 as words, 0 not understood\nit passes `fedrepro check fresh`" in told
    assert "columns are one experiment" in told
    assert "no method is named" not in told, "a row with words is no experiment"
    paper = tomllib.loads((specs / "fresh" / "paper.toml").read_text("utf-8"))
    assert "paper" not in paper["profiles"], "a draft is held against no print"
    assert main([*arguments, "B.7"]) == 2
    assert "is there already" in capsys.readouterr().err
    odd = {"FedProx,1/2": "FedProx @ A: '1/2'", "\\x,1": "label '\\x'"}
    for number, (row, said) in enumerate(odd.items()):
        source.write_text(CSV.replace("FedProx,1/2", row))
        assert main([*arguments, f"C.{number}"]) == 1
        told = capsys.readouterr().out
        assert "passes" not in told
        assert f"line 4: {said} is not understood" in told
        assert 'what stands behind kind = "descriptive" in its place' in told


@needs_pandoc
def test_a_command_of_the_author_s_own_is_asked_for() -> None:
    table = r"\begin{tabular}{lc} Method & A \\ FedAvg & 84.3\std{0.4} \end{tabular}"
    [told] = [line for line in parse(table).lacks("accuracy") if "not known" in line]
    assert r"not known: \std; if it is the author's own, put its \newcommand above" in told
    defined = parse(rf"\newcommand{{\std}}[1]{{$\pm$#1}} {table}")
    assert not any("not known" in line for line in defined.lacks("accuracy"))


@pytest.mark.parametrize(("option", "value"), [("--paper", "../x"), ("--table", "a b")])
def test_names_that_are_no_file_names_are_refused(
    option: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"--paper": "p", "--table": "1", option: value}
    words = [word for pair in names.items() for word in pair]
    assert main(["new-table", str(tmp_path / "t.csv"), *words]) == 2
    assert option in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("a & \\multicolumn{1000000000}{c}{x} \\\\ b & 1", "spans 1000000000 columns"),
        ("a & \\multicolumn{" + "9" * 6000 + "}{c}{x} \\\\ b & 1", "characters"),
        ("a" + " & 1" * 100_000 + "\\\\ b & 1", "100,001 columns"),
        ("a & " + "\\textbf{" * 100_000 + "\\\\ b & 1", "characters"),
        ("a & b \\\\" * 300_000, "longer than"),
    ],
    ids=["span", "digits", "width", "nested", "length"],
)
def test_a_table_of_enormous_size_is_one_clear_error(source: str, said: str) -> None:
    text = "\\begin{tabular}{ll}\n" + source + "\\end{tabular}"
    with pytest.raises(FedreproError, match=said) as caught:
        parse(text)
    assert len(str(caught.value)) < 200


def test_a_template_has_one_line_for_columns_that_are_one_experiment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("Method,A,B\nFedAvg,70.0,71.0\nOurs,72.0,73.0\n")
    at = ["fresh", "--specs", str(tmp_path)]
    assert main(["new-table", str(tmp_path / "t.csv"), "--table", "1", "--paper", *at]) == 0
    spec = tmp_path / "fresh/1.toml"
    spec.write_text(re.sub("skip = .*", 'method = "ours"', spec.read_text("utf-8")), "utf-8")
    assert main(["template", *at]) == 0
    told = capsys.readouterr()
    assert re.findall("^1,(.*),accuracy", told.out, re.MULTILINE) == ["FedAvg,A", "Ours,A"]
    assert "2 cells have no line: columns A, B of table 1 are one experiment" in told.err
