import json
from contextlib import nullcontext
from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.external import exports
from fedrepro.benchmark.external.binding import bind_rows, external_plan
from fedrepro.benchmark.external.exports import read_files, read_map
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper

HISTORY = {
    "losses_distributed": [[1, 2.3], [100, 0.4]],
    "losses_centralized": [[0, 2.4], [100, 0.5]],
    "metrics_distributed_fit": {"accuracy": [[1, 0.2], [100, 0.99]]},
    "metrics_distributed": {"accuracy": [[1, 0.11], [50, 0.77], [100, 0.761]], "f1": [[1, 0.1]]},
    "metrics_centralized": {"f1": [[1, 0.2]], "broken": [[100, float("nan")]]},
}
CHART = (
    '"Step","cpcfl-0 - val/acc","cpcfl-0 - val/acc__MIN","cpcfl-0 - val/acc__MAX",'
    '"ifca - none - val/acc","ifca - none - val/acc__MIN","ifca - none - val/acc__MAX"\n'
    '"0","0.1","0.1","0.1","","",""\n'
    '"99","0.761","0.761","0.761","0.655","0.655","0.655"\n'
)
GROUPED = CHART.replace('"0.655","0.655","0.655"', '"0.655","0.6","0.7"')
RUN = "_step,_runtime,val/acc\n1,3.5,0.1\n100,9.5,0.761\n"
METRICS = (
    "run_id,key,value,step,timestamp\n"
    "a1,val_acc,0.1,1,1700000000000\na1,val_acc,0.761,100,1700000000100\n"
    "a1,loss,0.4,100,1700000000100\nb2,val_acc,0.655,100,1700000000200\n"
)
FLOWER = 'tool = "flower"\nfile = "history.json"\n'
WANDB = 'tool = "wandb"\nfile = "chart.csv"\n'
MLFLOW = 'tool = "mlflow"\nfile = "metrics.csv"\n'
TOP = 'table = "11"\ncolumn = "Mean ± SD"\nunit = "fraction"\n'


@pytest.fixture(scope="module")
def cpcfl() -> Paper:
    return load_paper("cpcfl")


def mapped(folder: Path, top: str, *entries: str) -> Path:
    (folder / "history.json").write_text(json.dumps(HISTORY), "utf-8")
    for name, text in (
        ("chart.csv", CHART),
        ("grouped.csv", GROUPED),
        ("run.csv", RUN),
        ("metrics.csv", METRICS),
    ):
        (folder / name).write_text(text, "utf-8")
    file = folder / "map.toml"
    file.write_text(TOP + top + "".join(f"\n[[results]]\n{one}\n" for one in entries), "utf-8")
    return file


OURS = 'row = "CP-CFL|SimCLR"\nseed = 0\n'
IFCA = 'row = "IFCA|None"\nseed = 0\n'


ACCURACY = FLOWER + 'key = "accuracy"\n'
OF_WANDB = WANDB + 'key = "val/acc"\n'
OF_MLFLOW = MLFLOW + 'key = "val_acc"\n'
FIT, LAST = 'key = "metrics_distributed_fit.accuracy"', 'run = "ifca - none"\nround = "final"'
ONE_RUN = 'tool = "wandb"\nfile = "run.csv"\nkey = "val/acc"\n'


@pytest.mark.parametrize(
    ("top", "entries", "values"),
    [
        (ACCURACY, [OURS], [0.761]),
        (ACCURACY, [OURS + "round = 50", IFCA + 'round = "best"'], [0.77, 0.77]),
        (FLOWER, [OURS + FIT, IFCA + 'key = "losses_centralized"'], [0.99, 0.5]),
        (OF_WANDB + "offset = 1\n", [OURS + 'run = "cpcfl-0"', IFCA + LAST], [0.761, 0.655]),
        (ONE_RUN, [OURS], [0.761]),
        (OF_MLFLOW, [OURS + 'run = "a1"', IFCA + 'run = "b2"'], [0.761, 0.655]),
    ],
)
def test_a_map_takes_the_value_of_its_run_key_and_round(
    top: str, entries: list[str], values: list[float], tmp_path: Path, cpcfl: Paper
) -> None:
    rows = read_files([mapped(tmp_path, top, *entries)], cpcfl)
    assert [row.value for row in rows] == values
    assert {row.unit for row in rows} == {"fraction"}
    assert rows[0].row == "CP-CFL|SimCLR"


@pytest.mark.parametrize(("name", "is_told"), [
    ("round", True), ("server_round", True), ("train/Rounds", True), ("rounding", False),
])  # fmt: skip
def test_a_round_that_stands_beside_another_step_is_refused(
    name: str, is_told: bool, tmp_path: Path, cpcfl: Paper
) -> None:
    file = mapped(tmp_path, ONE_RUN, OURS)
    for half, told in ((1, False), (2, is_told)):
        lines = f"_step,{name},val/acc\n2,{2 // half},0.1\n100,{100 // half},0.761\n"
        (tmp_path / "run.csv").write_text(lines, "utf-8")
        said = f"step 100 is taken for round 100, and '{name}' says 50"
        with pytest.raises(FedreproError, match=said) if told else nullcontext():
            assert [row.value for row in read_files([file], cpcfl)] == [0.761]


MISSPELT = FLOWER + 'key = "metrics_distributed.acuracy"\n'
GROUPS = 'tool = "wandb"\nfile = "grouped.csv"\nkey = "val/acc"\nrun = "cpcfl-0"\n'
OF_A1 = OF_MLFLOW + 'run = "a1"\n'


@pytest.mark.parametrize(
    ("top", "entry", "said"),
    [
        ('tool = "flwr"\nfile = "history.json"\nkey = "a"\n', OURS, "map.toml:8: tool: must be"),
        (FLOWER, OURS, "'key' is missing"),
        (FLOWER + 'key = "a"\nruns = "x"\n', OURS, "did you mean 'run'"),
        (FLOWER + 'key = "f1"\n', OURS, "say which"),
        (MISSPELT, OURS, "did you mean 'metrics_distributed.accuracy'"),
        (FLOWER + 'key = "broken"\n', OURS, "not finite"),
        (FLOWER + 'key = "metrics_distributed.f1"\n', OURS, "100 is not there (rounds 1 to 1)"),
        ('tool = "flower"\nfile = "chart.csv"\nkey = "a"\n', OURS, "is no JSON"),
        ('tool = "flower"\nfile = "gone.json"\nkey = "a"\n', OURS, "No such file"),
        (OF_WANDB, OURS, "name one"),
        (GROUPS, OURS, "groups several runs"),
        ('tool = "wandb"\nfile = "metrics.csv"\nkey = "a"\n', OURS, "has no 'a' (known: key"),
        ('tool = "mlflow"\nfile = "run.csv"\nkey = "val/acc"\n', OURS, "MLflow"),
        (OF_MLFLOW, OURS, "name one"),
        (OF_A1, OURS.replace("SimCLR", "SimCRL"), "did you mean 'CP-CFL|SimCLR'"),
        (OF_A1, OURS.replace("0", "-1"), "seed: must be at least 0"),
    ],
)
def test_what_a_map_cannot_mean_is_said_in_one_line(
    top: str, entry: str, said: str, tmp_path: Path, cpcfl: Paper
) -> None:
    with pytest.raises(FedreproError) as error:
        read_map(mapped(tmp_path, top, entry), cpcfl)
    assert said in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_one_value_is_one_trial_of_one_run(tmp_path: Path, cpcfl: Paper) -> None:
    other_seed, other_run = OURS.replace("seed = 0", "seed = 1"), IFCA + 'round = "final"'
    earlier = other_seed + "round = 1"
    for more in (other_seed, earlier, other_run, OURS + 'column = "Trial 1"'):
        rows = read_map(mapped(tmp_path, ONE_RUN, OURS, more), cpcfl)
        refuses = pytest.raises(FedreproError, match="is that of another trial")
        with nullcontext() if "Trial" in more else refuses:  # a printed trial is of the same run
            bind_rows(rows, external_plan(cpcfl, ["11"]), "scaled")


def test_the_best_of_what_is_better_lower_is_the_least() -> None:
    points = [(1, "0.9"), (2, "0.3"), (3, "0.5")]
    assert exports._value_at(points, "best", "false_negative_ratio", "p") == (0.3, "best")


@pytest.mark.parametrize("tool", ["flower", "wandb", "mlflow"])
@pytest.mark.parametrize(
    "content",
    [b"", b"[" * 10_000, b'{"metrics_distributed": {"a": [[1]]}}', b'{"losses_distributed": 3}',
     b"Step,a\nx,1\n", b"run_id,key,value,step\na,b,c,d\n"],
)  # fmt: skip
def test_an_export_that_is_none_is_one_line(
    tool: str, content: bytes, tmp_path: Path, cpcfl: Paper
) -> None:
    file = mapped(tmp_path, f'tool = "{tool}"\nfile = "export"\nkey = "a"\n', OURS)
    (tmp_path / "export").write_bytes(content)
    with pytest.raises(FedreproError) as error:
        read_map(file, cpcfl)
    assert len(str(error.value).splitlines()) == 1


def test_a_run_without_values_is_still_one_of_several(tmp_path: Path, cpcfl: Paper) -> None:
    file = mapped(tmp_path, OF_WANDB, OURS)
    (tmp_path / "chart.csv").write_text("Step,a - val/acc,b - val/acc\n100,0.7,\n", "utf-8")
    with pytest.raises(FedreproError, match="the file has 2 runs; name one"):
        read_map(file, cpcfl)


def test_a_curve_that_stops_early_is_not_the_published_protocol(tmp_path: Path) -> None:
    calibre = load_paper("calibre")
    plan = external_plan(calibre, ["1"])
    for last, fits in ((200, True), (30, False)):
        (tmp_path / "run.csv").write_text(RUN.replace("100,", f"{last},"), "utf-8")
        entry = 'table = "1"\nrow = "no L_n|no L_p"\ncolumn = "Calibre (SimCLR)|mean"\nseed = 0\n'
        text = f'tool = "wandb"\nkey = "val/acc"\nunit = "fraction"\n[[results]]\n{entry}'
        (tmp_path / "map.toml").write_text(text + 'file = "run.csv"\n', "utf-8")
        rows = read_files([tmp_path / "map.toml"], calibre)
        assert bind_rows(rows, plan, "scaled")
        if fits:
            assert bind_rows(rows, plan, "full")
            continue
        with pytest.raises(FedreproError, match=r"is read at round 200, not 30"):
            bind_rows(rows, plan, "full")
