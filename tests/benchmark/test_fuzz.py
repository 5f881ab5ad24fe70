"""Bad inputs by the ten thousand: specs, cluster files, stores, data files, archives.

Each case damages something sound, at places drawn from a seed, and hands it to what reads it. The
answer must be the thing itself, or one error of the kind that the command line prints in one line:
never another exception, never a hang, and never a file outside the folder that was given.
`nox -s fuzz` refuses at least 100,000; the fast tests some dozens of each kind.
"""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import struct
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fedrepro.benchmark.data.folder import read_folder
from fedrepro.benchmark.data.sets.emnist import Emnist
from fedrepro.benchmark.data.sets.stl10 import Stl10
from fedrepro.benchmark.errors import FedreproError
from fedrepro.benchmark.execution.executors._cluster import read_cluster
from fedrepro.benchmark.planning.check import check
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.problems import InvalidSpecError
from fedrepro.benchmark.store.files import npz_bytes
from fedrepro.benchmark.store.fingerprint import source_of
from fedrepro.benchmark.store.store import weights_from
from fedrepro.methods.outcome import Outcome
from tests.benchmark.damage import damaged
from tests.benchmark.fuzzed_trials import baselines, checkpoints, results, stores
from tests.benchmark.patience import patience
from tests.benchmark.small_papers import write_made_up

Reader = Callable[[random.Random], None]
ROOT = Path(__file__).parents[2]
ROWS: dict[str, dict[str, Any]] = {"fedavg": {}, "ifca": {"method": "ifca"}}
PAPER_OF_ONE = """
id = "made-up"
title = "T"
authors = "A"
year = 2023
[experiment]
clients = {data = "digits", image_size = 8, channels = 1, partition = "iid", count = 3}
encoder = {name = "cnn", widths = [4, 4], dim = 8, padding = 1}
head = {widths = []}
pretraining = {method = "none"}
training = {rounds = 2, local_epochs = 1}
[profiles]
smoke = {trials = 1}
"""
TABLE_OF_ONE = """
table = "3"
title = "T"
section = "4"
kind = "empirical"
metric = "accuracy"
unit = "%"
margin = {{value = 2.0, reason = "w"}}
columns = [{{label = "a"}}]
[[rows]]
label = "r"
method = "{method}"
training.keep = 0.5
published = [41.2]
"""
MODULE = '''"""Federated averaging that keeps a share of the old model."""

from dataclasses import dataclass

from fedrepro.methods.federated.supervised.fedavg import FedAvg


@dataclass(frozen=True)
class Kept(FedAvg):
    keep: float = 0.0

    def aggregate(self, now, server, upload):
        new = super().aggregate(now, server, upload)
        return {name: self.keep * server[name] + (1 - self.keep) * new[name] for name in new}
'''


def refused(read: Reader, cases: int) -> int:
    """How many of the cases were refused; fails with every other kind of answer that there was."""
    errors, surprises = 0, Counter[str]()
    for case in range(cases):
        try:
            with patience(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read(random.Random(f"{read.__name__} {case}"))
        except FedreproError as error:
            errors += 1
            surprises["an error without a word"] += not str(error).strip()
        except Exception as error:
            trace = traceback.extract_tb(error.__traceback__)[:-4:-1]
            where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in trace)
            surprises[f"{type(error).__name__}: {str(error)[:90]} ({where})"] += 1
    lines = [f"{n} x {what}" for what, n in surprises.most_common(20) if n]
    assert not lines, "\n".join(["", *lines])
    return errors


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """The folder to work in; nothing beside it may have changed at the end."""
    (tmp_path / "witness").write_text("as it was")
    inside = tmp_path / "inside" / "deep"
    inside.mkdir(parents=True)
    yield inside
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "witness"]
    assert [path.name for path in (tmp_path / "inside").iterdir()] == ["deep"]
    assert (tmp_path / "witness").read_text() == "as it was"


# -- what is read --------------------------------------------------------------------------------


def specs(inside: Path) -> Reader:
    """A paper of two small tables, one file of it damaged; what loads is planned now and then."""
    names = ("paper.toml", "3.toml", "11.toml")
    sound = {name: (ROOT / "tables" / "cpcfl" / name).read_bytes() for name in names}
    folder = inside / "cpcfl"
    folder.mkdir()

    def a_spec(draw: random.Random) -> None:
        for name, content in sound.items():
            (folder / name).write_bytes(content)
        name = draw.choice(names)
        (folder / name).write_bytes(damaged(sound[name], draw))
        paper = load_paper("cpcfl", inside)
        if draw.random() < 0.05:
            make_plan(paper, "smoke")

    return a_spec


def clusters(inside: Path) -> Reader:
    """A cluster file."""
    sound = (
        b'provider = "slurm"\nworkers_per_node = 8\ngpus_per_node = 2\nmax_blocks = 4\n'
        b'folder = "x"\nencrypted = true\n[options]\npartition = "gpu"\nwalltime = "08:00:00"\n'
    )

    def a_cluster(draw: random.Random) -> None:
        file = inside / "cluster.toml"
        file.write_bytes(damaged(sound, draw))
        read_cluster(file)

    return a_cluster


def plugins(inside: Path) -> Reader:
    """A module of somebody else's that a spec names, damaged; it is imported as it would be."""
    made = inside / "specs"
    made.mkdir()
    write_made_up(made, PAPER_OF_ONE, "")
    number = iter(range(10**9))

    def a_plugin(draw: random.Random) -> None:
        package = f"fuzzed{next(number)}"
        (inside / package).mkdir()
        (inside / package / "own.py").write_bytes(damaged(MODULE.encode(), draw))
        table = TABLE_OF_ONE.format(method=f"{package}.own")
        (made / "made-up" / "3.toml").write_text(table, "utf-8")
        with chdir(inside), redirect_stdout(io.StringIO()):
            try:
                paper = load_paper("made-up", made)
                for config in make_plan(paper, "smoke").runs:
                    source_of(config)
                problems, _, _ = check([paper])
                if problems:
                    raise InvalidSpecError(problems)
            finally:
                shutil.rmtree(inside / package)
                sys.path[:] = [one for one in sys.path if one != str(inside)]

    return a_plugin


def weights(inside: Path, outcome: Outcome) -> Reader:
    """The content of an encoder's file, which travels to workers of a cluster."""
    assert outcome.encoder is not None
    sound = npz_bytes({name: value.numpy() for name, value in outcome.encoder.items()})

    def some_weights(draw: random.Random) -> None:
        weights_from(damaged(sound, draw))

    return some_weights


def idx_files(inside: Path) -> Reader:
    """IDX files of a set whose release has no known checksum, gzipped or not."""
    images = struct.pack(">4i", 0x803, 3, 4, 4) + bytes(range(48))
    labels = struct.pack(">2i", 0x801, 3) + bytes([0, 1, 2])
    reader = Emnist()
    names = reader.files("train")

    def an_idx(draw: random.Random) -> None:
        for name, content in zip(names, (images, labels), strict=True):
            path = inside / name
            path.parent.mkdir(parents=True, exist_ok=True)
            zipped = path.with_name(path.name + ".gz")
            path.unlink(missing_ok=True)
            zipped.unlink(missing_ok=True)
            bad = damaged(content, draw) if draw.random() < 0.7 else content
            if draw.random() < 0.5:
                path.write_bytes(bad)
            else:
                packed = gzip.compress(bad, 1)
                zipped.write_bytes(damaged(packed, draw) if draw.random() < 0.5 else packed)
        stored = reader.read("train", inside, download=False)
        assert stored.labels is not None
        assert len(stored.images) == len(stored.labels)

    return an_idx


def stl10_files(inside: Path) -> Reader:
    """Files that are not the release's."""
    (inside / "stl10_binary").mkdir()

    def an_stl10(draw: random.Random) -> None:
        for name in ("train_X.bin", "train_y.bin"):
            (inside / "stl10_binary" / name).write_bytes(damaged(bytes(64), draw))
        Stl10().read("train", inside, download=False)

    return an_stl10


def image_folders(inside: Path) -> Reader:
    """Two images of every common format, one of them damaged, and a damaged cache of them."""
    kinds = ("png", "jpeg", "gif", "bmp", "ppm", "tiff", "webp")
    sound: dict[str, bytes] = {}
    for kind in kinds:
        file = io.BytesIO()
        pixels = np.arange(192, dtype=np.uint8).reshape(8, 8, 3)
        Image.fromarray(pixels).save(file, kind)
        sound[kind] = file.getvalue()
    for name in ("a", "b"):
        (inside / "set" / "train" / name).mkdir(parents=True)

    def a_folder(draw: random.Random) -> None:
        kind = draw.choice(kinds)
        suffix = {"tiff": "tif"}.get(kind, kind)
        for old in (inside / "set" / "train").glob("*/*"):
            old.unlink()
        (inside / "set" / "train" / "a" / f"1.{suffix}").write_bytes(sound[kind])
        bad = damaged(sound[kind], draw)
        (inside / "set" / "train" / "b" / f"1.{suffix}").write_bytes(bad)
        images, labels, kept = read_folder(inside / "set" / "train", 3, 2, inside)
        assert images.shape[1:] == (3, 8, 8)
        assert labels is not None
        for cache in kept:
            cache.write_bytes(damaged(cache.read_bytes(), draw))
            again, _, _ = read_folder(inside / "set" / "train", 3, 2, inside)
            assert again.shape == images.shape
            assert torch.equal(again, images)

    return a_folder


# -- how many ------------------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[..., Reader], int]] = {
    "specs": (specs, 8_000),
    "clusters": (clusters, 5_000),
    "stores": (stores, 12_000),
    "weights": (weights, 40_000),
    "idx": (idx_files, 50_000),
    "stl10": (stl10_files, 1_000),
    "images": (image_folders, 10_000),
    "plugins": (plugins, 500),
    "checkpoints": (checkpoints, 10_000),
    "results": (results, 3_000),
    "baselines": (baselines, 6_000),
}
"""Cases of each kind; about a sixth leave the input sound, the others make more than 100,000."""
SHARE = int(os.environ.get("FEDREPRO_FUZZ_SHARE", "1"))
"""Only one case in so many is tried, where there is no time for all."""


@pytest.fixture
def reader(request: pytest.FixtureRequest, outside: Path) -> Reader:
    make = KINDS[request.param][0]
    arguments = {}
    for name in make.__code__.co_varnames[1 : make.__code__.co_argcount]:
        given = request.getfixturevalue("tiny_paper" if name == "plan" else name)
        arguments[name] = make_plan(given(ROWS, trials=2), "smoke") if name == "plan" else given
    return make(outside, **arguments)


@pytest.mark.parametrize("reader", KINDS, indirect=True)
def test_bad_inputs_end_in_one_clear_error(reader: Reader) -> None:
    assert refused(reader, 60) > 20


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize(("reader", "kind"), [(k, k) for k in KINDS], indirect=["reader"])
def test_a_hundred_thousand_bad_inputs_end_in_clear_errors(
    reader: Reader, kind: str, record_property: Callable[[str, object], None]
) -> None:
    cases = KINDS[kind][1] // SHARE
    n = refused(reader, cases)
    record_property("refused with a clear error", n)
    record_property("still sound", cases - n)
    assert n > cases // 2
