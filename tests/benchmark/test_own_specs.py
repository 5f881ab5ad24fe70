import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedrepro.benchmark.spec.folders import HERE, paper_folders, searched, tables_root
from fedrepro.cli import main
from tests.benchmark.small_papers import write_papers

Said = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])  # modules of a new project are found there
    return tmp_path


def test_by_default_the_folder_tables_where_one_stands_counts(capsys: Said) -> None:
    assert searched() == (tables_root(),)
    write_papers(HERE, ["mine"])
    assert searched() == (HERE, tables_root())
    assert {"mine", "cpcfl", "fcl"} <= set(paper_folders(searched()))
    Path(HERE, "other").mkdir()
    Path(HERE, "other", "Paper.toml").touch()
    main(["check", "mine"])
    assert "tables/other holds no paper.toml, spelt like that" in capsys.readouterr().err


def test_the_variable_replaces_the_default_and_the_option_replaces_both(
    working_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [working_folder / name for name in ("tables", "a", "b", "c")]
    for folder in folders:
        write_papers(folder, [f"of-{folder.name}"])
    monkeypatch.setenv("FEDREPRO_TABLES", f"{folders[1]}:{folders[2]}")
    assert searched() == (folders[1], folders[2], tables_root())
    assert searched([folders[3]]) == (folders[3], tables_root())
    assert searched([tables_root(), folders[3]]) == (tables_root(), folders[3])


@pytest.mark.parametrize(
    "line",
    [
        ["list", "mine"], ["check", "mine"], ["audit", "mine"],
        ["readings", "mine"], ["settings", "mine"], ["show", "mine", "1"],
        ["plan", "mine", "--profile", "smoke"],
        ["multiverse", "mine", "--dry-run"], ["report", "mine", "--profile", "smoke"],
    ],
    ids=lambda line: line[0],
)  # fmt: skip
def test_commands_find_a_paper_of_ones_own(line: list[str], capsys: Said) -> None:
    write_papers(Path("specs"), ["mine"])
    assert main(line) == 2
    assert f"no paper 'mine' in {tables_root()}" in capsys.readouterr().err
    assert main([*line, "--specs", "specs"]) in (0, 2, 3)
    assert "no paper" not in capsys.readouterr().err


def test_a_report_names_the_command_that_finds_the_paper_again(capsys: Said) -> None:
    for folder, words in ((Path("my specs"), "--specs 'my specs' "), (HERE, "")):
        write_papers(folder, ["mine"])
        assert main(["show", "mine", "1", "--specs", str(folder)]) == 0
        assert f"again: fedrepro run mine {words}--tables 1 " in capsys.readouterr().out


def test_a_paper_of_ones_own_hides_one_that_comes_along_and_that_is_said(capsys: Said) -> None:
    shutil.copytree(tables_root() / "fcl", HERE / "fcl")
    spec = HERE / "fcl" / "paper.toml"
    spec.write_text(re.sub("(?m)^title.*", 'title = "Mine"', spec.read_text("utf-8"), count=1))
    assert main(["list", "fcl"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("fcl: Mine\n")
    assert told.err == f"fedrepro: fcl is read from tables/fcl, not from {tables_root() / 'fcl'}\n"
    for words, is_said in ((("fcl",), True), (("fcl", "--specs", str(tables_root())), False)):
        assert main(["report", *words, "--tables", "3", "--out", "made"]) == 3
        assert ("specs: others than" in Path("made/report.md").read_text("utf-8")) == is_said
    capsys.readouterr()
    assert main(["list", "cpcfl"]) == 0
    assert capsys.readouterr().err == ""


def test_errors_name_the_folder(working_folder: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip  # noqa: E501
    assert main(["list", "--specs", "nowhere"]) == 2
    assert capsys.readouterr().err == "fedrepro: --specs: nowhere is no folder\n"
    Path("empty").mkdir()
    assert main(["list", "--specs", "empty"]) == 2
    assert "empty holds no paper, which would be empty/<id>/paper.toml" in capsys.readouterr().err
    write_papers(Path("specs"), ["mine"])
    assert main(["list", "--specs", "specs/mine"]) == 2
    assert f"name the folder above it, {working_folder / 'specs'}" in capsys.readouterr().err
    monkeypatch.setenv("FEDREPRO_TABLES", "elsewhere")
    assert main(["list"]) == 2
    assert capsys.readouterr().err == "fedrepro: FEDREPRO_TABLES: elsewhere is no folder\n"


def test_a_draft_is_written_where_one_is_and_says_so(working_folder: Path, capsys: Said) -> None:
    Path("t.csv").write_text("Method,Accuracy\nFedAvg,70.0\n")
    draft = ["new-table", "t.csv", "--table", "1", "--paper"]
    before = sorted(tables_root().iterdir())
    assert main([*draft, "mine"]) == 0
    assert f"wrote {working_folder / 'tables' / 'mine' / '1.toml'}" in capsys.readouterr().out
    assert sorted(tables_root().iterdir()) == before
    assert main(["check", "mine"]) == 0

    assert main([*draft, "cpcfl"]) == 2
    assert "'cpcfl' is bundled with fedrepro" in capsys.readouterr().err
    assert not (working_folder / "tables" / "cpcfl").exists()


def test_a_new_project_passes_the_check_and_replaces_nothing(
    working_folder: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["new-project", "mine"]) == 0
    assert f"wrote {working_folder}/mine/tables/mypaper/1.toml" in capsys.readouterr().out
    monkeypatch.chdir("mine")
    assert main(["check", "mypaper"]) == 0
    Path("README.md").unlink()
    assert main(["new-project", "."]) == 2
    assert "is there already; nothing was written" in capsys.readouterr().err
    assert not Path("README.md").exists()


WORKFLOW = ".github/workflows/fedrepro.yml"


def test_the_workflow_of_a_new_project_takes_the_actions_of_this_repository() -> None:
    main(["new-project", "mine"])
    new = Path("mine", WORKFLOW).read_text("utf-8")
    ours = (tables_root().parent / ".github" / "workflows" / "regress.yml").read_text("utf-8")
    pins = [re.findall(r"uses: (\S+@[0-9a-f]{40})", text) for text in (new, ours)]
    assert pins[0] == pins[1]
    assert "permissions:\n  contents: read\n" in new


@pytest.mark.slow
def test_a_new_project_comes_to_a_report_by_the_commands_of_its_readme(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    main(["new-project", "mine"])
    monkeypatch.chdir("mine")
    shell = re.search(r"```bash\n(.*?)```", Path("README.md").read_text("utf-8"), re.DOTALL)
    assert shell is not None
    lines = [line.partition("#")[0].split() for line in shell[1].splitlines()]
    assert len(lines) == 4
    for _, *words in lines:  # in processes that know no other project's package
        subprocess.run([sys.executable, "-m", "fedrepro", *words], check=True)
    assert Path("results/reports/mypaper-smoke/report.html").is_file()
    (gate,) = re.findall(r"run: fedrepro (regress .*)", Path(WORKFLOW).read_text("utf-8"))
    subprocess.run([sys.executable, "-m", "fedrepro", *gate.split()], check=True)
    method = Path("mypackage/my_method.py")
    method.write_text(method.read_text("utf-8").replace("(1 - self.keep)", "0"), "utf-8")
    again = [sys.executable, "-m", "fedrepro", *gate.split()]
    assert subprocess.run(again, check=False).returncode == 1
