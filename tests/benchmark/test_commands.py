import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import fedrepro
from fedrepro.cli import build_parser, main

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
    words = shlex.split(example)
    assert words[0] == "fedrepro"
    assert VERBS[words[1]] is VERBS[verb]  # or another name of the same command
    assert build_parser().parse_args(words[1:]).execute


def test_help_is_one_screen_with_every_command_once_and_five_to_begin_with(capsys: Said) -> None:
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


@pytest.mark.parametrize("verb", [
    pytest.param(verb, marks=[pytest.mark.slow] if verb in LONG else [])
    for verb in sorted({one.prog.split()[1] for one in VERBS.values()})
])  # fmt: skip
def test_the_example_of_a_command_runs(
    verb: str, tmp_path: Path, monkeypatch: Patch, capsys: Said
) -> None:
    monkeypatch.chdir(tmp_path)
    if verb == "new-method":
        clone(tmp_path)
    Path("table7.csv").write_text(TABLE)
    line = "table,row,column,seed,value\n11,CP-CFL|SimCLR,Mean ± SD,0,76.1\n"
    Path("mine.csv").write_text(line, "utf-8")
    example = (VERBS[verb].epilog or "").partition("Example: ")[2]
    words = shlex.split(example)[1:]
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


def test_methods_tells_options_with_their_defaults(capsys: Said) -> None:
    assert main(["methods", "cpcfl"]) == 0
    found = capsys.readouterr().out
    assert found.startswith("federated cpcfl (methods/federated/")
    assert "\n  n_clusters = 3\n" in found
    assert main(["methods", "f1_macro"]) == 0
    assert "metric f1_macro (methods/metrics/classification.py)\n\nAccu" in capsys.readouterr().out
    assert main(["methods"]) == 0
    listed = capsys.readouterr().out
    assert "  class-groups " in listed
    assert "  auroc_ovo_macro " in listed.partition("\nmetric:\n")[2]
    assert "  centralized-byol " in listed
    clustered = listed.partition("federated, clustered:\n")[2].partition(":\n")[0]
    assert "  ifca " in clustered
    assert "  fedavg " not in clustered


def test_doctor_says_what_is_missing_and_what_is_damaged(
    tmp_path: Path, capsys: Said, monkeypatch: Patch
) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)  # of a build that does not fit
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (raw / f"{name}-ubyte").write_bytes(b"not what it should be")
    places = ["--data-dir", str(tmp_path), "--store", str(tmp_path / "store")]
    assert main(["doctor", *places]) == 2
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    [torchvision] = [line[1] for line in lines if line[0] == "torchvision"]
    assert "; install both at once: python -m pip install --force-reinstall" in torchvision
    data = {name: facts[0] for name, *facts in lines if facts}
    assert data["digits/train"].startswith("ok: 600 images")
    assert data["stl10/train"] == "missing: --download fetches 2,640 MB"
    assert "tiny-imagenet-200" in data["tiny-imagenet/train"]
    assert data["mnist/train"].startswith("damaged: ")
    record = tmp_path / "store/trials/0123456789abcdef/0123456789ab-seed0.json"
    record.parent.mkdir(parents=True)
    record.write_text("{")
    assert main(["doctor", "--store", places[-1], "--data-dir", str(tmp_path / "none")]) == 2
    assert "0 finished trials; trials/0123456789abcdef" in capsys.readouterr().out


def test_a_check_of_no_paper_of_ones_own_says_so(
    tmp_path: Path, capsys: Said, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(tmp_path)
    for papers in ([], ["fcl"]):
        assert main(["check", *papers]) == 0
        assert ("./tables holds no paper of yours" in capsys.readouterr().err) is not bool(papers)


def test_one_report_is_on_the_papers_named(tmp_path: Path) -> None:
    places = ["--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]
    assert main(["report", "cpcfl", "mfcl", *places]) == 2  # no such folder
    (tmp_path / "store").mkdir()
    assert main(["report", "cpcfl", "mfcl", *places]) == 3
    found = json.loads((tmp_path / "out" / "report.json").read_text())
    assert [one["paper"] for one in found] == ["cpcfl", "mfcl"]


@pytest.mark.parametrize(("words", "said"), [
    (["regress", "--baselines", "b"], "record one with --record"),
    (["report", "--tables", "3"], "need one paper"),
    (["plan", "--tables", "3"], "need one paper: name it"),
    (["plan", "--tables", "3", "5", "cpcfl"], "--set need one paper, not 5 and cpcfl"),
    (["show", "CP-CFL", "3"], "did you mean 'cpcfl'?"),
    (["show", "cpcfl", "3", "--out", "."], "--out . is a folder"),
    (["report", "--profile", "nonesuch"], "no paper has a profile 'nonesuch'"),
])  # fmt: skip
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


def test_plan_measures_what_it_has_no_time_of(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "cpcfl", "--tables", "3", "--rows", "FedAvg|*", "--profile", "smoke"]
    assert main([*selection, "--store", str(tmp_path)]) == 0
    assert " of 2 kinds: nothing like them is stored" in capsys.readouterr().out
    assert main([*selection, "--store", str(tmp_path), "--measure", "--jobs", "0"]) == 0
    said = capsys.readouterr().out
    assert "time unknown of" not in said
    assert "longest trial: about " in said


def test_what_has_no_data_is_not_measured(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "cpcfl", "--tables", "5", "--profile", "paper", "--measure"]
    where = ["--store", str(tmp_path / "store"), "--data-dir", str(tmp_path), "--jobs", "0"]
    assert main([*selection, *where]) == 0
    said = capsys.readouterr()
    assert "0 trials to train" in said.err
    assert "time unknown of " in said.out


def test_several_plans_are_a_line_each_and_all_of_it(tmp_path: Path, capsys: Said) -> None:
    selection = ["plan", "fcl", "fedrlc", "fcl", "--profile", "smoke", "--store", str(tmp_path)]
    assert main(selection) == 0
    fcl, fedrlc, size, left = capsys.readouterr().out.splitlines()
    plans = [fedrepro.plan(paper, "smoke") for paper in ("fcl", "fedrlc")]
    trials = sum(len(one.trials_to_run()) for one in plans)
    assert fcl.startswith("fcl: ")
    assert f" cells, {len(plans[0].runs)} unique runs" in fcl
    assert fedrlc.startswith("fedrlc: ")
    assert size.startswith("2 papers: ")
    assert size.endswith(f" cells, {trials} trials")
    assert left.startswith(f"time unknown of {trials} trials of ")


def clone(folder: Path) -> None:
    """Makes what `new-method` needs: one family of methods, with the method `taken`."""
    (folder / "tests/methods").mkdir(parents=True)
    (folder / "methods/federated/supervised").mkdir(parents=True)
    for name in ("__init__", "taken"):
        (folder / f"methods/federated/supervised/{name}.py").touch()


def test_new_method_makes_a_method_and_a_test_that_passes(tmp_path: Path) -> None:
    """The module is tried in a package of its own, so that the checkout stays as it is."""
    clone(tmp_path)
    assert main(["new-method", "fed-trial", "--root", str(tmp_path)]) == 0
    package = "fedrepro.methods.federated."
    module = tmp_path / "methods/federated/supervised/fed_trial.py"
    (tmp_path / "tried.py").write_text(module.read_text().replace("from ..", f"from {package}"))
    test = tmp_path / "tests/methods/test_fed_trial.py"
    test.write_text(test.read_text().replace(f"{package}supervised.fed_trial", "tried"))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)],
        env={"PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}", "OMP_NUM_THREADS": "1"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@pytest.mark.parametrize(("arguments", "words"), [
    (["fed_x"], "small letters"),
    (["../x"], "small letters"),
    (["class"], "word of Python"),
    (["taken"], "is there already"),
    (["fed-x", "--family", "fancy"], "families: supervised"),
])  # fmt: skip
def test_new_method_refuses_what_could_not_be_found_by_its_name(
    arguments: list[str], words: str, tmp_path: Path, capsys: Said
) -> None:
    clone(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert main(["new-method", *arguments, "--root", str(tmp_path)]) == 2
    assert words in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
