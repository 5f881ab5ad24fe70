"""`fedrepro published`: from a budget to committed records to a report elsewhere, with real trials.

The paper is one of our own whose published protocol takes a second on digits, so that nothing is
scaled; its printed numbers are made up.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import StoreError
from fedrepro.benchmark.execution import run as run_module
from fedrepro.benchmark.execution.data_availability import DataAvailability
from fedrepro.benchmark.execution.published import FIRST, Wanted, in_order, judgeable
from fedrepro.benchmark.execution.take import take
from fedrepro.benchmark.judging.committed import judge_committed
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.fingerprint import digest
from fedrepro.benchmark.store.published import PublishedTrials
from fedrepro.benchmark.store.store import Store
from fedrepro.cli import main
from fedrepro.commands._published import _ending_after
from fedrepro.methods.outcome import Curve, Outcome
from tests.benchmark.small_papers import write_made_up

TRIALS = 4
PAPER = f"""
id      = "made-up"
title   = "A paper that nobody wrote"
authors = "nobody"
year    = 2026
venue   = "nowhere"

[experiment]
method = "fedavg"
[experiment.clients]
data = "digits"
image_size = 8
channels = 1
partition = "class-groups"
count = 3
test_size = 10
[experiment.encoder]
name = "cnn"
widths = [4, 4]
dim = 8
padding = 1
[experiment.head]
widths = []
[experiment.pretraining]
method = "none"
[experiment.training]
rounds = 2
local_epochs = 1

[profiles.paper]
trials = {TRIALS}
"""
TABLE = """
table   = "3"
title   = "Accuracy"
section = "1"
kind    = "empirical"
metric  = "accuracy"
unit    = "%"

[margin]
value  = 90
reason = "so wide that a handful of trials decides"

[[columns]]
label = "digits"
[[columns]]
label = "photographs"
clients.data = "cifar10"
clients.image_size = 32
clients.channels = 3

[[rows]]
label  = "long"
training.rounds = 3
published = [50.0, 50.0]
[[rows]]
label  = "short"
published = [50.0, 50.0]
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A folder with the made-up paper."""
    root = tmp_path / "specs"
    root.mkdir()
    write_made_up(root, PAPER, TABLE)
    return root


@pytest.fixture
def plan(specs: Path) -> Plan:
    return make_plan(load_paper("made-up", specs), "paper")


class Place:
    """A working folder: its records, its store, its docs."""

    def __init__(self, root: Path, specs: Path) -> None:
        self.root, self.specs = root, specs
        (root / "docs").mkdir(parents=True)
        for page, name in (("docs/published.md", "table"), ("README.md", "sentence")):
            text = f"before <!-- published: {name} -->old<!-- published: end --> after\n"
            (root / page).write_text(text, "utf-8")

    def words(self, *more: str) -> list[str]:
        where = {
            "--specs": self.specs,
            "--store": self.root / "store",
            "--records": self.root / "records",
            "--out": self.root / "out",
            "--docs": self.root,
            "--data-dir": self.root / "no-data",
        }
        named = [str(word) for pair in where.items() for word in pair]
        return ["published", "made-up", *named, "--jobs", "0", *more]

    @property
    def records(self) -> list[Path]:
        return sorted((self.root / "records").glob("*/*.json"))

    @property
    def cells(self) -> dict[tuple[str, ...], dict[str, Any]]:
        found = json.loads((self.root / "out" / "report.json").read_text("utf-8"))
        cells = found["tables"][0]["cells"]
        # The command names the folder of specs, which is another one in each place.
        return {(*one["row"], *one["column"]): {**one, "command": None} for one in cells}


@pytest.fixture
def here(tmp_path: Path, specs: Path) -> Place:
    return Place(tmp_path / "here", specs)


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place where a budget has trained all that can be judged; not to be changed."""
    root = tmp_path_factory.mktemp("once")
    (root / "specs").mkdir()
    write_made_up(root / "specs", PAPER, TABLE)
    place = Place(root / "here", root / "specs")
    assert main(place.words("--budget", "10m")) == 0
    return place


@pytest.fixture
def ran(once: Place, specs: Path, tmp_path: Path) -> Place:
    """A copy of that place."""
    place = Place(tmp_path / "ran", specs)
    shutil.copytree(once.root, place.root, dirs_exist_ok=True)
    return place


def test_from_a_budget_to_the_same_report_in_a_fresh_clone_without_store_and_data(
    ran: Place, specs: Path, tmp_path: Path
) -> None:
    assert len(ran.records) == 2 * TRIALS
    assert max(path.stat().st_size for path in ran.records) < 20_000
    words = {name: one["verdict"]["word"] for name, one in ran.cells.items()}
    assert words[("short", "digits")] == words[("long", "digits")] == "REPRODUCED"
    assert words[("short", "photographs")] == "NOT RUN"
    page = (ran.root / "docs/published.md").read_text("utf-8")
    assert page.count("REPRODUCED") == 2
    assert f"{TRIALS} of {TRIALS}" in page
    assert "2 cells have been run" in (ran.root / "README.md").read_text("utf-8")

    clone = Place(tmp_path / "clone", specs)
    shutil.copytree(ran.root / "records", clone.root / "records")
    assert main(clone.words()) == 0
    assert clone.cells == ran.cells
    assert not (clone.root / "store").exists()
    for name in ("docs/published.md", "README.md"):
        assert (clone.root / name).read_text("utf-8") == (ran.root / name).read_text("utf-8")


def test_a_second_call_trains_nothing_that_is_published(
    ran: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in ran.records}
    shutil.rmtree(ran.root / "store")
    capsys.readouterr()
    main(ran.words("--budget", "10m"))
    assert "0 of 0 trials were made" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in ran.records} == before


def test_killed_in_the_middle_it_goes_on(here: Place) -> None:
    command = [sys.executable, "-m", "fedrepro", *here.words("--budget", "10m")]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not list((here.root / "store").glob("trials/*/*.json")) and running.poll() is None:
            time.sleep(0.01)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    kept = {path.name for path in (here.root / "store").glob("trials/*/*.json")}
    assert kept
    assert main(here.words("--budget", "10m")) == 0
    assert len(here.records) == 2 * TRIALS
    assert kept <= {path.name for path in (here.root / "store").glob("trials/*/*.json")}


def test_fewer_trials_than_planned_are_inconclusive_and_say_so(ran: Place, plan: Plan) -> None:
    last = [path for path in ran.records if path.name == f"seed{TRIALS - 1}.json"]
    for path in last:
        path.unlink()
    assert main(ran.words()) == 0
    verdict = ran.cells[("short", "digits")]["verdict"]
    assert verdict["word"] == "INCONCLUSIVE"
    assert f"{TRIALS - 1} of {TRIALS} trials finished" in verdict["reason"]


def test_without_a_budget_for_one_trial_none_is_begun_and_all_are_named(
    here: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(here.words("--budget", "0s")) == 3
    said = capsys.readouterr().err
    assert f"0 of {2 * TRIALS} trials were made; left for another budget: fedavg on digits" in said
    assert here.records == []
    page = (here.root / "README.md").read_text("utf-8")
    assert "No cell has been run at full protocol yet." in page


def test_a_folder_without_records_is_not_taken_for_the_suites(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As where fedrepro is installed, and the reader does not stand in a checkout."""
    assert main(["published", "cpcfl", "--tables", "11", "--records", str(tmp_path / "no")]) == 3
    said = capsys.readouterr()
    assert "no record in" in said.err
    assert "its repository" in said.err


def test_what_would_be_trained_and_what_is_missing_is_said_beforehand(
    here: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(here.words("--dry-run")) == 0
    said = capsys.readouterr().out
    assert "2 cells of 2 runs can be judged here" in said
    assert "2 cells are left alone: cifar10: there is neither" in said
    assert "3: short @ digits" in said
    assert not (here.root / "store").exists()


def published_of(here: Place, **given: Any) -> PublishedTrials:
    return PublishedTrials(here.root / "records", **given)


def test_later_edits_make_a_record_older_and_never_stale(ran: Place, plan: Plan) -> None:
    now = published_of(ran)
    (first, *_), run = now, next(one for one in plan.runs if (one.key, 0) in now.trials)
    report = judge_committed(plan, now, command="c", audit=False)
    notes = [one.note or "" for one in report.tables[0].cells if one.run == run.key]
    assert notes[0].endswith("its code is unchanged since")
    assert "fedrepro 0." in notes[0]
    edited = dict(first.record.source) | {"methods/federated/loop.py": "edited"}
    later = published_of(ran, source_of=lambda config: edited)
    again = judge_committed(plan, later, command="c", audit=False)
    told = [one for one in again.tables[0].cells if one.run == run.key]
    assert "code since changed in methods/federated/loop.py" in (told[0].note or "")
    assert told[0].verdict.word == "REPRODUCED"


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["record"]["metrics"]["accuracy"]["values"].__setitem__(-1, 0.99),
        lambda plain: plain["record"]["provenance"].update(commit="0" * 40),
        lambda plain: plain["arrays"].update(gamma=[1.0]),
        lambda plain: plain.pop("sha256"),
        lambda plain: plain.update(schema=99),
    ],
)
def test_a_file_that_was_changed_is_an_error(
    ran: Place, change: Callable[[dict[str, Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = ran.records[0]
    plain = json.loads(path.read_text("utf-8"))
    change(plain)
    path.write_text(json.dumps(plain), "utf-8")
    capsys.readouterr()
    assert main(ran.words()) == 2
    assert "written" in capsys.readouterr().err


def test_a_record_in_the_place_of_another_trial_is_an_error(ran: Place) -> None:
    shutil.copy(ran.records[0], ran.records[1])
    with pytest.raises(StoreError, match="is not what was written"):
        list(published_of(ran))
    assert main(ran.words()) == 2


def test_trials_of_an_ordinary_store_are_taken_although_the_code_was_edited_since(
    ran: Place, plan: Plan, tmp_path: Path
) -> None:
    edited = Store(ran.root / "store", source_of=lambda config: {"a.py": "edited"})
    assert edited.find(plan.runs[0], 0) is None
    into = PublishedTrials(tmp_path / "into")
    taken = take([plan], edited, into)
    assert (taken.new, taken.known, dict(taken.left)) == (2 * TRIALS, 0, {})
    assert taken.line("s").startswith(f"{2 * TRIALS} trials taken from s")
    stored = {(one.run, one.seed): one for one in edited.records()}
    assert {name: one.record for name, one in into.trials.items()} == stored
    assert take([plan], edited, into).known == 2 * TRIALS


def test_a_second_result_of_a_published_trial_does_not_replace_it(ran: Place) -> None:
    published = published_of(ran)
    record = next(iter(published)).record
    better = replace(record, metrics={"accuracy": Curve((1,), (1.0,))})
    assert not published.add(better, {})
    assert next(iter(published_of(ran))).record == record


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("/home/somebody/data/TOY/raw", "raw"),
        ("C:\\Users\\somebody\\TOY", "TOY"),
        ("comes with fedrepro: 50/50", "comes with fedrepro: 50/50"),
        (None, None),
    ],
)
def test_where_the_data_lay_is_not_published(
    ran: Place, tmp_path: Path, source: str | None, kept: str | None
) -> None:
    record = next(iter(published_of(ran))).record
    portions = {"toy/train": {"source": source, "checksum": "c"}}
    given = replace(record, provenance={**record.provenance, "data": portions})
    published = PublishedTrials(tmp_path)
    assert published.add(given, {})
    (written,) = tmp_path.glob("*/*.json")
    assert "somebody" not in written.read_text(encoding="utf-8")
    found = next(iter(PublishedTrials(tmp_path))).record.provenance["data"]
    assert found == {"toy/train": {"source": kept, "checksum": "c"}}


def test_a_record_of_the_first_schema_is_published_and_read(ran: Place, tmp_path: Path) -> None:
    record = next(iter(published_of(ran))).record
    assert PublishedTrials(tmp_path).add(replace(record, schema=1), {})
    assert next(iter(PublishedTrials(tmp_path))).record == record


def test_trials_of_files_that_are_not_the_release_are_not_taken(
    ran: Place, plan: Plan, tmp_path: Path
) -> None:
    store = Store(ran.root / "store")
    for record in store.records():
        path = ran.root / "store" / "trials" / record.run
        name = f"{digest(record.source)}-seed{record.seed}.json"
        used = {"digits/train": {"checksum": "c", "is_release": False}}
        other = replace(record, provenance={**record.provenance, "data": used})
        (path / name).write_bytes(other.as_file())
    into = PublishedTrials(tmp_path / "into")
    taken = take([plan], store, into)
    assert dict(taken.left) == {"digits/train is not the released files": 2 * TRIALS}
    assert into.trials == {}


def test_without_the_record_that_it_starts_from_a_trial_counts_as_missing(
    tiny_config: Callable[..., RunConfig], outcome: Outcome, tmp_path: Path
) -> None:
    start = tiny_config()
    run = replace(start, start=start)
    store = Store(tmp_path / "own", source_of=lambda config: {"a.py": "1"})
    with store.writing():
        records = [store.save(one, 0, outcome, {}) for one in (start, run)]
    published = PublishedTrials(tmp_path / "into")
    assert published.add(records[1], {})
    assert published.find(run, 0) is None
    assert published.add(records[0], {})
    assert published.find(run, 0) == records[1]


def test_arrays_that_verdicts_read_come_back_with_their_gaps(
    tiny_config: Callable[..., RunConfig], outcome: Outcome, tmp_path: Path
) -> None:
    store = Store(tmp_path / "own", source_of=lambda config: {"a.py": "1"})
    with store.writing():
        record = store.save(tiny_config(), 0, outcome, {})
    gamma = np.array([[np.nan, 0.1], [1.0, 1 / 3]], dtype=np.float32)
    PublishedTrials(tmp_path / "into").add(record, {"gamma": gamma})
    read = PublishedTrials(tmp_path / "into").load_arrays(record)["gamma"]
    np.testing.assert_array_equal(read.astype(np.float32), gamma)


def test_three_trials_of_the_cheapest_come_first_then_the_next_then_the_rest(
    tiny_config: Callable[..., RunConfig],
) -> None:
    dear, cheap = (tiny_config({"training": {"rounds": rounds}}) for rounds in (9, 3))
    wanted = [Wanted(dear, range(5)), Wanted(cheap, range(5))]
    order = in_order(
        wanted,
        lambda run, seed: (run, seed) == (cheap, 1),
        never,
        lambda run: run.options["rounds"],
    )
    assert FIRST == 3
    assert order == [
        *((cheap, seed) for seed in (0, 2)),
        *((dear, seed) for seed in (0, 1, 2)),
        *((cheap, seed) for seed in (3, 4)),
        *((dear, seed) for seed in (3, 4)),
    ]


def never(run: RunConfig, seed: int) -> bool:
    return False


def test_what_a_run_starts_from_is_its_own_cost_until_a_cheaper_run_has_brought_it(
    tiny_config: Callable[..., RunConfig],
) -> None:
    base = tiny_config()
    start = tiny_config({"training": {"rounds": 7}})
    onward = replace(base, start=start)
    cost = {base: 5.0, onward: 1.0, start: 10.0}
    wanted = [Wanted(onward, (0,)), Wanted(base, (0,))]
    assert in_order(wanted, never, never, cost.__getitem__) == [
        (base, 0), (start, 0), (onward, 0)
    ]  # fmt: skip
    has_start = in_order(wanted, never, lambda run, seed: run == start, cost.__getitem__)
    assert has_start == [(onward, 0), (base, 0)]


def test_data_at_hand_that_are_not_the_release_are_left_alone_with_the_reason(
    plan: Plan, tmp_path: Path
) -> None:
    pixels = np.zeros((32, 32, 3), dtype=np.uint8)
    for part in ("train", "test"):
        for label in range(10):
            folder = tmp_path / "cifar10" / part / str(label)
            folder.mkdir(parents=True)
            Image.fromarray(pixels).save(folder / "1.png")
    found = judgeable(plan, DataAvailability(tmp_path, download=False))
    assert sum(map(len, found.cells.values())) == 2
    (reason,) = set(found.left.values())
    assert reason == (
        "cifar10/train is not the released files: "
        "cifar10 was read from an image folder, not from the release"
    )


def test_a_trial_that_was_begun_goes_on_before_others_and_one_that_failed_comes_last(
    here: Place, plan: Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    main(here.words("--dry-run"))
    order = listed(capsys.readouterr().out)
    store = Store(here.root / "store")
    with store.writing():
        (failed,) = (one for one in plan.runs if one.key == order[0][0])
        store.save_error(failed, order[0][1], "diverged at round 2")
    run, seed = order[-1]
    (store.root / "checkpoints").mkdir()
    (store.root / "checkpoints" / f"{run}-seed{seed}.checkpoint").touch()
    main(here.words("--dry-run"))
    assert listed(capsys.readouterr().out) == [order[-1], *order[1:-1], order[0]]


def listed(said: str) -> list[tuple[str, int]]:
    """Runs and seeds of the trials that would be trained."""
    found = re.findall(r"^  ([0-9a-f]{16}) trial (\d+):", said, re.MULTILINE)
    return [(run, int(seed)) for run, seed in found]


def test_training_ends_with_the_budget_where_trials_can_be_gone_on_with() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with _ending_after(0.05):
        time.sleep(60)
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with _ending_after(60):
        done = True
    assert done
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_however_short_the_budget_trials_save_themselves_and_no_other_is_said_to_go_on(
    here: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    intervals: list[float] = []

    def ended_early(plan: Plan, store: Store, **given: Any) -> None:
        """Two trials are begun, and time is up: one of them has saved itself."""
        intervals.append(given["checkpoint_every"])
        for run, seed in given["trials"][:2]:
            given["progress"].started((run.key, seed), f"{run.key} trial {seed}", 1.0)
        (store.root / "checkpoints").mkdir(parents=True, exist_ok=True)
        run, seed = given["trials"][0]
        (store.root / "checkpoints" / f"{run.key}-seed{seed}.checkpoint").touch()

    monkeypatch.setattr(run_module, "execute", ended_early)
    main(here.words("--dry-run"))
    (first, _), (second, _), *_ = listed(capsys.readouterr().out)
    main(here.words("--budget", "40s"))
    said = capsys.readouterr().err
    assert f"to be gone on with by the same command: {first} trial 0; left for" in said
    assert f"{second} trial 1" not in said
    main(here.words("--budget", "40s", "--checkpoint-every", "1"))
    main(here.words("--budget", "3h"))
    assert intervals == [4.0, 1.0, 300.0]


def test_trials_of_another_precision_and_series_are_judged_by_their_own_command(
    here: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ("--precision", "bf16", "--series", "2", "--rows", "short")
    main(here.words("--budget", "10m", *other))
    assert here.cells["short", "digits"]["verdict"]["word"] == "REPRODUCED"
    (run,) = {path.parent.name for path in here.records}
    made = published_of(here).trials[run, 0].record.config
    assert (made["precision"], made["series"]) == ("bf16", 2)
    capsys.readouterr()
    words = [word for word in here.words() if word != "made-up"]
    main(words)
    assert run not in capsys.readouterr().err


def test_what_was_recorded_in_another_precision_is_told_without_being_asked_for(
    ran: Place, tmp_path: Path, specs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(ran.words("--budget", "10m", "--precision", "bf16", "--rows", "short"))
    page = (ran.root / "docs/published.md").read_text("utf-8")
    assert page.count("REPRODUCED") == 3
    assert page.count("bf16") == 1

    clone = Place(tmp_path / "clone", specs)
    shutil.copytree(ran.root / "records", clone.root / "records")
    capsys.readouterr()
    assert main(clone.words()) == 0
    assert "3 cells have been run" in capsys.readouterr().out
    assert clone.cells["long", "digits"]["verdict"]["word"] == "REPRODUCED"
    # Where no folder can stand beside it, the other kind's report lies inside.
    with chdir(clone.root):
        assert main([*clone.words(), "--out", "."]) == 0
    assert (clone.root / "report.json").exists()
    assert (clone.root / "bf16" / "report.json").exists()
    other = json.loads((clone.root / "out-bf16" / "report.json").read_text("utf-8"))
    words = [one["verdict"]["word"] for one in other["tables"][0]["cells"]]
    assert sorted(words)[-1] == "REPRODUCED"
    assert words.count("REPRODUCED") == 1
    for name in ("docs/published.md", "README.md"):
        assert (clone.root / name).read_text("utf-8") == (ran.root / name).read_text("utf-8")
