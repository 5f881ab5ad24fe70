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

PAPER = """\
id = "made-up"
title = "A paper"
authors = "N. N."
year = 2023

[experiment]
training.rounds = 100

[profiles.reduced]
trials = 2
[[profiles.reduced.overrides]]
path = "training.rounds"
divide = 4
why = "time"

[profiles.paper]
trials = 5

[experiment.clients]
data = "digits"
partition = "class-groups"
count = 60
test_size = 10
image_size = 8
channels = 1

[experiment.encoder]
name = "cnn"
widths = [64, 128]
"""

TABLE = """\
table = "3"
title = "accuracy"
section = "4.2"
kind = "empirical"
metric = "accuracy"
unit = "%"
[[columns]]
label = "T = 25"
at = 25
[[columns]]
label = "T = 100"

[[rows]]
label = ["FedAvg", "None"]
method = "fedavg"
published = [41.2, 42.3]

[[rows]]
label = ["CP-CFL", "SimCLR"]
method = "cpcfl"
pretraining.method = "simclr"
published = [
  71.2,
  72.3,
]

[margin]
value = 2.0
reason = "two SDs"

[[claims]]
id = "better"
says = "more"
holds = "'CP-CFL|SimCLR' > 'FedAvg|None' at 'T = 25'"
"""


def complaints(root: Path, paper: str = PAPER, table: str = TABLE) -> list[str]:
    folder = write_made_up(root, paper, table)
    try:
        said = "\n".join(map(str, check([load_paper("made-up", root)])[0]))
    except SpecError as error:
        said = str(error)
    return said.replace(f"{folder}/", "").splitlines()


def test_the_unchanged_spec_is_valid(tmp_path: Path) -> None:
    assert complaints(tmp_path) == []


IN_A_TABLE = r"""
pretraining.method = "simclr" => pretrainng.method = "simclr"
    21: rows[2].pretrainng: unknown key; did you mean 'pretraining'?
pretraining.method = "simclr" => pretraining.epoch = 3
    21: rows[2].pretraining.epoch: unknown key; did you mean 'pretraining.epochs'?
pretraining.method = "simclr" => training.rounds = "many"
    21: rows[2].training.rounds: must be a whole number, not 'many'
pretraining.method = "simclr" => training.rounds = true
    21: rows[2].training.rounds: must be a whole number, not true
pretraining.method = "simclr" => training.rounds = 2.5
    21: rows[2].training.rounds: must be a whole number, not 2.5
pretraining.method = "simclr" => training.precision = "fp8"
    21: rows[2].training.precision: must be 'float32', 'bf16' or 'tf32', not 'fp8'
pretraining.method = "simclr" => training.optimizer = "rmsprop"
    21: rows[2].training.optimizer: must be 'adam', 'adamw', 'lars' or 'sgd', not 'rmsprop'
pretraining.method = "simclr" => encoder.widths = 3
    21: rows[2].encoder.widths: must be a list, not 3
pretraining.method = "simclr" => encoder.widths = [1, "a"]
    21: rows[2].encoder.widths: [2] must be a whole number, not 'a'
pretraining.method = "simclr" => training.learning_rate = nan
    21: rows[2].training.learning_rate: must be finite
pretraining.method = "simclr" => encoder = "cnn"
    21: rows[2].encoder: unknown key: 'encoder' is a group of keys (encoder.blocks,
        encoder.classifier, encoder.client_layers, encoder.client_norm, encoder.depth,
        encoder.dim, encoder.group_channels, encoder.modular, ...)
method = "cpcfl" => method = "cpfcl"
    20: rows[2].method: unknown method 'cpfcl'; did you mean 'cpcfl'?
pretraining.method = "simclr" => pretraining.method = "simcrl"
    21: rows[2].pretraining.method: unknown objective 'simcrl'; did you mean 'simclr'?
metric = "accuracy" => metric = "acuracy"
    5: metric: unknown metric 'acuracy'; did you mean 'accuracy'?
kind = "empirical" => kind = "empiric"
    4: kind: must be 'empirical', 'analytic', 'descriptive' or 'control', not 'empiric'
section = "4.2" => sektion = "4.2"
    1: 'section' is missing
    3: sektion: unknown key; did you mean 'section'?
section = "4.2"\n =>
    1: 'section' is missing
section = "4.2" => section = 4.2
    3: section: must be text, not 4.2
published = [41.2, 42.3] => published = [41.2]
    16: rows[1].published: has 1 value, the table has 2 columns
published = [41.2, 42.3] =>
    13: rows[1]: 'published' is missing (only figures have rows without values)
72.3, => true,
    24: rows[2].published[2]: a published value is a number, text or { value = ... }, not true
        (write words and check marks as text)
72.3, => 2023-01-02,
    24: rows[2].published[2]: is a date, which no key takes; write it as text
72.3, => "72,3",
    24: rows[2].published[2]: '72,3' is no number; give the row or column another kind, or skip
72.3, => { value = 72.3, low = 72.5, high = 73.0, why = 'w' },
    24: rows[2].published[2]: low 72.5 and high 73.0 must enclose the value 72.3
72.3, => { value = 72.3, low = 72.0, high = 73.0 },
    24: rows[2].published[2]: an uncertain value needs 'why'
72.3, => { value = 72.3, not = 'w' },
    24: rows[2].published[2].not: unknown key; did you mean 'note'?
72.3, => "72.3 ± 0.4",
    1: spreads are printed, but there is no [sd] with their ddof and runs
at = 25 => at = 125
    9: columns[1].at: round 125 is beyond the last, 100
at = 25 => at = 0
    9: columns[1].at: must be a round counted from 1, 'final' or 'best', not 0
at = 25 => at = "last"
    9: columns[1].at: must be a round counted from 1, 'final' or 'best', not 'last'
reason = "two SDs" =>
    27: margin: 'reason' is missing
value = 2.0 => value = 0
    28: margin.value: must be more than 0, not 0
value = 2.0 => value = 100.0
    28: margin.value: 100% around 41.2 is all that accuracy can be (0 to 100); give a
        smaller margin
value = 2.0 => value = 71.2
    28: margin.value: 71.2% around 41.2 is all that accuracy can be (0 to 100); give a
        smaller margin
72.3,\n] => 72.3,\n]\nmetric = "view_error"\nunit = ""\nmargin = { value = 99.0, reason = "r" }
    28: rows[2].margin.value: 99 exceeds all that is printed for it, at most 72.3; give a smaller
        one, or the metric its low and high
published = [41.2, 42.3] => published = [41.2, 42.3]\npretraining.epochs = 3
    17: rows[1].pretraining.epochs: no run of this row takes it (nearest: 'pretraining.method');
        correct it or leave it out
unit = "%" => unit = "%"\nexperiment = { pretraining.data = "digits", training.proximal_weight = 1 }
    7: experiment.training.proximal_weight: no run of this table takes it (nearest:
        'training.weight_decay'); correct it or leave it out
72.3, => 172.3,
    24: rows[2].published[2]: 172.3% is no accuracy, which is 0 to 100%; if it is another
        metric, its row or column names it
72.3, => 0.723,
    24: rows[2].published[2]: 0.723 stands among percents and looks like a fraction;
        if it is a percent, give its row unit = '%'
[margin]\nvalue = 2.0\nreason = "two SDs"\n =>
    1: empirical values need a [margin] with value and reason
metric = "accuracy" =>
    13: rows[1]: no metric; give one in the row, the column or the table
    18: rows[2]: no metric; give one in the row, the column or the table
["CP-CFL", "SimCLR"] => ["FedAvg", "None"]
    19: rows[2].label: 'FedAvg|None' is taken by rows[1]
"T = 100" => "T = 25"
    11: columns[2].label: 'T = 25' is taken by columns[1]
"T = 100" => "T  = 25 "
    11: columns[2].label: 'T = 25 ' is taken by columns[1]
"T = 100" => "T | 100"
    11: columns[2].label: must not contain | or ' (claims name cells by labels): 'T | 100'
[margin] => [[claims]]\nid = "better"\nsays = "s"\nholds = "h"\n[margin]
    36: claims[2].id: 'better' is taken by claims[1]
[margin] => [[claims]]\nid = "c"\nsays = "s"\nholds = "h"\nreading_of = "bettr"\n[margin]
    31: claims[1].reading_of: no claim 'bettr'; did you mean 'better'?
[margin] => [profiles.redused]\n[margin]
    27: profiles.redused: unknown profile; did you mean 'reduced'?
[margin] => [figure]\nplot = 'curve'\n[margin]
    28: figure.plot: must be 'curves', 'choices', 'class-counts', 'embedding',
        'client-embeddings', 'scatter' or 'pictures', not 'curve'
value = 2.0 => value =
    28: not valid TOML: Invalid value
value = 2.0 => value = 2.0\nvalue = 3.0
    29: not valid TOML: Cannot overwrite a value
"T = 25" => "T = \u000a25"
    34: claims[1].holds: claim 'better': 'T = 25' matches no column of table 3 (nearest: 'T = 25')
method = "cpcfl" => method = "cpcfl"\nclients.count = 2
    18: rows[2]: partition 'class-groups': count = 2 clients cannot
        fill 3 groups; give at least one group, and at least one client for each
    18: rows[2]: profile reduced: partition 'class-groups': count = 2 clients cannot
        fill 3 groups; give at least one group, and at least one client for each
    18: rows[2]: profile paper: partition 'class-groups': count = 2 clients cannot
        fill 3 groups; give at least one group, and at least one client for each
> 'FedAvg|None' => > 'FedAvg|Nine'
    34: claims[1].holds: claim 'better': 'FedAvg|Nine' matches no row of table 3 (nearest:
        'FedAvg|None')
> 'FedAvg|None' => > > 'FedAvg|None'
    34: claims[1].holds: claim 'better': claim "'CP-CFL|SimCLR' > > 'FedAvg|None' at 'T = 25'",
        position 19: expected a number, a quoted row, a function or '(', found >
"""
IN_A_PAPER = r"""
id = "made-up" => id = "other"
    1: id: 'other' must be the name of the folder, 'made-up'
year = 2023 => year = 2023\nown = ["CPCFL|*", "CP-CFL|*"]\nbaselines = ["IFCA"]
    5: own[1]: 'CPCFL|*' is no row of this paper; did you mean 'CP-CFL|SimCLR'?
    6: baselines[1]: 'IFCA' is no row of this paper (known: CP-CFL|SimCLR, FedAvg|None)
trials = 2 => trials = 0
    10: profiles.reduced.trials: must be at least 1, not 0
trials = 2 => trails = 2
    9: profiles.reduced: 'trials' is missing
    10: profiles.reduced.trails: unknown key; did you mean 'trials'?
"training.rounds" => "training.round"
    12: profiles.reduced.overrides[1].path: unknown path 'training.round'; did you mean
        'training.rounds'?
divide = 4 => value = "few"
    11: profiles.reduced.overrides[1]: training.rounds: must be a whole number, not 'few'
divide = 4 => divide = 4\nvalue = 20
    11: profiles.reduced.overrides[1]: give exactly one of value, divide and replace
why = "time" =>
    11: profiles.reduced.overrides[1]: 'why' is missing
training.rounds = 100 => training.round = 100
    7: experiment.training.round: unknown key; did you mean 'training.rounds'?
trials = 5 => trials = 5\noverrides = [{ path = "at", value = 101, why = "w" }]
    3.toml:13: rows[1]: profile paper: round 101 is read, but the run ends at round 100
trials = 5 => trials = 5\noverrides = [{ path = "clients.count", divide = 30, why = "w" }]
    3.toml:13: rows[1]: profile paper: partition 'class-groups': count = 2 clients cannot
        fill 3 groups; give at least one group, and at least one client for each
    3.toml:18: rows[2]: profile paper: partition 'class-groups': count = 2 clients cannot
        fill 3 groups; give at least one group, and at least one client for each
trials = 5 => trials = 5\noverrides = [{ path = "pretraining.epochs", divide = 2, why = "w" }]
    18: profiles.paper.overrides[1]: 'pretraining.epochs' changes no cell; correct the path or
        leave the override out
trials = 5 => trials = 5\noverrides = [{ path = "clients.data", replace = { x = 1 }, why = "w" }]
    18: profiles.paper.overrides[1]: clients.data: must be text, not 1
trials = 5 => trials = 5\noverrides = [{ path = "clients.data", replace = { x = 'y' }, why = "w" }]
    18: profiles.paper.overrides[1]: 'clients.data' changes no cell; correct the path or leave
        the override out
"""


def mistakes(text: str, **file: str) -> list[tuple[dict[str, str], list[str]]]:
    """A changed file, and the lines of the error: what is replaced by what, and below it the lines.
    A line of eight blanks goes on with the one above it."""
    ((name, sound),), found = file.items(), []
    for block in re.split(r"\n(?=\S)", text.strip()):
        change, *said = block.replace("\n        ", " ").split("\n    ")
        old, _, new = change.replace("\\n", "\n").partition(" =>")
        assert old in sound
        found.append(({name: sound.replace(old, new.removeprefix(" "))}, said))
    return found


@pytest.mark.parametrize(
    ("files", "said"), mistakes(IN_A_TABLE, table=TABLE) + mistakes(IN_A_PAPER, paper=PAPER)
)
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
