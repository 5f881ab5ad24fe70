import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.data.sets.fashion_mnist import FashionMnist
from fedrepro.benchmark.spec.folders import tables_root
from fedrepro.cli import build_parser, main
from fedrepro.commands import _terminal

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

VERBS: dict[str, argparse.ArgumentParser] = next(
    action.choices
    for action in build_parser()._actions
    if isinstance(action, argparse._SubParsersAction)
)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_help_holds_an_example_that_the_command_takes(verb: str) -> None:
    text = " ".join(VERBS[verb].format_help().split())
    example = text.partition("Example: ")[2].strip()
    words = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))
    assert words[0] == "fedrepro"
    assert VERBS[words[1]] is VERBS[verb]  # or another name of the same command
    assert build_parser().parse_args(words[1:]).execute


def test_help_is_one_screen_with_every_command_once_and_five_to_begin_with(
    capsys: Said,
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80
    listed = [one[3:].split()[0] for one in lines if one[:3] in (" * ", "   ")]
    assert sorted(listed) == sorted({one.prog.split()[1] for one in VERBS.values()})
    assert sum(one.startswith(" * ") for one in lines) == 5


LONG = (
    "audit", "check", "diff", "doctor", "judge", "multiverse", "readings", "regress", "report",
    "run", "settings",
)  # fmt: skip
SHORTER = ("--profile", "smoke", "--jobs", "0")
"""What makes an example that trains a matter of seconds."""
TABLE = "Method,A,B\nFedAvg,44.1,43.0\nOurs,46.4,45.2\n"


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param(verb, marks=[pytest.mark.slow] if verb in LONG else [])
        for verb in sorted({one.prog.split()[1] for one in VERBS.values()})
    ],
)
def test_the_example_of_a_command_runs(
    verb: str,
    tmp_path: Path,
    monkeypatch: Patch,
    capsys: Said,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("table7.csv").write_text(TABLE)
    line = "table,row,column,seed,value\n11,CP-CFL|SimCLR,Mean ± SD,0,76.1\n"
    Path("mine.csv").write_text(line, "utf-8")
    if verb == "new-method":
        for folder in ("methods/federated/supervised", "tests/methods"):
            Path(folder).mkdir(parents=True)
        Path("methods/federated/supervised/__init__.py").touch()
    example = (VERBS[verb].epilog or "").partition("Example: ")[2]
    words = shlex.split(example.removeprefix('eval "$(').removesuffix(')"'))[1:]
    if verb in ("run", "regress", "multiverse"):
        words += SHORTER
    if verb == "diff":
        results = ["--results", "mine.csv", "--protocol", "full"]
        for place in words[1:]:
            assert main(["judge", "cpcfl", *results, "--out", place]) == 0
    assert main(words) == (3 if verb == "report" else 0)  # nothing is stored to report on
    assert capsys.readouterr().out


def test_show_prints_a_table_in_every_format_and_says_how_to_run_it(
    tmp_path: Path, capsys: Said
) -> None:
    def shown(*words: str) -> str:
        assert main(["show", "cpcfl", "3", "--store", str(tmp_path), *words]) == 0
        return capsys.readouterr().out

    text = shown("--rows", "CP-CFL|SimCLR")
    assert "76.80 NOT RUN" in text
    assert "FedAvg None" not in text
    assert "again: fedrepro run cpcfl --tables 3 --profile reduced" in text
    assert "CP-CFL|SimCLR,T = 100" in shown("--format", "csv")
    assert r"\toprule" in shown("--format", "latex")
    assert "| CP-CFL SimCLR |" in shown("--format", "markdown")
    assert json.loads(shown("--json"))["cells"][0]["verdict"]["word"] == "NOT RUN"


def test_claims_are_data_for_scripts(capsys: Said) -> None:
    assert main(["claims", "cpcfl", "--contradicted", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["support"] for one in found} == {"contradicted"}
    assert {"paper", "table", "id", "says", "holds", "reason"} <= set(found[0])
    assert main(["claims", "cpcfl", "--contradicted"]) == 0
    assert "8.35" in capsys.readouterr().out


def test_methods_tells_options_with_their_defaults(capsys: Said) -> None:
    assert main(["methods", "cpcfl", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["options"]["n_clusters"]) == ("federated", 3)
    assert main(["methods"]) == 0
    listed = capsys.readouterr().out
    assert "  class-groups " in listed
    assert "  centralized-byol " in listed
    clustered = listed.partition("federated, clustered:\n")[2].partition(":\n")[0]
    assert "  ifca " in clustered
    assert "  fedavg " not in clustered


def test_doctor_says_what_is_missing_and_what_is_damaged(
    tmp_path: Path, capsys: Said, monkeypatch: Patch
) -> None:
    monkeypatch.setattr("fedrepro.commands.doctor._runnable", lambda given: iter(()))
    monkeypatch.setattr(FashionMnist, "package", ("dataset-fashion-mnist", tmp_path / "nothing"))
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (raw / f"{name}-ubyte").write_bytes(b"not what it should be")
    places = ["--data-dir", str(tmp_path), "--store", str(tmp_path / "store")]
    assert main(["doctor", "--json", *places]) == 2
    data = json.loads(capsys.readouterr().out)["data"]
    assert data["digits/train"].startswith("ok: 600 images")
    assert data["stl10/train"] == "missing: --download fetches 2,640 MB"
    assert "apt install dataset-fashion-mnist" in data["fashion-mnist/train"]
    assert "tiny-imagenet-200" in data["tiny-imagenet/train"]
    assert data["mnist/train"].startswith("damaged: ")


def test_completion_is_a_script_that_the_shell_takes_and_that_completes(
    capsys: Said,
) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    ask = "COMP_WORDS=(fedrepro {0}); COMP_CWORD={1}; COMPREPLY=(); "
    ask += '{2}; echo "${{COMPREPLY[@]}}"'
    complete = re.search(r"^complete .*-F (\w+) fedrepro$", script, re.MULTILINE)
    assert complete is not None
    for words, at, found in (
        ("reg", 1, "regress"),
        ("run --prof", 2, "--profile"),
        ("run cp", 2, "cpcfl"),
        ("run cpcfl --out /et", 4, "/etc"),
        ("run cpcfl --tables A.1", 4, "A.13"),
        ("show cpcfl B.15", 3, "B.15"),
        ("plan --profile re", 3, "reduced"),
        ("run cpcfl --on photo", 4, "photo-patches"),
        ("run cpcfl --executor pa", 4, "parsl"),
        ("methods lg-", 2, "lg-fedavg"),
    ):
        done = subprocess.run(
            ["bash", "-c", script + ask.format(words, at, complete[1])],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_other_shells_have_a_script_and_no_name_of_a_strangers_specs_reaches_one(
    shell: str, tmp_path: Path, capsys: Said
) -> None:
    for paper in ("mine", "$(touch planted)"):
        folder = tmp_path / paper
        folder.mkdir()
        (folder / "paper.toml").write_text('profiles."`touch planted`" = 1\n[profiles.own]\n')
        for table in ("1; touch planted", "Z.1"):
            (folder / f"{table}.toml").touch()
    (tmp_path / "mine" / "2.toml").write_text("not TOML")
    assert main(["completion", shell, "--specs", str(tmp_path)]) == 0
    script = capsys.readouterr().out
    assert "planted" not in script
    assert {name for name in (*VERBS, "mine", "own", "Z.1", "cpcfl") if name not in script} == set()
    checker = shutil.which(shell)
    if checker is not None and shell != "bash":
        subprocess.run([checker, "-n"], input=script, text=True, check=True)


def test_one_report_is_on_the_papers_named(tmp_path: Path) -> None:
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert main(["report", "cpcfl", "mfcl", *places]) == 3
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [one["paper"] for one in found] == ["cpcfl", "mfcl"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["regress", "--baselines", "b"], "record one with --record"),
        (["report", "--tables", "3"], "need one paper"),
        (["plan", "--tables", "3"], "need one paper"),
        (["run", "cpcfl", "fcl"], "one report: fedrepro report cpcfl fcl"),
        (["report", "--profile", "nonesuch"], "no paper has a profile 'nonesuch'"),
    ],
)
def test_what_a_command_cannot_do_with_these_papers_is_said(
    words: list[str], said: str, tmp_path: Path, capsys: Said
) -> None:
    assert main([*words, "--store", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_selection_does_not_replace_the_report_of_all(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.chdir(tmp_path)
    main(["report", "cpcfl", "--tables", "1,2"])
    main(["report", "cpcfl", "--tables", "3", "--rows", "CP-CFL|*", "--trials", "2"])
    assert sorted(path.name for path in (tmp_path / "results" / "reports").iterdir()) == [
        "cpcfl-reduced-tables-1-2",
        "cpcfl-reduced-tables-3-some-rows-changed",
    ]


def test_colours_are_for_terminals_and_can_be_refused(monkeypatch: Patch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert _terminal.paint("HOLDS") == "HOLDS"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert _terminal.paint("HOLDS") == "\x1b[32mHOLDS\x1b[0m"
    assert _terminal.paint("no verdict") == "no verdict"
    monkeypatch.setenv("NO_COLOR", "1")
    assert _terminal.paint("HOLDS") == "HOLDS"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with two families of methods, one of which has a method `taken`."""
    for folder in ("methods/federated/supervised", "methods/federated/split", "tests/methods"):
        (tmp_path / folder).mkdir(parents=True)
    for family in ("supervised", "split"):
        (tmp_path / "methods" / "federated" / family / "__init__.py").touch()
    (tmp_path / "methods" / "federated" / "split" / "taken.py").touch()
    return tmp_path


def test_new_method_makes_modules_and_tests_that_pass(checkout: Path, capsys: Said) -> None:
    """The modules are tried in packages of their own, so that the checkout stays as it is."""
    tests = checkout / "tests" / "methods"
    for name, family in (("fed-trial", "supervised"), ("fed-avg", "split")):
        arguments = ["new-method", name, "--family", family, "--root", str(checkout)]
        assert main(arguments) == 0
        stem = name.replace("-", "_")
        text = (checkout / "methods" / "federated" / family / f"{stem}.py").read_text()
        assert "from ..base import" in text
        text = text.replace("from ..", "from fedrepro.methods.federated.")
        (checkout / f"tried_{stem}.py").write_text(text)
        test, dotted = tests / f"test_{stem}.py", f"fedrepro.methods.federated.{family}.{stem}"
        assert dotted in test.read_text()
        (tests / f"test_tried_{stem}.py").write_text(
            test.read_text().replace(dotted, f"tried_{stem}")
        )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         *map(str, tests.glob("test_tried_*.py"))],
        env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{checkout}", "OMP_NUM_THREADS": "1"},
        cwd=checkout, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "6 passed" in done.stdout
    capsys.readouterr()
    assert main(arguments) == 2
    assert "is there already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["Fed"], "small letters"),
        (["fed_x"], "small letters"),
        (["fed--x"], "small letters"),
        (["../x"], "small letters"),
        (["class"], "word of Python"),
        (["base"], "word of Python"),
        (["taken"], "is there already"),
        (["fed-x", "--family", "fancy"], "families: split, supervised"),
    ],
)
def test_new_method_refuses_what_could_not_be_found_by_its_name(
    checkout: Path, arguments: list[str], words: str, capsys: Said
) -> None:
    before = sorted(checkout.rglob("*"))
    assert main(["new-method", *arguments, "--root", str(checkout)]) == 2
    assert words in capsys.readouterr().err
    assert sorted(checkout.rglob("*")) == before


def test_plan_as_json_lists_the_runs_that_the_text_counts(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "cpcfl", "--tables", "3", "--profile", "smoke", "--store", str(tmp_path)]
    assert main(selection) == 0
    text = capsys.readouterr().out
    assert main([*selection, "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert f"{len(plain['runs'])} unique runs" in text
    assert f"{plain['trials']} trials, {plain['stored']} of them in" in text
    assert sum(len(run["seeds"]) for run in plain["runs"]) == plain["trials"]
    assert sum(run["cells"] for run in plain["runs"]) == plain["measured"] <= plain["cells"]
    assert {run["start"] for run in plain["runs"]} - {None} <= {run["key"] for run in plain["runs"]}
    for run in plain["runs"]:
        assert RunConfig.from_dict(run["config"]).key == run["key"]
        assert run["estimate"] is None
    assert plain["estimate"]["unmeasured"] == plain["estimate"]["trials"] == plain["trials"]


def test_plan_measures_what_it_has_no_time_of(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "cpcfl", "--tables", "3", "--rows", "FedAvg|*", "--profile", "smoke"]
    assert main([*selection, "--store", str(tmp_path), "--json", "--measure", "--jobs", "0"]) == 0
    plain = json.loads(capsys.readouterr().out)
    each = {run["key"]: run["estimate"] for run in plain["runs"]}
    assert {one["source"] for one in each.values()} <= {"own trials", "trials of its kind"}
    left = plain["estimate"]
    assert (left["unmeasured"], left["trials"]) == (0, plain["trials"] - plain["stored"])
    assert left["longest"]["seconds"] == each[left["longest"]["key"]]["seconds"] > 0


def test_what_has_no_data_is_not_measured(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "cpcfl", "--tables", "5", "--profile", "paper", "--measure"]
    where = ["--store", str(tmp_path / "store"), "--data-dir", str(tmp_path), "--jobs", "0"]
    assert main([*selection, *where]) == 0
    said = capsys.readouterr()
    assert "0 trials to train" in said.err
    assert "no time for " in said.out


def test_several_plans_are_a_line_each_and_all_of_it(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "fcl", "fedrlc", "fcl", "--profile", "smoke", "--store", str(tmp_path)]
    assert main([*selection, "--json"]) == 0
    fcl, fedrlc = plans = json.loads(capsys.readouterr().out)
    assert (fcl["paper"], fedrlc["paper"]) == ("fcl", "fedrlc")
    assert main(selection) == 0
    *lines, size, left = capsys.readouterr().out.splitlines()
    trials = sum(one["trials"] for one in plans)
    assert lines[0].startswith(f"fcl: {fcl['cells']} cells, {len(fcl['runs'])} unique runs")
    assert lines[1].startswith("fedrlc: ")
    assert size == f"2 papers: {fcl['cells'] + fedrlc['cells']} cells, {trials} trials"
    assert left.startswith(f"no time for {trials} trials of ")


def test_check_as_json_holds_problems_with_file_and_line(
    tmp_path: Path, capsys: Said, monkeypatch: Patch
) -> None:
    assert main(["check", "cpcfl", "--json"]) == 0
    sound = json.loads(capsys.readouterr().out)
    assert sound["papers"]["cpcfl"]["cells"] == 558
    assert sound["problems"] == []
    shutil.copytree(tables_root() / "cpcfl", tmp_path / "cpcfl")
    spec = tmp_path / "cpcfl" / "3.toml"
    spec.write_text(spec.read_text(encoding="utf-8").replace("metric ", "metrik ", 1), "utf-8")
    monkeypatch.setenv("FEDREPRO_TABLES", str(tmp_path))
    assert main(["check", "cpcfl", "--json"]) == 2
    (problem, *_) = json.loads(capsys.readouterr().out)["problems"]
    assert problem["file"].endswith("3.toml")
    assert "metrik" in spec.read_text(encoding="utf-8").splitlines()[problem["line"] - 1]
    assert "did you mean 'metric'" in problem["message"]
