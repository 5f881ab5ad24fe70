"""Bad inputs by the thousand: specs, cluster files, stores, checkpoints, data files.

Each case damages something sound, at places drawn from a seed, and hands it to what reads it. The
answer must be the thing itself, or one error of the kind that the command line prints in one line:
never another exception, and never a file outside the folder that was given.
"""

from __future__ import annotations

import gzip
import io
import random
import shutil
import struct
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.data.folder import read_folder
from fedrepro.benchmark.data.sets.emnist import Emnist
from fedrepro.benchmark.errors import FedreproError, StoreError
from fedrepro.benchmark.execution.executors._cluster import read_cluster
from fedrepro.benchmark.external.mapping import read_files
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.spec.model import Paper
from fedrepro.benchmark.store.checkpoints import TrialFile
from fedrepro.benchmark.store.folder import trial_name
from fedrepro.benchmark.store.store import Store, read_encoder
from fedrepro.methods.outcome import Curve, Outcome

Reader = Callable[[random.Random], None]
ROOT = Path(__file__).parents[2]
CASES = 600
"""Of each kind in the slow test: 4,200."""
TOKENS = [
    b"", b"\x00", b"\xff\xfe", b'"', b"[", b"]" * 3, b"{", b"}", b"=", b"\n", b",", b"-", b"nan",
    b"1e400", b"9" * 40, b"null", b"true", b"../../outside", b"\\u0000", b"[" * 500, b"a." * 200,
    b'{"a":' * 300, b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY",
]  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """`content` with one to four things wrong."""
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 2, 8, 64, 512])
        before, after = content[:at], content[at + length :]
        content = draw.choice(
            [
                before + draw.randbytes(length) + after,
                before + after,
                before,
                before + content[at : at + length] * 2 + after,
                before + draw.choice(TOKENS) + content[at:],
            ]
        )
    return content


def refused(read: Reader, cases: int) -> int:
    """How many of the cases were refused; fails with every other kind of answer that there was."""
    errors, surprises = 0, Counter[str]()
    for case in range(cases):
        try:
            with warnings.catch_warnings():
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
def inside(tmp_path: Path) -> Iterator[Path]:
    """The folder to work in; nothing beside it may have changed at the end."""
    folder = tmp_path / "inside" / "deep"
    folder.mkdir(parents=True)
    (tmp_path / "witness").write_text("as it was")
    yield folder
    assert sorted(path.name for path in tmp_path.iterdir()) == ["inside", "witness"]
    assert [path.name for path in (tmp_path / "inside").iterdir()] == ["deep"]
    assert (tmp_path / "witness").read_text() == "as it was"


def specs(inside: Path) -> Reader:
    """A paper of two small tables, one file of it damaged; what loads is planned now and then."""
    names = ("paper.toml", "3.toml", "11.toml")
    sound = {name: (ROOT / "tables" / "cpcfl" / name).read_bytes() for name in names}
    (inside / "cpcfl").mkdir()

    def a_spec(draw: random.Random) -> None:
        chosen = draw.choice(names)
        for name, content in sound.items():
            content = damaged(content, draw) if name == chosen else content
            (inside / "cpcfl" / name).write_bytes(content)
        paper = load_paper("cpcfl", inside)
        if draw.random() < 0.05:
            make_plan(paper, "smoke")

    return a_spec


def clusters(inside: Path) -> Reader:
    sound = (
        b'provider = "slurm"\nworkers_per_node = 8\ngpus_per_node = 2\nmax_blocks = 4\n'
        b'folder = "x"\nencrypted = true\n[options]\npartition = "gpu"\nwalltime = "08:00:00"\n'
    )

    def a_cluster(draw: random.Random) -> None:
        (inside / "cluster.toml").write_bytes(damaged(sound, draw))
        read_cluster(inside / "cluster.toml")

    return a_cluster


def stores(inside: Path, tiny_config: Callable[..., RunConfig], outcome: Outcome) -> Reader:
    """A store of two trials and a failure, one of its files damaged."""
    config, source = tiny_config(), {"methods/a.py": "1"}
    whole, root = Store(inside / "whole", lambda config: source), inside / "store"
    with whole.writing():
        for seed in range(2):
            whole.save(config, seed, outcome, {"wall_s": 1.0})
        whole.save_error(config, 9, "diverged at round 1", "")
    found = [path for path in sorted(whole.root.rglob("*")) if path.is_file()]
    files = [path.relative_to(whole.root) for path in found if path.name != "lock"]

    def a_store(draw: random.Random) -> None:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(whole.root, root)
        damage = root / draw.choice(files)
        damage.write_bytes(damaged(damage.read_bytes(), draw))
        said: list[str] = []
        store = Store(root, lambda config: source, warn=said.append)
        store.error(config, 9)
        sound = list(store.records())
        assert [record.metrics for record in sound] == [outcome.metrics] * len(sound)
        for record in sound:
            store.load_arrays(record)
            encoder = store.encoder_path(record)
            assert encoder is not None
            read_encoder(encoder)
        assert len(sound) + len(said) == 2
        with store.writing():
            gone = [store.find(config, seed) is None for seed in range(2)]
        if said:
            assert gone.count(True) == 2 - len(sound)
            raise StoreError(said[0])

    return a_store


def checkpoints(inside: Path) -> Reader:
    name, cpu = trial_name("0123456789abcdef", 3), torch.device("cpu")
    state = {
        "at": "round 2", "weights": {"w": torch.arange(6.0).reshape(2, 3).t()}, "seen": (1, None),
        "chosen": np.arange(4), "curve": Curve((1, 2), (0.25, 0.5)), "by": {0: [True], 1: [0.5]},
    }  # fmt: skip
    said: list[str] = []
    file = TrialFile(inside, name, {"seed": 3}, ["fedrepro.methods"], cpu, said.append)
    file.write(state)
    sound = file.path.read_bytes()

    def a_checkpoint(draw: random.Random) -> None:
        said.clear()
        file.path.write_bytes(damaged(sound, draw))
        found = file.read()
        if found is None:
            raise StoreError(said[0])
        assert torch.equal(found["weights"]["w"], torch.arange(6.0).reshape(2, 3).t())
        assert found["curve"] == state["curve"]

    return a_checkpoint


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


def image_folders(inside: Path) -> Reader:
    """Two images of every common format, one of them damaged, and a damaged cache of them."""
    kinds = {"png": "png", "jpeg": "jpeg", "bmp": "bmp", "tiff": "tif", "webp": "webp"}
    sound: dict[str, bytes] = {}
    for kind in kinds:
        file = io.BytesIO()
        Image.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(file, kind)
        sound[kind] = file.getvalue()
    for name in ("a", "b"):
        (inside / "set" / "train" / name).mkdir(parents=True)

    def a_folder(draw: random.Random) -> None:
        kind = draw.choice(list(kinds))
        for old in (inside / "set" / "train").glob("*/*"):
            old.unlink()
        (inside / "set" / "train" / "a" / f"1.{kinds[kind]}").write_bytes(sound[kind])
        bad = damaged(sound[kind], draw)
        (inside / "set" / "train" / "b" / f"1.{kinds[kind]}").write_bytes(bad)
        images, labels, kept = read_folder(inside / "set" / "train", 3, 2, inside)
        assert images.shape[1:] == (3, 8, 8)
        assert labels is not None
        for cache in kept:
            cache.write_bytes(damaged(cache.read_bytes(), draw))
            again, _, _ = read_folder(inside / "set" / "train", 3, 2, inside)
            assert torch.equal(again, images)

    return a_folder


def results(inside: Path, tiny_paper: Callable[..., Paper]) -> Reader:
    """Results of somebody else's."""
    paper = tiny_paper({"fedavg": {}})
    lines = [f"1,fedavg,at final,{seed},{40.5 + seed}" for seed in range(3)]
    sound = "\n".join(["table,row,column,seed,value", *lines, ""]).encode()

    def some_results(draw: random.Random) -> None:
        (inside / "own.csv").write_bytes(damaged(sound, draw))
        read_files([inside / "own.csv"], paper)

    return some_results


KINDS: list[Callable[..., Reader]] = [
    specs, clusters, stores, checkpoints, idx_files, image_folders, results,
]  # fmt: skip


@pytest.fixture
def reader(request: pytest.FixtureRequest, inside: Path) -> Reader:
    make = request.param
    names = make.__code__.co_varnames[1 : make.__code__.co_argcount]
    made: Reader = make(inside, **{name: request.getfixturevalue(name) for name in names})
    return made


@pytest.mark.parametrize("reader", KINDS, indirect=True, ids=lambda kind: kind.__name__)
def test_some_bad_inputs_end_in_one_clear_error(reader: Reader) -> None:
    assert refused(reader, 20) > 5


@pytest.mark.slow
@pytest.mark.parametrize("reader", KINDS, indirect=True, ids=lambda kind: kind.__name__)
def test_thousands_of_bad_inputs_end_in_one_clear_error(reader: Reader) -> None:
    assert refused(reader, CASES) > CASES // 2
