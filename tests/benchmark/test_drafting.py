"""Drafts of specs from LaTeX and CSV."""

import tomllib
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.spec.table_import import draft, parse
from fedrepro.cli import main

LATEX = r"""
\begin{table}
\caption{Results}
\begin{tabular}{l|l@{\hspace{3pt}}rr}
\toprule
 & & \multicolumn{2}{c}{CIFAR-10} \\ \cmidrule(lr){3-4}
Method & Start & $T=25$ & $T=100$ \\ \midrule
\multirow{2}{*}{FedAvg} & None & 32.73 & \textbf{44.13} \\ % a comment & 1
 & SimCLR & $46.40 \pm 0.5$ & -- \\
\hline
Ours \& more & None & 50.1\% & 60 \\
\bottomrule
\end{tabular}
\end{table}
"""


def test_a_latex_tabular_is_read_with_spans_rules_and_markup() -> None:
    parsed = parse(LATEX)
    assert parsed.columns == (("CIFAR-10", "T=25"), ("CIFAR-10", "T=100"))
    assert parsed.rows == (
        (("FedAvg", "None"), ("32.73", "44.13")),
        (("FedAvg", "SimCLR"), ("46.40 ± 0.5", "--")),
        (("Ours & more", "None"), ("50.1%", "60")),
    )


def test_csv_is_read_with_any_separator() -> None:
    for separator in ",;\t":
        text = "\n".join(
            separator.join(line)
            for line in (["method", "MNIST", "EMNIST"], ["FedAvg", "90.10", "80.00"])
        )
        parsed = parse(text)
        assert parsed.columns == (("MNIST",), ("EMNIST",))
        assert parsed.rows == ((("FedAvg",), ("90.10", "80.00")),)


def test_digits_stay_as_printed_and_known_methods_are_bound() -> None:
    spec = tomllib.loads(draft(parse(LATEX), table="7", title="t"), parse_float=Decimal)
    first, second, third = spec["rows"]
    assert str(first["published"][1]) == "44.13"
    assert first["method"] == "fedavg"
    assert second["published"] == ["46.40 ± 0.5", "—"]
    assert "method" not in third
    assert "sd" in spec


@pytest.mark.parametrize("text", ["", "a,b\nc,d", r"\begin{tabular}{lr} a & b \end{tabular}"])
def test_text_without_numbers_is_refused(text: str) -> None:
    with pytest.raises(FedreproError, match="no table found"):
        parse(text)


NAMES = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters='",;\r\n'),
    min_size=1,
    max_size=8,
)


@given(st.lists(NAMES, min_size=2, max_size=4), st.lists(NAMES, min_size=1, max_size=4))
def test_any_labels_make_a_spec_with_labels_that_differ(
    columns: list[str], rows: list[str]
) -> None:
    lines = [["", *(f"c{name}" for name in columns)]]
    lines += [[f"r{name}", *(["1.50"] * len(columns))] for name in rows]
    spec = tomllib.loads(draft(parse("\n".join(",".join(x) for x in lines)), table="1", title="t"))
    for part, count in (("columns", len(columns)), ("rows", len(rows))):
        labels = [str(one["label"]) for one in spec[part]]
        assert len(set(labels)) == len(labels) == count
        assert not any("|" in label for label in labels)


def test_the_command_makes_a_paper_whose_draft_passes_the_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "table.tex"
    source.write_text(LATEX)
    arguments = ["new-table", str(source), "--paper", "fresh", "--table", "B.7"]
    arguments += ["--specs", str(tmp_path / "tables")]
    assert main(arguments) == 0
    assert "passes `fedrepro check`" in capsys.readouterr().out
    assert (tmp_path / "tables" / "fresh" / "paper.toml").exists()
    assert main(arguments) == 2
    assert "is there already" in capsys.readouterr().err


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
