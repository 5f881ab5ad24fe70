"""Bad inputs by the ten thousand: specs, cluster files, stores, data files, archives.

Each case damages something sound, at places drawn from a seed, and hands it to what reads it. The
answer must be the thing itself, or one error of the kind that the command line prints in one line:
never another exception, never a hang, and never a file outside the folder that was given.
`nox -s fuzz` refuses at least 100,000; the fast tests some dozens of each kind.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import random
import shutil
import struct
import tarfile
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from fedrepro.benchmark.config import RunConfig
from fedrepro.benchmark.data.fetch import Archive, unpack
from fedrepro.benchmark.data.folder import read_folder
from fedrepro.benchmark.data.sets.emnist import Emnist
from fedrepro.benchmark.data.sets.stl10 import Stl10
from fedrepro.benchmark.errors import FedreproError, StoreError
from fedrepro.benchmark.execution.executors._cluster import read_cluster
from fedrepro.benchmark.planning.plan import make_plan
from fedrepro.benchmark.spec.load import load_paper
from fedrepro.benchmark.store.files import canonical, seal_of
from fedrepro.benchmark.store.store import Store, read_encoder, weights_from
from fedrepro.methods.outcome import Outcome
from tests.benchmark.patience import patience

Make = Callable[..., RunConfig]
Reader = Callable[[random.Random], None]
ROOT = Path(__file__).parents[2]
TOKENS = [
    b"", b"\x00", b"\xff\xfe", b'"', b"'", b'"""', b"[", b"]" * 3, b"[[", b"{", b"}", b"=", b"\n",
    b"#", b",", b".", b"-", b"nan", b"inf", b"-0", b"1e400", b"9" * 40, b"null", b"true",
    b"1979-05-27", b"../../outside", b"/etc/passwd", b"<script>", b"${HOME}", b"`id`", b"\\u0000",
    b"[" * 500, b"a." * 200, b'{"a":' * 300, b"PK\x03\x04", b"\x1f\x8b", b"\x93NUMPY",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, 10**30, 0.5, 1e308, "", "x", "../../outside", "\x00",
    "é" * 500, [], [[]], [1, "a"], {}, {"a": {}}, {"file": "../../outside", "sha256": ""}, [None],
    "nan",
]  # fmt: skip


def damaged(content: bytes, draw: random.Random) -> bytes:
    """`content` with one to four things wrong."""
    for _ in range(draw.randint(1, 4)):
        at, length = draw.randrange(len(content) + 1), draw.choice([1, 1, 2, 8, 64, 512])
        after = content[at + length :]
        how = draw.randrange(6)
        if how == 0:
            content = content[:at] + bytes(draw.randrange(256) for _ in range(length)) + after
        elif how == 1:
            content = content[:at] + after
        elif how == 2:
            content = content[:at]
        elif how == 3:
            content = content[:at] + content[at : at + length] * 2 + after
        elif how == 4:
            content = content[:at] + draw.choice(TOKENS) + content[at:]
        else:
            other = draw.randrange(len(content) + 1)
            content = content[:at] + content[other : other + length] + after
    return content


def changed(plain: Any, draw: random.Random) -> Any:
    """Plain data with one value, somewhere, replaced, removed or added."""
    if isinstance(plain, dict) and plain and draw.random() < 0.9:
        key = draw.choice(sorted(plain))
        if draw.random() < 0.1:
            return {name: value for name, value in plain.items() if name != key}
        if draw.random() < 0.1:
            return {**plain, draw.choice(["x", "", key + "x"]): draw.choice(VALUES)}
        return {**plain, key: changed(plain[key], draw)}
    if isinstance(plain, list) and plain and draw.random() < 0.9:
        at = draw.randrange(len(plain))
        return [*plain[:at], changed(plain[at], draw), *plain[at + 1 :]]
    return draw.choice(VALUES)


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


def stores(inside: Path, config: RunConfig, outcome: Outcome) -> Reader:
    """A store of one trial, one of its files damaged, or changed under a seal that fits."""

    def source(config: RunConfig) -> dict[str, str]:
        return {"methods/a.py": "1"}

    whole = Store(inside / "whole", source)
    with whole.writing():
        whole.save(config, 0, outcome, {"device": "d", "wall_s": 1.0, "started": "now"})
        whole.save_error(config, 1, "diverged at round 1", "")
    files = {
        path.relative_to(whole.root): path.read_bytes()
        for path in sorted(whole.root.rglob("*"))
        if path.is_file() and path.name != "lock"
    }
    record = next(name for name in files if name.parts[0] == "trials" and name.suffix == ".json")
    root = inside / "store"

    def a_store(draw: random.Random) -> None:
        if draw.random() < 0.02:
            shutil.rmtree(root, ignore_errors=True)
        for name, content in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(content)
        name = draw.choice(list(files))
        if draw.random() < 0.4:
            plain = json.loads(files[record])
            del plain["sha256"]
            plain = changed(plain, draw)
            if isinstance(plain, dict):
                plain["sha256"] = seal_of(plain)
            # As the store lays it out, which is read in another way, or not.
            written = draw.choice((canonical(plain), json.dumps(plain).encode()))
            (root / record).write_bytes(written + b"\n")
        else:
            (root / name).write_bytes(damaged(files[name], draw))
        said: list[str] = []
        store = Store(root, source, warn=said.append)
        store.error(config, 1)
        store.stale(config, 0)
        for found in store.records():
            store.load_arrays(found)
            if (encoder := store.encoder_path(found)) is not None:
                read_encoder(encoder)
        if draw.random() < 0.1:
            writer = Store(root, source)
            with writer.writing():
                assert writer.find(config, 0) is None or not said
        if said:
            raise StoreError(said[0])

    return a_store


def weights(inside: Path, outcome: Outcome) -> Reader:
    """The content of an encoder's file, which travels to workers of a cluster."""
    from fedrepro.benchmark.store.files import npz_bytes

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


def archives(inside: Path) -> Reader:
    """Archives with members that lead outside, damaged or not."""
    evil = ["../../outside", "/tmp/fedrepro-outside", "a/../../../outside", "wanted", "wanted"]
    tar_file, zip_file = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar_file, mode="w:gz") as tar:
        for name in evil:
            member = tarfile.TarInfo(name)
            member.size = 5
            tar.addfile(member, io.BytesIO(b"12345"))
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "../../outside"
        tar.addfile(link)
    with zipfile.ZipFile(zip_file, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name in evil[:-1]:
            zipped.writestr(name, b"12345" * 20)
    sound = {"tar.gz": tar_file.getvalue(), "zip": zip_file.getvalue()}

    def an_archive(draw: random.Random) -> None:
        kind = draw.choice(list(sound))
        archive = Archive(f"https://x/y.{kind}", 1, "", members={"wanted": "data/wanted"})
        packed = inside / f"packed.{kind}"
        packed.write_bytes(damaged(sound[kind], draw))
        shutil.rmtree(inside / "data", ignore_errors=True)
        try:
            unpack(packed, archive, inside)
        finally:
            found = {path.name for path in inside.iterdir()}
            assert found <= {"packed.zip", "packed.tar.gz", "data", ".fedrepro-cache"}
            shutil.rmtree(inside / ".fedrepro-cache", ignore_errors=True)

    return an_archive


# -- how many ------------------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[..., Reader], int]] = {
    "specs": (specs, 8_000),
    "clusters": (clusters, 5_000),
    "stores": (stores, 12_000),
    "weights": (weights, 40_000),
    "idx": (idx_files, 50_000),
    "stl10": (stl10_files, 1_000),
    "images": (image_folders, 10_000),
    "archives": (archives, 8_000),
}
"""Cases of each kind; about a sixth leave the input sound, the others make more than 100,000."""
SHARE = int(os.environ.get("FEDREPRO_FUZZ_SHARE", "1"))
"""Only one case in so many is tried, where there is no time for all."""


@pytest.fixture
def reader(request: pytest.FixtureRequest, outside: Path) -> Reader:
    make = KINDS[request.param][0]
    wanted = {"config": "tiny_config", "outcome": "outcome"}
    arguments = {}
    for name in make.__code__.co_varnames[1 : make.__code__.co_argcount]:
        given = request.getfixturevalue(wanted[name])
        arguments[name] = given() if name == "config" else given
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
