"""Fetching from a server on this machine; the address of the release is replaced by its."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from urllib.request import Request

import pytest

from fedrepro.benchmark.data import fetch as module
from fedrepro.benchmark.data import load
from fedrepro.benchmark.data.cache import NAME, knows
from fedrepro.benchmark.data.fetch import (
    Archive,
    SecureRedirects,
    download,
    fetch,
    release_key,
    unpack,
)
from fedrepro.benchmark.data.sets.emnist import Emnist
from fedrepro.benchmark.errors import DataError

CONTENT = bytes(range(256)) * 4000
MD5 = hashlib.md5(CONTENT).hexdigest()
Pack = Callable[[dict[str, bytes]], bytes]


class Server:
    """Serves one body; counts requests; can break off and can ignore ranges."""

    def __init__(self) -> None:
        self.body = CONTENT
        self.break_after: int | None = None
        self.ranges = True
        self.elsewhere: str | None = None
        self.asked: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                wanted = self.headers.get("Range")
                outer.asked.append(wanted)
                if outer.elsewhere is not None:
                    self.send_response(302)
                    self.send_header("Location", outer.elsewhere)
                    self.end_headers()
                    return
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


def test_a_file_is_fetched_and_checked(server: Server, tmp_path: Path) -> None:
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_broken_fetch_goes_on_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.break_after = 5000
    with pytest.raises(DataError, match="broke off; run the same command again"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    server.break_after = None
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert server.asked == [None, "bytes=5000-"]
    assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_server_that_cannot_resume_starts_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(CONTENT[:5000])
    server.ranges = False
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_wrong_checksum_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    server.body = CONTENT[:-1] + b"?"
    with pytest.raises(DataError, match="does not have the checksum of the release"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert not (tmp_path / "x.part").exists()


def test_what_is_fetched_already_is_not_asked_for(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.part").write_bytes(CONTENT)
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert server.asked == []


def test_a_closed_network_is_one_clear_sentence(server: Server, tmp_path: Path) -> None:
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(DataError, match=rf"{server.url} cannot be fetched \(.*copy the files"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)


def test_no_more_is_taken_than_the_release_has(server: Server, tmp_path: Path) -> None:
    server.body = CONTENT * 20
    with pytest.raises(DataError, match=r"sends more than the 1,024,000 bytes of the release"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert (tmp_path / "x.part").stat().st_size <= len(CONTENT)
    (tmp_path / "x.part").unlink()
    server.body = CONTENT
    download(server.url, tmp_path / "x.part", len(CONTENT), MD5)
    assert (tmp_path / "x.part").read_bytes() == CONTENT


def test_a_redirect_to_another_scheme_is_refused(server: Server, tmp_path: Path) -> None:
    server.elsewhere = "ftp://127.0.0.1:1/some.bin"
    with pytest.raises(DataError, match=r"redirects to ftp://127.0.0.1:1/some.bin, .* not HTTPS"):
        download(server.url, tmp_path / "x.part", len(CONTENT), MD5)


@pytest.mark.parametrize(("to", "followed"), [("https://b.org/x", True), ("http://b.org/x", False)])
def test_https_is_not_left_by_a_redirect(to: str, followed: bool) -> None:
    asked = Request("https://a.org/x")
    answer = (BytesIO(), 302, "Found", Message(), to)
    if followed:
        further = SecureRedirects().redirect_request(asked, *answer)
        assert further is not None
        assert further.full_url == to
    else:
        with pytest.raises(DataError, match=f"{to}, which is not HTTPS"):
            SecureRedirects().redirect_request(asked, *answer)


@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "pipe", "folder"])
def test_something_else_in_the_place_of_the_partial_file_is_refused(
    server: Server, tmp_path: Path, kind: str
) -> None:
    mine, partial = tmp_path / "mine", tmp_path / "in" / "x.part"
    partial.parent.mkdir()
    if kind != "dangling link":
        mine.write_bytes(b"my own")
    make: dict[str, Callable[[], None]] = {
        "link": lambda: partial.symlink_to(mine),
        "dangling link": lambda: partial.symlink_to(mine),
        "hard link": lambda: partial.hardlink_to(mine),
        "pipe": lambda: os.mkfifo(partial),
        "folder": partial.mkdir,
    }
    make[kind]()
    with pytest.raises(DataError, match=rf"{partial} is not a file of its own; delete it"):
        download(server.url, partial, len(CONTENT), MD5)
    assert server.asked == []
    assert mine.exists() == (kind != "dangling link")
    assert not mine.exists() or mine.read_bytes() == b"my own"


def test_only_https_is_accepted() -> None:
    with pytest.raises(ValueError, match="over HTTPS only"):
        Archive("http://example.org/x.tar.gz", 1, MD5)


def tarred(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize(("ending", "pack"), [("tar.gz", tarred), ("zip", zipped)])
def test_only_named_members_are_unpacked(ending: str, pack: Pack, tmp_path: Path) -> None:
    packed = tmp_path / "x.part"
    packed.write_bytes(pack({"a/one": b"1", "../evil": b"2", "a/two": b"3"}))
    archive = Archive(f"https://x.org/x.{ending}", 1, MD5, members={"a/one": "in/one"})
    unpack(packed, archive, tmp_path / "data")
    files = [p for p in tmp_path.rglob("*") if p.is_file() and NAME not in p.parts]
    assert sorted(files) == [tmp_path / "data" / "in" / "one", packed]
    assert (tmp_path / "data" / "in" / "one").read_bytes() == b"1"
    assert knows(tmp_path / "data", release_key(hashlib.md5(b"1").hexdigest()))


@pytest.mark.parametrize(("ending", "pack"), [("tar.gz", tarred), ("zip", zipped)])
def test_a_missing_member_or_damaged_archive_is_said(
    ending: str, pack: Pack, tmp_path: Path
) -> None:
    archive = Archive(f"https://x.org/x.{ending}", 1, MD5, members={"b": "b"})
    packed = tmp_path / "x.part"
    packed.write_bytes(pack({"a": b"1" * 5000}))
    with pytest.raises(DataError, match="does not hold b"):
        unpack(packed, archive, tmp_path)
    packed.write_bytes(packed.read_bytes()[:60])
    with pytest.raises(DataError, match="cannot be unpacked"):
        unpack(packed, archive, tmp_path)
    assert not (tmp_path / "b").exists()


def test_files_that_are_whole_are_left_alone(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = module.download
    monkeypatch.setattr(module, "download", lambda url, *rest: real(server.url, *rest))
    archive = Archive("https://x.org/some.bin", len(CONTENT), MD5, path="in/some.bin")
    fetch([archive], tmp_path)
    assert (tmp_path / "in" / "some.bin").read_bytes() == CONTENT
    fetch([archive], tmp_path)
    assert len(server.asked) == 1
    (tmp_path / "in" / "some.bin").write_bytes(b"damaged")
    fetch([archive], tmp_path)
    assert len(server.asked) == 2
    assert (tmp_path / "in" / "some.bin").read_bytes() == CONTENT


def test_a_set_is_fetched_only_when_asked_and_is_then_the_release(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = b"\0\0\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (2, 28, 28)) + bytes(1568)
    labels = b"\0\0\x08\x01" + (2).to_bytes(4, "big") + bytes((3, 46))
    (real,) = Emnist.archives
    server.body = zipped(
        {name: gzip.compress(images if "images" in name else labels) for name in real.members}
    )
    digest = hashlib.md5(server.body).hexdigest()
    smaller = Archive(real.url, len(server.body), digest, members=real.members)
    monkeypatch.setattr(Emnist, "archives", (smaller,))
    fetched = module.download
    monkeypatch.setattr(module, "download", lambda url, *rest: fetched(server.url, *rest))
    with pytest.raises(DataError, match="--download"):
        load("emnist", "train", data_dir=tmp_path)
    assert server.asked == []
    loaded = load("emnist", "train", data_dir=tmp_path, download=True)
    assert loaded.portion.labels is not None
    assert loaded.portion.labels.tolist() == [3, 46]
    assert loaded.is_release
    assert not list((tmp_path / NAME / "downloads").iterdir())
    load("emnist", "test", data_dir=tmp_path, download=True)
    assert len(server.asked) == 1
