import re
import tomllib
from decimal import Decimal
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.spec import rules
from fedrepro.benchmark.spec.lines import find_lines
from fedrepro.benchmark.spec.load import load_paper, load_papers
from fedrepro.benchmark.spec.model import Paper, Table
from fedrepro.benchmark.spec.problems import FileProblems, validate
from fedrepro.cli import main
from tests.benchmark.small_papers import write_made_up

FILES = Path(__file__).parent / "spec_errors"
PAPER = (FILES / "paper.toml").read_text("utf-8")
TABLE = (FILES / "table.toml").read_text("utf-8")


def complaints(root: Path, paper: str = PAPER, table: str = TABLE) -> list[str]:
    folder = write_made_up(root, paper, table)
    try:
        said = "\n".join(map(str, check([load_paper("made-up", root)])[0]))
    except SpecError as error:
        said = str(error)
    return said.replace(f"{folder}/", "").splitlines()


def test_the_unchanged_spec_is_valid(tmp_path: Path) -> None:
    assert complaints(tmp_path) == []


def mistakes(name: str, sound: str) -> list[tuple[dict[str, str], list[str]]]:
    """A changed file, and the lines of the error: what is replaced by what, and below it the lines.
    A line of eight blanks goes on with the one above it."""
    text = (Path(__file__).parent / f"spec_errors/{name}.txt").read_text("utf-8")
    found = []
    for block in re.split(r"\n(?=\S)", text.strip()):
        change, *said = block.replace("\n        ", " ").split("\n    ")
        old, _, new = change.replace("\\n", "\n").partition(" =>")
        assert old in sound
        found.append(({name: sound.replace(old, new.removeprefix(" "))}, said))
    return found


@pytest.mark.parametrize(("files", "said"), mistakes("table", TABLE) + mistakes("paper", PAPER))
def test_a_mistake_is_one_line_each(tmp_path: Path, files: dict[str, str], said: list[str]) -> None:
    file = "3.toml" if "table" in files else "paper.toml"
    expected = [line if line.startswith("3.toml") else f"{file}:{line}" for line in said]
    assert complaints(tmp_path, **files) == expected


def test_all_mistakes_of_all_files_are_reported_at_once(tmp_path: Path) -> None:
    table = TABLE.replace("at = 25", "at = 125").replace("pretraining.", "pretrainng.")
    table = table.replace("[41.2, 42.3]", "[41.2]").replace('reason = "two SDs"', "")
    said = complaints(tmp_path, PAPER.replace("year = 2023", 'year = "2023"'), table)
    assert [line.split(" ")[0] for line in said] == [
        "paper.toml:4:",
        "3.toml:9:",
        "3.toml:16:",
        "3.toml:21:",
        "3.toml:27:",
    ]


def test_a_name_that_nothing_implements_ends_the_check_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDREPRO_TABLES", str(tmp_path))
    write_made_up(tmp_path, PAPER, TABLE.replace('"cpcfl"', '"fedsomething"'))
    assert main(["check", "made-up"]) == 1
    assert "NOT IMPLEMENTED: method 'fedsomething' (made-up 3)" in capsys.readouterr().out


def test_a_table_number_is_used_once(tmp_path: Path) -> None:
    (write_made_up(tmp_path, PAPER, TABLE) / "3b.toml").write_text(TABLE, encoding="utf-8")
    with pytest.raises(SpecError, match=r"3b\.toml:1: table: '3' is also the table of 3\.toml"):
        load_papers(tmp_path)


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (write_made_up(tmp_path, PAPER, TABLE) / "paper.toml").write_bytes(
        b'id = "x"\ntitle = "\xff"\n'
    )
    with pytest.raises(SpecError, match=r"paper\.toml:2: is not UTF-8 text"):
        load_papers(tmp_path)


def replaced(data: object, path: tuple[object, ...], value: object) -> object:
    if not path:
        return value
    if isinstance(data, dict):
        return {k: replaced(v, path[1:], value) if k == path[0] else v for k, v in data.items()}
    assert isinstance(data, list)
    return [replaced(v, path[1:], value) if i == path[0] else v for i, v in enumerate(data)]


def test_no_wrong_shape_anywhere_is_more_than_a_complaint() -> None:
    paper = tomllib.loads(PAPER, parse_float=Decimal)
    for text, model, checked in [
        (PAPER, Paper, lambda data, report: rules.check_paper(data, "made-up", {}, report)),
        (TABLE, Table, lambda data, to: rules.check_table(data, paper, {}, to)),
    ]:
        original = tomllib.loads(text, parse_float=Decimal)
        for path in find_lines(text):
            for value in (3, True, "text", "", [], {}, [3], [{}], {"a": 1}, {"a": {"b": []}}):
                data = replaced(original, path, value)
                report = FileProblems(Path("x.toml"), text)
                validate(model, data, report)  # type: ignore[type-var, arg-type]
                checked(data, report)
                assert all("\n" not in str(problem) for problem in report.problems)


@pytest.mark.parametrize("name", ["2.TOML", "2.toml.txt", "more/2.toml"])
def test_a_file_that_looks_like_a_table_and_is_not_read_is_an_error(
    tmp_path: Path, name: str
) -> None:
    folder = write_made_up(tmp_path, PAPER, TABLE)
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("not TOML", "utf-8")
    (folder / ".1.toml.swp").write_text("of an editor", "utf-8")
    with pytest.raises(SpecError, match=rf"{name} is not read: tables are NAME\.toml"):
        load_paper("made-up", tmp_path)
