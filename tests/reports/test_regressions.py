import json
import re
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from fedrepro.benchmark.judging.baseline import Recorded, RecordedCell
from fedrepro.benchmark.judging.comparison import BaselineCheck, Movement
from fedrepro.benchmark.store.files import sealed
from fedrepro.cli import main
from fedrepro.reports import regressions

ROOT = Path(__file__).parents[2]
CELL, OTHER, CLAIM = "3: A|x & <y> @ T = 100", "3: B @ T = 100", "4.1: beats"
DROP = Movement("value", CELL, "95.5", "71.2", -24.3, regression=True, tolerance=1.2)
WITHIN = Movement("value", OTHER, "70", "70.1", 0.1, tolerance=1.0)
LOST = Movement("claim", CLAIM, "HOLDS", "OPEN", regression=True)
MADE = "2026-11-01T10:00:00+00:00", "abc", "cpu", {}
THEN = Recorded("cpcfl", "reduced", None, 0, *MADE, {}, {}, {}, {}, {}, ())
FOUND = BaselineCheck(THEN, 3, (WITHIN, DROP, LOST), ())
SOUND = replace(FOUND, movements=(WITHIN,))


def test_a_failed_trial_does_not_pass() -> None:
    failed = replace(SOUND, failed=("fedavg on digits, trial 3: diverged at round 7",))
    assert json.loads(regressions.json_text([failed]))["passed"] is False


def test_json_holds_every_movement_with_its_sentence() -> None:
    told = json.loads(regressions.json_text([FOUND]))
    (paper,) = told["papers"]
    assert told["passed"] is False
    assert (paper["compared"], paper["regressed"]) == (3, 2)
    assert [one["sentence"] for one in paper["movements"]] == [
        one.sentence for one in FOUND.movements
    ]


def test_markdown_says_what_regressed_and_escapes_it() -> None:
    told = regressions.markdown([FOUND])
    assert "**REGRESSED** 3: A\\|x \\& \\<y\\> &#64; T = 100: value 95.5 -\\> 71.2" in told
    assert "at abc" in told


def test_lines_and_markdown_say_what_the_comparison_could_not_see() -> None:
    cell = RecordedCell((70.0, 60.0), "OPEN", None, "70", None)
    then = replace(THEN, cells={CELL: cell, OTHER: cell})
    limited = replace(
        SOUND, baseline=then, inexact="torch was 1 and is 2", blind=(OTHER,), stored="x"
    )
    for said in (regressions.markdown([limited]), "\n".join(regressions.lines(limited, str))):
        assert "torch was 1 and is 2" in said
        assert "not of this process: x; an empty --store" in said
        assert "in 1 of 2 cells the recorded trials spread so much that no fall of the" in said
        assert "would count as a regression; first 3: B" in said


def step(name: str) -> str:
    """The shell lines of one step of the workflow that other repositories call."""
    text = (ROOT / ".github/workflows/regress-papers.yml").read_text("utf-8")
    found = re.search(rf"- name: {name}\n(?:(?! +- ).*\n)*? +run: \|\n((?: {{10}}.*\n)+)", text)
    assert found is not None
    return textwrap.dedent(found[1])


def test_the_action_and_the_workflow_compare_by_the_same_lines() -> None:
    action = (ROOT / ".github/actions/regress/action.yml").read_text("utf-8")
    for name in ("Compare with the baselines", "Post the summary"):
        assert textwrap.indent(step(name), " " * 8) in action


WRITES = {"docs.yml": {"pages", "id-token"}, "publish.yml": {"id-token"}}
"""What the last job of a workflow may write; it runs nothing of the repository."""


@pytest.mark.parametrize("file", [".github/actions/regress/action.yml", *(
    f".github/workflows/{path.name}" for path in (ROOT / ".github/workflows").iterdir()
)])  # fmt: skip
def test_actions_are_pinned_and_inputs_never_become_shell(file: str) -> None:
    text = (ROOT / file).read_text("utf-8")
    used = re.findall(r"uses: (\S+)", text)
    assert used
    publisher = "|pypa/gh-action-pypi-publish" if file.endswith("/publish.yml") else ""
    assert all(re.fullmatch(rf"(actions/[\w-]+{publisher})@[0-9a-f]{{40}}", one) for one in used)
    assert file.endswith("action.yml") or "\npermissions:\n  contents: read\n" in text
    read, _, publishing = text.partition("\n  publish:\n")  # the job that hands on what was built
    assert ": write" not in read
    assert set(re.findall(r"(\S+): write", publishing)) == WRITES.get(Path(file).name, set())
    assert not re.search(r" run:|/checkout@", publishing)
    scripts = re.findall(r" +run: (?:\|\n((?: {8,}.*\n)+)|(.*)\n)", text)
    assert scripts
    assert not any("${{" in "".join(one) for one in scripts)


def test_a_planted_regression_turns_the_steps_of_the_workflow_red(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As another repository's job would run them, with the command called in this process."""
    monkeypatch.chdir(tmp_path)
    assert main(["new-project", "."]) == 0
    line = ["regress", "mypaper", "--profile", "smoke", "--jobs", "0"]
    spec = Path("tables/mypaper/1.toml")  # one of three methods is enough
    head, _, rest = spec.read_text("utf-8").partition('[[rows]]\nlabel     = "FedProx"')
    spec.write_text(head + rest[rest.index("[margin]") : rest.index("[[claims]]")], "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("fedrepro.benchmark.judging.comparison.blind_cells", lambda *_: ("1: A",))
        assert main([*line, "--record"]) == 0
    assert "mypaper: in 1 of 2 cells the recorded trials spread so" in capsys.readouterr().out
    assert '--out "$OUT"' in step("Compare with the baselines")
    outputs = ["--out", "out"]
    capsys.readouterr()
    assert main([*line, *outputs]) == 0
    assert json.loads(Path("out/regress.json").read_text("utf-8"))["passed"] is True

    recorded = Path("results/baselines/mypaper-smoke.json")
    plain = json.loads(recorded.read_text("utf-8"))
    place = "1: FedAvg @ 10 clients"
    plain["cells"][place]["trials"] = [one + 40 for one in plain["cells"][place]["trials"]]
    del plain["sha256"]
    recorded.write_bytes(sealed(plain))
    assert main([*line, *outputs]) == 1
    said = capsys.readouterr()
    (moved,) = json.loads(Path("out/regress.json").read_text("utf-8"))["papers"][0]["movements"]
    assert moved["difference"] == pytest.approx(-40)
    assert f"REGRESSED mypaper {moved['sentence']}" in said.out
    assert "**REGRESSED** 1: FedAvg" in Path("out/regress.md").read_text("utf-8")

    assert main([*line, "--record"]) == 0
    said = capsys.readouterr().out
    assert "against the baseline that is replaced: 1 of 2 cells, 0 of 0 claims, 0 of 1" in said

    Path("tables/mypaper").rename("gone")
    assert main(["regress", *line[2:], *outputs]) == 1
    assert f"REGRESSED mypaper {recorded}: spec recorded -> missing\n" == capsys.readouterr().out
    assert json.loads(Path("out/regress.json").read_text("utf-8"))["passed"] is False

    Path("gone").rename("tables/mypaper")
    recorded.unlink()
    assert main([*line, *outputs]) == 2
    assert not Path("out/regress.md").exists()
