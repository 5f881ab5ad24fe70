"""Fetches released files when asked to: over HTTPS, resumable, checked before anything is used."""

from __future__ import annotations

import errno
import http.client
import lzma
import os
import shutil
import stat
import struct
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ..errors import DataError
from .cache import (
    NAME,
    key_of,
    md5_of,
    remembered,
    remembered_md5,
    replacing,
)

_CHUNK = 1 << 18
_TIMEOUT = 60.0
# What tarfile and zipfile raise for content that is damaged, encrypted or packed another way.
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError,
    ValueError, KeyError, IndexError, OverflowError, NotImplementedError, RuntimeError,
)  # fmt: skip


@dataclass(frozen=True)
class Archive:
    """A released file.

    url: HTTPS.
    size: bytes.
    md5: of the file as it is sent.
    path: where the file itself goes, relative to the data folder; None for an archive that is
    unpacked and deleted.
    members: what is unpacked, by name in the archive, and where to, relative to the data folder.
    """

    url: str
    size: int
    md5: str
    path: str | None = None
    members: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if urlsplit(self.url).scheme != "https":
            raise ValueError(f"{self.url}: data are fetched over HTTPS only")


def release_key(md5: str) -> str:
    """Under which the cache remembers that content with this MD5 came from a checked archive."""
    return key_of("release", md5)


def fetch(archives: Sequence[Archive], folder: Path) -> None:
    """Brings all archives into the data `folder`; what is there and whole is left alone.

    Raises `DataError` if the network is closed, the disk full or a checksum wrong.
    """
    for archive in archives:
        kept = None if archive.path is None else folder / archive.path
        if kept is not None and kept.is_file() and remembered_md5(kept, folder) == archive.md5:
            continue
        name = urlsplit(archive.url).path.rpartition("/")[2]
        partial = folder / NAME / "downloads" / f"{archive.md5[:8]}-{name}.part"
        try:
            download(archive.url, partial, archive.size, archive.md5)
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                partial.replace(kept)
            else:
                unpack(partial, archive, folder)
                partial.unlink()
        except OSError as error:
            raise DataError(f"{name} cannot be stored in {folder.absolute()} ({error})") from error


class SecureRedirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to HTTPS only; a server without it may redirect to its like."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to make next.

        Raises `DataError` for an address that is not safe.
        """
        if urlsplit(newurl).scheme not in ("https", req.type):
            raise DataError(f"{req.full_url} redirects to {newurl}, which is not HTTPS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def download(url: str, partial: Path, size: int, md5: str) -> None:
    """Fetches `url` to `partial`, going on where an earlier attempt broke off.

    Raises `DataError` if the server cannot be reached or sends something else, and if something
    other than a file lies at `partial`.
    """
    partial.parent.mkdir(parents=True, exist_ok=True)
    have = _size_of(partial)
    if have > size:
        partial.unlink()
        have = 0
    if have < size:
        print(f"fetching {url} ({size / 1e6:,.1f} MB)", file=sys.stderr)
        _receive(url, partial, have, size)
    if _size_of(partial) < size:
        raise DataError(f"{url} broke off; run the same command again to go on from there")
    found = md5_of(partial)
    if found != md5:
        partial.unlink()
        raise DataError(
            f"{url} does not have the checksum of the release (MD5 {found}, not "
            f"{md5}) and was thrown away; try again, or put the files into the data folder by hand"
        )


def _size_of(partial: Path) -> int:
    """Bytes that were fetched; a link or a pipe in the file's place would lead elsewhere."""
    try:
        status = partial.lstat()
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        raise DataError(f"{partial} is not a file of its own; delete it")
    return status.st_size


def _receive(url: str, partial: Path, have: int, size: int) -> None:
    """Appends what the server sends, up to `size` bytes in all."""
    request = urllib.request.Request(url, headers={"User-Agent": "fedrepro"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    opener = urllib.request.build_opener(SecureRedirects)
    try:
        with opener.open(request, timeout=_TIMEOUT) as answer:
            flags = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            resumed = answer.status == 206
            flags |= os.O_APPEND if resumed else os.O_TRUNC
            left = size - have if resumed else size
            with os.fdopen(os.open(partial, flags, 0o644), "wb") as file:
                while chunk := answer.read(min(_CHUNK, left + 1)):
                    if len(chunk) > left:
                        raise DataError(f"{url} sends more than the {size:,} bytes of the release")
                    file.write(chunk)
                    left -= len(chunk)
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(
            f"{url} broke off ({error}); run the same command again to go on from there"
        ) from error
    except urllib.error.URLError as error:
        reason = getattr(error, "reason", error)
        raise DataError(
            f"{url} cannot be fetched ({reason}); without a network, copy the files from another "
            "machine into the data folder"
        ) from error


def unpack(packed: Path, archive: Archive, folder: Path) -> None:
    """Writes the named members of a checked archive to their places, each at once or not at all.

    Raises `DataError` if the archive lacks one or cannot be read.
    """
    left = dict(archive.members)
    try:
        for name, source in _members(packed, archive.url):
            target = left.pop(name, None)
            if target is not None:
                with replacing(folder / target) as file:
                    shutil.copyfileobj(source, file)
                md5 = remembered_md5(folder / target, folder)
                remembered(folder, release_key(md5), lambda: archive.url)
    except _BROKEN as error:
        raise DataError(f"{archive.url} cannot be unpacked ({error})") from error
    except OSError as error:
        # A place that is not in the file, or no gzip; errors of the disk are left to the caller.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise DataError(f"{archive.url} cannot be unpacked ({error})") from error
    if left:
        raise DataError(f"{archive.url} does not hold {next(iter(left))}")


def _members(packed: Path, url: str) -> Iterator[tuple[str, IO[bytes]]]:
    if url.endswith(".zip"):
        with zipfile.ZipFile(packed) as zipped:
            for name in zipped.namelist():
                with zipped.open(name) as source:
                    yield name, source
        return
    with tarfile.open(packed, "r:*") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                with content:
                    yield member.name, content
