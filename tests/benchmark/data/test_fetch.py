import contextlib
import dataclasses
import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fedrepro.benchmark.data import fetch as module
from fedrepro.benchmark.data import load
from fedrepro.benchmark.data.fetch import NAME, Archive, download, unpack
from fedrepro.benchmark.data.sets.emnist import Emnist
from fedrepro.benchmark.errors import DataError

CONTENT = bytes(range(256)) * 4000
MD5 = hashlib.md5(CONTENT).hexdigest()


class Server:
    """Serves one body; counts requests; can break off and can ignore ranges."""

    def __init__(self) -> None:
        self.body = CONTENT
        self.break_after: int | None = None
        self.ranges = True
        self.asked: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                outer.asked.append(wanted)
                first = int(wanted[6:-1]) if wanted and outer.ranges else 0
                self.send_response(206 if first else 200)
                self.send_header("Content-Length", str(len(outer.body) - first))
                self.end_headers()
                self.wfile.write(outer.body[first:][: outer.break_after])

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/some.bin"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def test_a_broken_fetch_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.break_after = 5000
    with pytest.raises(DataError, match="broke off; run the same command again"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    server.break_after = None
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert server.asked == [None, "bytes=5000-"]
    assert (tmp_path / "x.part").read_bytes() == CONTENT


@pytest.mark.parametrize("left", [CONTENT[:5000], CONTENT * 2])
def test_what_cannot_be_resumed_is_fetched_new(left: bytes, server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(left)
    server.ranges = False
    with contextlib.suppress(DataError):  # more than the release has is thrown away first
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert (tmp_path / "x.part").read_bytes() == CONTENT
    assert len(server.asked) == 1, "what is whole is not asked for again"


@pytest.mark.parametrize("body", [CONTENT[:-1] + b"?", CONTENT * 20])
def test_a_wrong_checksum_leaves_nothing(body: bytes, server: Server, tmp_path: Path) -> None:
    server.body = body
    with pytest.raises(DataError, match="does not have the checksum of the release"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert not (tmp_path / "x.part").exists()


def test_a_closed_network_is_one_clear_sentence(server: Server, tmp_path: Path) -> None:
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DataError, match=rf"{server.url} cannot be fetched \(.*copy the files"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)


def test_only_named_members_are_unpacked_and_a_missing_one_is_said(tmp_path: Path) -> None:
    packed = tmp_path / "x.part"
    with tarfile.open(packed, mode="w:gz") as tar:
        for name in ("a/one", "../evil", "a/two"):
            info = tarfile.TarInfo(name)
            info.size = 1
            tar.addfile(info, io.BytesIO(name[-3:-2].encode()))
    archive = Archive("https://x.org/x.tar.gz", 1, MD5, members=("a/one",))
    unpack(packed, archive, tmp_path / "data")
    files = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert sorted(files) == [tmp_path / "data" / "a" / "one", packed]
    assert (tmp_path / "data" / "a" / "one").read_bytes() == b"o"
    with pytest.raises(DataError, match="does not hold b"):
        unpack(packed, dataclasses.replace(archive, members=("b",)), tmp_path)


def test_a_set_is_fetched_only_when_asked_and_is_then_the_release(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = b"".join(n.to_bytes(4, "big") for n in (2, 28, 28))
    images = b"\0\0\x08\x03" + shape + bytes((0, 9)) + bytes(1566)
    labels = b"\0\0\x08\x01" + (2).to_bytes(4, "big") + bytes((3, 46))
    (real,) = Emnist.archives
    names = [f"gzip/{name}.gz" for part in Emnist.parts.values() for name in part]
    with zipfile.ZipFile(packed := io.BytesIO(), "w") as archive:
        for name in names:
            archive.writestr(name, gzip.compress(images if "images" in name else labels))
    server.body = packed.getvalue()
    digest = hashlib.md5(server.body).hexdigest()
    smaller = dataclasses.replace(real, size=len(server.body), md5=digest)
    monkeypatch.setattr(Emnist, "archives", (smaller,))
    monkeypatch.setattr(Emnist, "md5", {"gzip.zip": digest})
    fetched = module.download
    monkeypatch.setattr(module, "download", lambda url, *rest: fetched(server.url, *rest))
    with pytest.raises(DataError, match="--download"):
        load("emnist", "train", data_dir=tmp_path)
    assert server.asked == []
    loaded = load("emnist", "train", data_dir=tmp_path, download=True)
    assert loaded.portion.labels is not None
    assert loaded.portion.labels.tolist() == [3, 46]
    assert loaded.portion.images[0, 0, 1, 0] == 9, "it stands upright"
    assert loaded.is_release
    assert not list((tmp_path / NAME / "downloads").iterdir())
    load("emnist", "test", data_dir=tmp_path, download=True)
    assert len(server.asked) == 1
    (tmp_path / "EMNIST" / "raw" / "gzip.zip").write_bytes(server.body + b"?")
    with pytest.raises(DataError, match="not the release's file"):
        load("emnist", "test", data_dir=tmp_path)
