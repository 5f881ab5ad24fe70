from pathlib import Path
from types import ModuleType
from unittest.mock import Mock

import pytest
from pydantic_core import to_jsonable_python

from fedrepro._results import Results
from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.errors import SpecError
from fedrepro.benchmark.judging import baseline, comparison
from fedrepro.benchmark.judging.evidence import CellTrials, Evidence
from fedrepro.benchmark.judging.judge import judge_evidence
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.planning.headroom import measured
from fedrepro.benchmark.planning.plan import Plan, make_plan
from fedrepro.benchmark.planning.resolve import MEASUREMENTS
from fedrepro.benchmark.planning.summary import Summary
from fedrepro.benchmark.results import Departure, Report
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.store import Store, TrialRecord
from fedrepro.methods.metrics import headroom
from fedrepro.methods.outcome import Curve
from fedrepro.reports import terminal
from fedrepro.reports.scoreboard import counts
from fedrepro.reports.writers import html, json, junit, latex, markdown
from tests.benchmark.small_papers import write_made_up
from tools.found import trials_of

PAPER = """\
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2023
own = ["Ours|none"]
baselines = ["FedAvg"]

[experiment]
method = "fedavg"
training = { rounds = 4, local_epochs = 1 }
head.widths = []
clients = { data = "digits", partition = "class-groups", count = 3, test_size = 10, image_size = 8, channels = 1 }
encoder = { name = "cnn", widths = [4, 4], dim = 8, padding = 1 }

[profiles.reduced]
trials = 3
[profiles.again]
trials = 3
series = 1
like = "reduced"
[profiles.paper]
trials = 2
"""  # noqa: E501
TABLE = """\
table = "3"
title = "accuracy"
section = "4"
kind = "empirical"
metric = "accuracy"
unit = "%"
margin = { value = 2.0, reason = "two SDs" }
[[columns]]
label = "end"
[[rows]]
label = "FedAvg"
published = [60.0]
[[rows]]
label = "FedProx"
training.learning_rate = 0.2
published = [62.0]
[[rows]]
label = "IFCA"
method = "ifca"
published = [66.0]
[[rows]]
label = "Ours|none"
method = "cpcfl"
published = [70.0]
[[claims]]
id = "better"
says = "ours is better"
headline = "it beats the others"
holds = "'Ours|none' > 'FedAvg', 'IFCA'"
[[claims]]
id = "worse"
says = "IFCA is better"
holds = "'IFCA' > 'Ours|none'"
""".replace('"Ours|none"\nm', '["Ours", "none"]\nm')
CONTROLS = """\
table = "controls"
title = "what is known"
section = "4"
kind = "control"
metric = "accuracy"
unit = "%"
profiles = ["reduced"]
[[columns]]
label = "end"
[[rows]]
label = "even"
training.learning_rate = 0.07
published = [""]
[[rows]]
label = "uneven"
training.learning_rate = 0.08
published = [""]
[[claims]]
id = "even-beats-uneven"
says = "even data beat uneven ones"
holds = "'even' > 'uneven'"
control = { least = 3.0, source = "McMahan et al. 2017" }
"""


PRETRAINED = """\
pretraining = { method = "simclr", data = "digits", part = "unlabeled", images = 32 }
"""


def written(root: Path, controls: str | None = CONTROLS, table: str = TABLE) -> Path:
    return write_made_up(root, PAPER, table, controls=controls)


def planned(root: Path, profile: str = "reduced", **given: object) -> Plan:
    return make_plan(load_paper("made-up", root), profile, **given)  # type: ignore[arg-type]


def complaints(root: Path, controls: str = CONTROLS, table: str = TABLE) -> str:
    written(root, controls, table)
    try:
        return "\n".join(map(str, check([load_paper("made-up", root)])[0]))
    except SpecError as error:
        return str(error)


def test_controls_are_planned_under_their_profiles_alone(tmp_path: Path) -> None:
    written(tmp_path, None)
    without = planned(tmp_path, "paper")
    written(tmp_path)
    plan = planned(tmp_path, "paper")
    assert (plan.cells, plan.runs, plan.tables) == (without.cells, without.runs, without.tables)
    assert not plan.controls
    for profile in ("reduced", "again"):
        assert len(planned(tmp_path, profile).controls) == 2
    # Whatever is selected, a table is not judged without its controls.
    for part in (planned(tmp_path, tables=["3"]), planned(tmp_path, rows="FedAvg")):
        assert part.tables == {"3", "controls"}
    with pytest.raises(SpecError, match="no such row in these tables"):
        planned(tmp_path, rows="even")


def test_a_plan_says_what_controls_cost(tmp_path: Path) -> None:
    written(tmp_path)
    store = Store(tmp_path / "store")
    summary = Summary(planned(tmp_path), store, Mock())
    line = "1 control on digits: 2 cells, with 2 runs of their own (6 trials)"
    assert summary.controls == [line]
    assert len(summary.cells) == summary.measured == 4
    assert Summary(planned(tmp_path, "paper"), store, Mock()).controls == []


def test_a_plan_tells_headroom_that_is_stored(tmp_path: Path) -> None:
    row = f'[[rows]]\nlabel = "room"\nmetric = "headroom"\n{PRETRAINED}published = [""]\n'
    written(tmp_path, CONTROLS.replace("[[claims]]", row + "[[claims]]"))

    def find(run: RunConfig, seed: int) -> object:
        values = {"headroom": Curve((1,), (0.03 + 0.005 * seed,))}
        found = TrialRecord(run.key, {}, seed, values, {}, {}, {})
        return found if run.method == "headroom" else None

    said = Summary(planned(tmp_path), Mock(find=find), Mock()).controls
    assert said[1:] == ["pre-training has 3.5 [2.3, 4.7] points of headroom on digits"]


MISTAKES = {
    'profiles = ["reduced"]\n => ': "a control table needs 'profiles'",
    'profiles = ["reduced"] => profiles = ["reduce"]': "unknown profile 'reduce'",
    'profiles = ["reduced"] => profiles = ["again"]': "it runs what 'reduced' runs",
    'control = { least = 3.0, source = "McMahan et al. 2017" } => ': "needs 'control'",
    '[[claims]] => headline = "x"': "a control table needs [[claims]]",
    'kind = "control" => kind = "empirical"': "is for tables of the kind 'control' alone",
    "least = 3.0 => least = 100": "no difference can exceed 100",
    "least = 3.0 => least = 0": "must be more than 0",
    "'even' > => 'even' ~ 2": "a control is '>' or '<' between trained cells",
    'published = [""] => published = [3.0]': "a control table prints nothing",
    "'uneven'\" => 'IFCA' in '3'\"": "reads the run of table 3, IFCA @ end",
    "training.learning_rate = 0.07 => training.learning_rate = 0.2": "reads the run of table 3",
    "'uneven'\" => 'Ours|none' in '3'\"": "is of the paper's own method",
    'training.learning_rate = 0.07 => method = "cpcfl"': "is of the paper's own method",
    'control = => headline = "it works"\ncontrol =': "is for claims, not for controls",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_can_be_no_control_is_refused(tmp_path: Path, mistake: str) -> None:
    old, new = mistake.split(" => ")
    assert old in CONTROLS
    text = CONTROLS.replace(old, new)
    if "needs [[claims]]" in MISTAKES[mistake]:
        text = CONTROLS[: CONTROLS.index(old)]
    assert complaints(tmp_path) == ""
    assert MISTAKES[mistake] in complaints(tmp_path, text)


def test_a_variant_of_the_own_method_is_no_control_either(tmp_path: Path) -> None:
    row = '[[rows]]\nlabel = "variant"\nmethod = "cpcfl"\ntraining.learning_rate = 0.3\n'
    table = TABLE.replace("[[claims]]", row + "published = [69.0]\n[[claims]]", 1)
    controls = CONTROLS.replace("training.learning_rate = 0.07", 'method = "cpcfl"')
    assert "is of the paper's own method" in complaints(tmp_path, controls, table)
    assert complaints(tmp_path, CONTROLS, table) == ""


def test_a_protocol_that_own_rows_alone_use_may_measure_a_control(tmp_path: Path) -> None:
    probe = 'evaluation.protocol = "linear-probe"\n'
    table = TABLE.replace('method = "cpcfl"\n', f'method = "cpcfl"\n{probe}')
    assert complaints(tmp_path, CONTROLS.replace("training.", f"{probe}training.", 1), table) == ""


def test_a_run_that_a_table_shows_is_refused_where_it_is_planned(tmp_path: Path) -> None:
    written(tmp_path, CONTROLS.replace("0.07", "0.2"))
    with pytest.raises(SpecError, match="reads the run of table 3, FedProx @ end"):
        planned(tmp_path)


AS_PRINTED = {
    "FedAvg": (60.0, 60.2, 59.9),
    "FedProx": (62.0, 62.1, 62.3),
    "IFCA": (66.1, 66.0, 65.8),
    "Ours|none": (70.0, 70.3, 69.8),
}
REVERSED = {row: tuple(130.0 - value for value in trials) for row, trials in AS_PRINTED.items()}
SEEN = {"even": (50.0, 52.0, 54.0), "uneven": (45.0, 46.9, 49.2)}
NOT_SEEN = {"even": (50.0, 52.0, 54.0), "uneven": (46.9, 49.2, 50.8)}  # 3.1, 2.8, 3.2
SCALED = Departure("profile", "paper", "reduced", "time")


def judged(root: Path, trials: dict[str, tuple[float, ...]], profile: str = "reduced") -> Report:
    """The report on these trials, by row; a row without trials was not run."""
    plan = planned(root, profile)
    n = max(map(len, trials.values()))
    given = {}
    for one in plan.cells:
        values = trials.get("|".join(one.cell.row), ())
        short = None if len(values) in (0, n) else f"{len(values)} of {n} trials finished"
        missing = None if values else "no trial"
        given[one.cell.key] = CellTrials(dict(enumerate(values)), missing, incomplete=short)
    return judge_evidence(Evidence(plan, {}, given=given, declared=SCALED), command="")


def words(report: Report) -> tuple[str, ...]:
    (table,) = report.tables
    return (table.word, *(claim.word for claim in table.claims))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    written(tmp_path)
    return tmp_path


def test_where_controls_are_seen_words_are_those_without_them(root: Path) -> None:
    report = judged(root, AS_PRINTED | SEEN)
    without = judged(root, AS_PRINTED, "paper")
    assert words(report) == words(without) == ("PASS", "HOLDS", "OPPOSITE")
    assert [one.answer for one in report.tables[0].claims] == [
        one.answer for one in without.tables[0].claims
    ]
    assert (without.controls, without.first.controls) == ((), "")
    assert report.first.lines[1].startswith("controls: 1 of 1 seen; a difference of ")
    (control,) = report.controls[0].claims
    assert Results(report).controls["word"].tolist() == ["SEEN"]
    assert (control.word, control.given) == ("SEEN", "known from McMahan et al. 2017")
    assert control.answer.ours is not None
    assert control.answer.ours.low == pytest.approx(4.9667 - 4.3027 * 0.1528 / 3**0.5, abs=1e-3)


@pytest.mark.parametrize(
    ("controls", "word", "why"),
    [
        (NOT_SEEN, "NOT SEEN", "not seen (3.03 [2.52, 3.55], at least 3 is needed)"),
        ({"even": (50.0,) * 3, "uneven": (40.0,) * 3}, "NOT RUN", "not run (Fewer trials than"),
        ({"even": (9.0, 8.0, 7.0), "uneven": (4.0, 3.0, 2.0)}, "NOT SEEN", "seen (5, at least 3"),
        ({}, "NOT RUN", "not run (even @ end: no trial)"),
        (SEEN | {"even": (50.0, 52.0)}, "NOT RUN", "not run (Fewer trials than planned"),
        ({"even": SEEN["uneven"], "uneven": SEEN["even"]}, "NOT SEEN", "not seen (−4.97 [−5.35, "),
    ],
    ids=["close", "equal trials", "equal differences", "no trials", "fewer trials", "turned"],
)
def test_without_a_control_that_is_seen_nothing_is_said(
    root: Path, controls: dict[str, tuple[float, ...]], word: str, why: str
) -> None:
    for trials in (REVERSED, AS_PRINTED):
        report, without = judged(root, trials | controls), judged(root, trials, "paper")
        assert words(report) == ("OPEN", "OPEN", "OPEN") != words(without)
    assert report.controls[0].claims[0].word == word
    for reason in (report.tables[0].reason, *(one.reason for one in report.tables[0].claims)):
        assert reason.startswith("The miniature cannot speak on this: control `even-beats-uneven`")
        assert why in reason
    assert f" seen; {word.lower()}: even-beats-uneven" in report.first.lines[1]
    # What trials say stays in sight; only words change.
    (table,), (same,) = report.tables, without.tables
    assert [one.retention for one in table.answers] == [one.retention for one in same.answers]
    assert [one.answer.ours for one in table.claims] == [one.answer.ours for one in same.claims]
    assert {one.word for one in table.answers} == {"OPEN"}
    said = "whether it beats the others (controls of its table allow no answer) is open."
    assert report.first.sentence == f"made-up: {said}"
    said = f"open (control `even-beats-uneven` on digits was {word.lower()}), +"
    assert f"baselines (table 3): {said}" in report.first.evidence[1]


def test_each_data_set_needs_a_control(tmp_path: Path) -> None:
    other = TABLE.replace('method = "ifca"', 'method = "ifca"\nclients.data = "fashion-excerpt"')
    written(tmp_path, table=other)
    report = judged(tmp_path, AS_PRINTED | SEEN)
    assert words(report) == ("OPEN", "OPEN", "OPEN")
    assert report.tables[0].reason.endswith(
        "no control reads an excerpt of Fashion-MNIST; `even-beats-uneven` reads digits."
    )
    said = "controls: 1 of 1 seen; no control reads an excerpt of Fashion-MNIST"
    assert said in report.first.lines[1]


def test_what_was_not_run_or_counts_alone_keeps_its_word(root: Path) -> None:
    some = {row: trials for row, trials in AS_PRINTED.items() if row != "FedAvg"}
    assert words(judged(root, some | NOT_SEEN)) == ("OPEN", "NOT RUN", "OPEN")
    assert words(judged(root, NOT_SEEN)) == ("NOT RUN", "NOT RUN", "NOT RUN")


def test_controls_are_no_claims(root: Path) -> None:
    report = judged(root, AS_PRINTED | NOT_SEEN)
    assert sum(counts([report], "claims").values()) == 2
    assert sum(counts([report], "verdicts").values()) == 4
    assert "of 2 claims 0 hold, 2 are open" in report.first.totals
    assert "claim even" not in junit.render([report])
    assert ".controls" not in junit.render([report])


def test_a_control_that_falls_or_asks_for_less_is_a_regression(root: Path) -> None:
    before = baseline.recorded(judged(root, AS_PRINTED | SEEN))
    assert before.claims["controls: even-beats-uneven"] == "SEEN"
    assert {"controls: even @ end", "3: FedAvg @ end"} <= before.trained.keys()
    same = comparison.check(before, judged(root, AS_PRINTED | SEEN))
    assert same.passed
    for trials in (NOT_SEEN, {}):
        fallen = comparison.check(before, judged(root, AS_PRINTED | trials)).regressions
        assert "controls: even-beats-uneven" in {one.where for one in fallen if one.what == "claim"}
    written(root, CONTROLS.replace("least = 3.0", "least = 1.0"))
    less = comparison.check(before, judged(root, AS_PRINTED | SEEN)).regressions
    assert [one.what for one in less] == ["spec"]
    written(root, None)
    gone = comparison.check(before, judged(root, AS_PRINTED)).regressions
    assert "controls: even-beats-uneven" in {one.where for one in gone}


def test_recorded_trials_are_judged_with_their_controls(root: Path) -> None:
    before = judged(root, AS_PRINTED | SEEN)
    cells, plan = to_jsonable_python(baseline.recorded(before))["cells"], planned(root)
    without = {place: cell for place, cell in cells.items() if not place.startswith("controls")}
    for kept, table, control in (
        (cells, words(before), "SEEN"),
        (without, ("OPEN",) * 3, "NOT RUN"),
        ({}, ("NOT RUN",) * 3, "NOT RUN"),
    ):
        given = trials_of(kept, plan)
        again = judge_evidence(Evidence(plan, {}, given=given, declared=SCALED), command="")
        assert (words(again), again.controls[0].claims[0].word) == (table, control)


def test_claims_that_rest_on_headroom_say_how_much_there_is(tmp_path: Path) -> None:
    resting = TABLE.replace('id = "better"', 'id = "better"\nrests_on = "headroom"')
    row = f'[[rows]]\nlabel = "room"\nmetric = "headroom"\n{PRETRAINED}published = [""]\n'
    written(tmp_path, CONTROLS.replace("[[claims]]", row + "[[claims]]"), resting)
    unmeasured = judged(tmp_path, AS_PRINTED | SEEN).tables[0].claims[0]
    assert unmeasured.given == "given unmeasured headroom on digits"
    probed = {"headroom": (3.0, 3.5, 4.0), "probe_pixels": (60.0, 61.0, 62.0)}
    probed |= {"probe_random": (50.0, 52.0, 51.0), "probe_pretrained": (53.0, 55.5, 55.0)}
    report = judged(tmp_path, AS_PRINTED | SEEN | {"room": probed["headroom"]})
    room = "3.5 [2.3, 4.7] points of headroom on digits"
    said = f"controls: 1 of 1 seen; pre-training has {room}; a difference of "
    assert report.first.lines[1].startswith(said)
    each = (lambda one: probed["headroom"], lambda one: probed[one.cell.metric])
    (found,) = measured(planned(tmp_path).controls, *each).values()
    probes = "probes have 51 on random features, 54.5 on pre-trained ones, 61 on raw pixels, in %"
    assert found.line == f"pre-training has {room} ({probes})"
    first, second = report.tables[0].claims
    assert (first.given, second.given) == (f"given {room}", "")
    assert "of these, 1 rests on pre-training: 1 holds" in report.first.totals


def test_what_headroom_measures_is_known_where_runs_are_planned() -> None:
    assert {one for one, by in MEASUREMENTS.items() if by == "headroom"} == {*headroom.METRICS}


@pytest.mark.parametrize("write", [html, json, latex, markdown], ids=lambda one: one.FILE)
def test_every_format_tells_controls(root: Path, write: ModuleType) -> None:
    text = write.render([judged(root, AS_PRINTED | NOT_SEEN)])
    assert "controls: 0 of 1 seen; not seen: even-beats-uneven" in text
    if write is not latex:
        assert "known from McMahan et al. 2017" in text


def test_the_terminal_shows_controls_after_the_table_asked_for(root: Path) -> None:
    text = terminal.render(judged(root, AS_PRINTED | SEEN), lambda text, word="": text)
    assert "claim SEEN: even data beat uneven ones 4.97 [4.59, 5.35], at least 3" in text
    assert text.index("Table 3") < text.index("Controls")


def test_a_profile_runs_on_its_own_data_and_says_what_that_misses(tmp_path: Path) -> None:
    on = '[[profiles.reduced.on.{0}]]\npath = "clients.data"\nvalue = "{0}"\nwhy = "w"\n'
    sets = "".join(map(on.format, ("digits", "fashion-excerpt")))
    own = f'trials = 3\ndata = "fashion-excerpt"\nmisses = "no headroom"\n{sets}'
    file = written(tmp_path) / "paper.toml"
    file.write_text(PAPER.replace("trials = 3\n", own, 1), "utf-8")
    for profile in ("reduced", "again"):
        assert {run.data["name"] for run in planned(tmp_path, profile).runs} == {"fashion-excerpt"}
        on_digits = planned(tmp_path, profile, on="digits")
        assert {run.data["name"] for run in on_digits.runs} == {"digits"}
    assert judged(tmp_path, AS_PRINTED | SEEN).first.controls.endswith("; no headroom")
    file.write_text(file.read_text("utf-8").replace('data = "fashion', 'data = "fashio'), "utf-8")
    with pytest.raises(SpecError, match="'fashio-excerpt' has no changes under `on`; did you mean"):
        load_paper("made-up", tmp_path)
