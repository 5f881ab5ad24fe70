from pathlib import Path

import pytest

import fedrepro
from fedrepro._config import configured
from fedrepro.cli import main, parse
from tests.benchmark.small_papers import write_papers

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_file_gives_defaults_and_the_command_line_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("pyproject.toml").write_text('[tool.fedrepro]\nprofile = "smoke"\njobs = 3\n')
    Path("fedrepro.toml").write_text('\ufeffdata-dir = "sets"\nstore = "kept"\n', "utf-8")
    given = parse(["run", "cpcfl", "--jobs", "0"])
    assert (given.profile, given.jobs, given.device) == ("smoke", 0, "auto")
    assert (given.data_dir, given.store) == (Path("sets"), Path("kept"))
    assert parse(["run", "cpcfl"]).jobs == 3
    assert parse(["report", "cpcfl"]).profile == "smoke"
    assert parse(["show", "cpcfl", "3", "--profile", "paper"]).profile == "paper"
    monkeypatch.setenv("FEDREPRO_DATA", "elsewhere")
    assert configured()["data-dir"] == "elsewhere"


def test_python_takes_the_file_and_finds_own_papers(monkeypatch: pytest.MonkeyPatch) -> None:
    write_papers(Path("tables"), ["mine"])
    write_papers(Path("others"), ["theirs"])
    Path("fedrepro.toml").write_text('profile = "smoke"\nstore = "kept"\n')
    assert "mine" in fedrepro.papers().index
    assert fedrepro.plan("mine").profile.name == "smoke"
    assert fedrepro.plan("mine", "reduced").profile.name == "reduced"
    assert fedrepro.stored("mine").report.profile == "smoke"
    monkeypatch.setenv("FEDREPRO_TABLES", "others")
    assert fedrepro.plan("theirs").paper.id == "theirs"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("jbs = 1", "fedrepro.toml: unknown key 'jbs'; did you mean 'jobs'?"),
        ('jobs = "2"', "fedrepro.toml: jobs must be a whole number, not '2'"),
        ("jobs = true", "fedrepro.toml: jobs must be a whole number, not True"),
        ("store = 3", "fedrepro.toml: store must be text in quotes, not 3"),
        ("jobs =", "fedrepro.toml cannot be read as TOML: "),
        ("jobs = 2", "pyproject.toml, [tool.fedrepro]: jobs is another one in fedrepro.toml"),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, said: str, capsys: Said) -> None:
    Path("pyproject.toml").write_text("[tool.fedrepro]\njobs = 1\n")
    Path("fedrepro.toml").write_text(text)
    assert main(["list"]) == 2
    assert f"fedrepro: {said}" in capsys.readouterr().err
