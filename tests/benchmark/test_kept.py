"""What is kept of a report on many papers stands exactly while all that it was made from does."""

from __future__ import annotations

import argparse
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedrepro.benchmark.commands._many import PARTS, _alone, report_on
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.judging import kept
from fedrepro.benchmark.judging.judge import judge
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper, tables_root
from fedrepro.benchmark.store.files import sha256_of
from fedrepro.benchmark.store.fingerprint import folder_of
from fedrepro.benchmark.store.store import Store
from tests.benchmark.small_papers import numbers, write_papers
from tests.benchmarks.suite import fill

IDS = ("one", "three", "two")
Make = Callable[..., list[str]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Papers of one small table each, with runs of their own."""
    root = tmp_path / "specs"
    write_papers(root, IDS)
    return root


@pytest.fixture
def plans(root: Path, tmp_path: Path) -> dict[str, Plan]:
    """Of the papers, every trial of which is stored but for one of each."""
    plans = {id: make_plan(load_paper(id, root), "smoke") for id in IDS}
    store = Store(tmp_path / "store")
    for plan in plans.values():
        fill(store, plan)
        config, seed = plan.trials_to_run()[-1]
        (tmp_path / "spare" / config.key).mkdir(parents=True)
        for file in (store.root / "trials" / config.key).glob(f"*-seed{seed}.*"):
            file.rename(tmp_path / "spare" / config.key / file.name)
    return plans


@pytest.fixture
def report(
    root: Path, tmp_path: Path, plans: dict[str, Plan], monkeypatch: pytest.MonkeyPatch
) -> Make:
    """Makes the report; the papers that were judged for it."""
    judged: list[str] = []

    def noted(plan: Plan, *given: Any, **more: Any) -> Any:
        judged.append(plan.paper.id)
        return judge(plan, *given, **more)

    monkeypatch.setattr("fedrepro.benchmark.judging.judge.judge", noted)

    def make(
        *, profile: str = "smoke", command: str = "x", anew: bool = False, out: str = "out"
    ) -> list[str]:
        judged.clear()
        given = argparse.Namespace(
            profile=profile, trials=None, store=tmp_path / "store", papers=[], anew=anew
        )
        ids = [id for id in IDS if (root / id).is_dir()]
        report_on(ids, given, tmp_path / out, command=command, root=root, jobs=1)
        return list(judged)

    return make


def contents(out: Path) -> dict[str, bytes]:
    """All files of a report but for what is kept."""
    return {
        file.relative_to(out).as_posix(): file.read_bytes()
        for file in out.rglob("*")
        if file.is_file() and not file.relative_to(out).parts[0].startswith(".")
    }


def test_a_report_on_what_has_not_changed_judges_nothing_and_is_the_same_bytes(
    report: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report() == list(IDS)
    first = contents(tmp_path / "out")
    assert report() == []
    assert contents(tmp_path / "out") == first
    assert "3 of 3 papers are as they were" in capsys.readouterr().err
    assert report(anew=True) == list(IDS)


def edit_spec(tmp_path: Path, plans: dict[str, Plan]) -> None:
    with (tmp_path / "specs" / "two" / "1.toml").open("a", encoding="utf-8") as file:
        file.write("# a remark\n")


def add_table(tmp_path: Path, plans: dict[str, Plan]) -> None:
    shutil.copy(tables_root() / "fcl" / "2.toml", tmp_path / "specs" / "two")


def a_trial(tmp_path: Path, plans: dict[str, Plan], ending: str) -> Path:
    config, seed = plans["two"].trials_to_run()[0]
    (file,) = (tmp_path / "store" / "trials" / config.key).glob(f"*-seed{seed}{ending}")
    return file


def change_record(tmp_path: Path, plans: dict[str, Plan]) -> None:
    file = a_trial(tmp_path, plans, ".json")
    file.write_bytes(file.read_bytes().replace(b'"seed":0', b'"seed": 0'))


def lose_record(tmp_path: Path, plans: dict[str, Plan]) -> None:
    a_trial(tmp_path, plans, ".json").unlink()


def spoil_arrays(tmp_path: Path, plans: dict[str, Plan]) -> None:
    config, _ = plans["two"].trials_to_run()[-1]
    file = min((tmp_path / "store" / "trials" / config.key).glob("*-seed0.npz"))
    before = file.stat()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert file.stat().st_size == before.st_size


def finish_trial(tmp_path: Path, plans: dict[str, Plan]) -> None:
    config, _ = plans["two"].trials_to_run()[-1]
    for file in (tmp_path / "spare" / config.key).iterdir():
        file.rename(tmp_path / "store" / "trials" / config.key / file.name)


def fail_trial(tmp_path: Path, plans: dict[str, Plan]) -> None:
    config, seed = plans["two"].trials_to_run()[-1]
    store = Store(tmp_path / "store")
    with store.writing():
        store.save_error(config, seed, "diverged at round 7")


def leave_stale_trial(tmp_path: Path, plans: dict[str, Plan]) -> None:
    config, seed = plans["two"].trials_to_run()[-1]
    store = Store(tmp_path / "store", lambda config: {"methods/other.py": "0" * 64})
    (record,) = (tmp_path / "spare" / config.key).glob("*.json")
    assert record.name.endswith(f"seed{seed}.json")
    assert store.find(config, seed) is None
    shutil.copy(record, tmp_path / "store" / "trials" / config.key / f"{'0' * 12}-seed{seed}.json")


def spoil_part(tmp_path: Path, plans: dict[str, Plan]) -> None:
    part = tmp_path / "out" / PARTS / "two" / "json-report"
    part.write_bytes(part.read_bytes().replace(b"SCALED", b"EXACT"))


def spoil_page(tmp_path: Path, plans: dict[str, Plan]) -> None:
    with (tmp_path / "out" / "papers" / "two.html").open("a") as page:
        page.write("<p>by hand</p>")


def lose_part(tmp_path: Path, plans: dict[str, Plan]) -> None:
    (tmp_path / "out" / PARTS / "two" / "csv-lines").unlink()


def spoil_note(tmp_path: Path, plans: dict[str, Plan]) -> None:
    note = tmp_path / "out" / PARTS / "two" / "made-from.json"
    note.write_bytes(note.read_bytes()[:-20])


def lose_note(tmp_path: Path, plans: dict[str, Plan]) -> None:
    (tmp_path / "out" / PARTS / "two" / "made-from.json").unlink()


CHANGES = (
    edit_spec, add_table, change_record, lose_record, spoil_arrays, finish_trial, fail_trial,
    leave_stale_trial, spoil_part, spoil_page, lose_part, spoil_note, lose_note,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_whatever_changes_makes_its_paper_judged_anew_and_no_other(
    report: Make,
    plans: dict[str, Plan],
    tmp_path: Path,
    change: Callable[[Path, dict[str, Plan]], None],
) -> None:
    report()
    change(tmp_path, plans)
    assert report() == ["two"]
    report(out="other")
    assert numbers(tmp_path / "out") == numbers(tmp_path / "other")


def test_another_question_other_code_or_another_release_make_all_of_it_anew(
    report: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    report()
    assert report(command="y") == list(IDS)
    assert report(command="y", profile="reduced") == list(IDS)
    assert report(command="y", profile="reduced") == []
    monkeypatch.setattr("fedrepro.benchmark.commands._many.code", lambda: "edited")
    assert report(command="y", profile="reduced") == list(IDS)


def test_code_is_every_file_that_makes_a_report_and_every_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {name: folder_of(name) for name in kept._PACKAGES}
    assert set(packages) == {"benchmark", "methods", "reports"}
    copies = {name: tmp_path / name for name in packages}
    for name, folder in packages.items():
        shutil.copytree(folder, copies[name])
    monkeypatch.setattr(kept, "folder_of", copies.__getitem__)
    now = kept.code
    before = now()
    assert before == now()
    for edited in (
        "reports/templates/report.css",
        "benchmark/judging/judge.py",
        "methods/costs/model_costs.py",
    ):
        with (tmp_path / edited).open("a") as file:
            file.write("\n")
        assert now() != before
        before = now()
    (tmp_path / "methods" / "new.py").touch()
    assert now() != before
    before = now()
    monkeypatch.setattr(kept, "distributions", list)
    assert now() != before


def test_after_any_changes_a_report_is_what_one_judged_anew_is(
    report: Make, plans: dict[str, Plan], tmp_path: Path
) -> None:
    draw = random.Random(0)
    report()
    files = sorted(file for file in (tmp_path / "store").rglob("*-seed*") if file.is_file())
    lost: dict[Path, bytes] = {}
    for turn in range(12):
        for file in draw.sample(files, 2):
            if file in lost:
                file.write_bytes(lost.pop(file))
            else:
                lost[file] = file.read_bytes()
                if draw.random() < 0.5:
                    file.write_bytes(lost[file][: draw.randrange(len(lost[file]))])
                else:
                    file.unlink()
        report()
        report(out=f"anew-{turn}")
        assert numbers(tmp_path / "out") == numbers(tmp_path / f"anew-{turn}")


def test_a_warning_is_given_each_time(
    report: Make, plans: dict[str, Plan], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoil_arrays(tmp_path, plans)
    for _ in range(2):
        assert "two" in report()
        assert "is damaged or missing" in capsys.readouterr().err


def test_a_paper_without_the_profile_is_left_out_each_time_and_read_once(
    report: Make, root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = root / "two" / "paper.toml"
    spec.write_text(spec.read_text("utf-8").replace("[profiles.smoke", "[profiles.other"), "utf-8")
    assert report() == ["one", "three"]
    monkeypatch.setattr(
        "fedrepro.benchmark.spec.load.load_paper", lambda *given: pytest.fail("read again")
    )
    capsys.readouterr()
    assert report() == []
    assert "two has no profile 'smoke': left out" in capsys.readouterr().err


def test_what_is_kept_of_a_paper_that_is_gone_goes_too(
    report: Make, root: Path, tmp_path: Path
) -> None:
    report()
    shutil.rmtree(root / "two")
    assert report() == []
    assert {place.name for place in (tmp_path / "out" / PARTS).iterdir()} == {"one", "three"}
    assert [one["paper"] for one in numbers(tmp_path / "out")] == ["one", "three"]


def test_a_file_that_changes_between_two_looks_is_never_as_it_was() -> None:
    found = iter([b"a", b"b", b"b", None])
    seen: dict[str, str | None] = {}
    look = kept.noting(lambda name: next(found), seen)
    for _ in range(3):
        look("x")
    assert seen == {"x": "changed"}
    assert look("y") is None
    assert seen["y"] is None


def test_a_report_that_was_ended_goes_on_from_the_papers_that_were_judged(
    report: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ended(plan: Plan, *given: Any, **more: Any) -> Any:
        if plan.paper.id == "three":
            raise KeyboardInterrupt
        return judge(plan, *given, **more)

    with monkeypatch.context() as patch:
        patch.setattr("fedrepro.benchmark.judging.judge.judge", ended)
        with pytest.raises(KeyboardInterrupt):
            report()
    assert contents(tmp_path / "out") == {}
    assert report() == ["three", "two"]
    report(out="other")
    assert numbers(tmp_path / "out") == numbers(tmp_path / "other")


def test_a_damaged_note_is_none(tmp_path: Path) -> None:
    draw = random.Random(0)
    (tmp_path / "part").write_text("text")
    made = kept.Made("asked", {"gone": None}, {"part": sha256_of(b"text")}, None)
    kept.keep(tmp_path, made)
    (note,) = (file for file in tmp_path.iterdir() if file.name != "part")
    whole = note.read_bytes()
    assert kept.kept(tmp_path, "asked", lambda name: None) == made
    for _ in range(2000):
        damaged = bytearray(whole)
        at = draw.randrange(len(whole))
        if draw.random() < 0.3:
            del damaged[at : at + draw.randint(1, 40)]
        else:
            damaged[at] ^= draw.randint(1, 255)
        note.write_bytes(damaged)
        assert kept.kept(tmp_path, "asked", lambda name: None) is None


def test_two_reports_in_one_folder_are_not_made_at_once(report: Make, tmp_path: Path) -> None:
    report()
    with (
        _alone(tmp_path / "out"),
        pytest.raises(FedreproError, match=r"another fedrepro is writing the report in .*--out"),
    ):
        report()
    assert report() == []
