from pathlib import Path

import pytest

from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.executors._cluster import read_cluster

LOCAL = 'provider = "local"\nworkers_per_node = 1\n'


def written(folder: Path, text: str) -> Path:
    file = folder / "cluster.toml"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("workers", "gpus", "used"), [(4, 0, ""), (2, 2, "01"), (8, 2, "00001111"), (5, 2, "00011")]
)
def test_gpus_are_shared_evenly_by_the_workers_of_a_node(
    tmp_path: Path, workers: int, gpus: int, used: str
) -> None:
    text = f'provider = "slurm"\nworkers_per_node = {workers}\ngpus_per_node = {gpus}\n'
    cluster = read_cluster(written(tmp_path, text + "nodes_per_block = 2\nmax_blocks = 3\n"))
    assert cluster.accelerators == list(used)
    assert cluster.slots == 6 * workers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('provider = "slrm"\nworkers_per_node = 1', "toml:1: provider: must be 'local'"),
        ('provider = "local"', "'workers_per_node' is missing"),
        ('provider = "local"\nworkers_per_node = 0', "workers_per_node: must be at least 1"),
        (f"{LOCAL}worker = 2", "toml:3: worker: unknown key .known: address,"),
        (f"{LOCAL}gpus_per_node = 2", "one GPU at most"),
        (f"{LOCAL}nodes_per_block = 2", "one node"),
        *(
            (f'{LOCAL}folder = "/tmp/{name}"', "without quotes")
            for name in ("a b", "$(touch x)", "a;b", "a&b", "{x}", "a\\nb", "ä")
        ),
        (f'{LOCAL}address = "a;b"', "address: String should"),
        (f'{LOCAL}python = "{{x}}"', "python: String should"),
        ("provider =", "not valid TOML"),
        ("a = " + "[" * 2000, "nested too deeply"),
    ],
)
def test_mistakes_are_named_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(FedreproError, match=said) as raised:
        read_cluster(written(tmp_path, text))
    assert "\n" not in str(raised.value)


def test_options_are_the_providers_own_and_all_mistakes_are_named(tmp_path: Path) -> None:
    text = f"{LOCAL}[options]\nparallelism = 0.5\n"
    assert read_cluster(written(tmp_path, text)).options == {"parallelism": 0.5}
    with pytest.raises(FedreproError) as raised:
        read_cluster(written(tmp_path, text.replace("1", "0").replace("local", "slrm")))
    assert len(str(raised.value).splitlines()) == 2
