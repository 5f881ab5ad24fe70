"""Fetches released files when asked to: over HTTPS, resumable, checked before anything is used."""

from __future__ import annotations

import http.client
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from ..errors import DataError
from ..store.files import replacing
from .cache import (
    NAME,
    key_of,
    md5_of,
    remembered,
    remembered_md5,
)

_CHUNK = 1 << 18
_TIMEOUT = 60.0


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


def download(url: str, partial: Path, size: int, md5: str) -> None:
    """Fetches `url` to `partial`, going on where an earlier attempt broke off.

    Raises `DataError` if the server cannot be reached or sends something else.
    """
    partial.parent.mkdir(parents=True, exist_ok=True)
    have = partial.stat().st_size if partial.exists() else 0
    if have < size:
        print(f"fetching {url} ({size / 1e6:,.1f} MB)", file=sys.stderr)
        _receive(url, partial, have, size)
    if partial.stat().st_size < size:
        raise DataError(f"{url} broke off; run the same command again to go on from there")
    found = md5_of(partial)
    if found != md5:
        partial.unlink()
        raise DataError(
            f"{url} does not have the checksum of the release (MD5 {found}, not "
            f"{md5}) and was thrown away; try again, or put the files into the data folder by hand"
        )


def _receive(url: str, partial: Path, have: int, size: int) -> None:
    """Appends what the server sends, up to one byte more than `size` in all."""
    request = urllib.request.Request(url, headers={"User-Agent": "fedrepro"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            resumed = answer.status == 206
            left = size + 1 - (have if resumed else 0)
            with partial.open("ab" if resumed else "wb") as file:
                while chunk := answer.read(min(_CHUNK, left)):
                    file.write(chunk)
                    left -= len(chunk)
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise DataError(
            f"{url} broke off ({error}); run the same command again to go on from there"
        ) from error
    except urllib.error.URLError as error:
        raise DataError(
            f"{url} cannot be fetched ({error.reason}); without a network, copy the files from "
            "another machine into the data folder"
        ) from error


def unpack(packed: Path, archive: Archive, folder: Path) -> None:
    """Writes the named members of a checked archive to their places, each at once or not at all.

    Raises `DataError` if the archive lacks one.
    """
    left = dict(archive.members)
    for name, source in _members(packed, archive.url):
        target = left.pop(name, None)
        if target is not None:
            with replacing(folder / target) as file:
                shutil.copyfileobj(source, file)
            md5 = remembered_md5(folder / target, folder)
            remembered(folder, release_key(md5), lambda: archive.url)
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
