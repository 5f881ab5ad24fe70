"""Fetches released files when asked to: over HTTPS, resumable, checked before anything is used."""

import hashlib
import http.client
import shutil
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import DataError
from ..store.files import replacing

NAME = ".fedrepro-cache"
"""The folder, below the data folder, of what can be deleted at any time."""
_CHUNK = 1 << 18
_TIMEOUT = 60.0
_known: dict[tuple[object, ...], str] = {}


def once(what: str, files: Sequence[Path], compute: Callable[[], str]) -> str:
    """`compute()`, once in this process for as long as `files` keep size and time of change."""
    stats = [(str(path.resolve()), path.stat()) for path in files]
    key = (what, *((name, found.st_size, found.st_mtime_ns) for name, found in stats))
    if key not in _known:
        _known[key] = compute()
    return _known[key]


def md5_of(path: Path) -> str:
    """MD5 of a file's content."""

    def compute() -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()

    return once("md5", [path], compute)


@dataclass(frozen=True)
class Archive:
    """A released file at an HTTPS address, of `size` bytes, with the MD5 of what is sent.

    `path`: where the file itself goes, relative to the data folder; None for a tar archive that is
    unpacked and deleted. `members`: the files in it that are unpacked, to the same places there."""

    url: str
    size: int
    md5: str
    path: str | None = None
    members: Sequence[str] = ()


def fetch(archives: Sequence[Archive], folder: Path) -> None:
    """Brings all archives into the data `folder`; what is there and whole is left alone. Raises
    `DataError` if the network is closed, the disk full or a checksum wrong."""
    for archive in archives:
        kept = None if archive.path is None else folder / archive.path
        name = urlsplit(archive.url).path.rpartition("/")[2]
        partial = folder / NAME / "downloads" / f"{archive.md5[:8]}-{name}.part"
        try:
            if kept is not None and kept.is_file() and md5_of(kept) == archive.md5:
                continue
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
    """Fetches `url` to `partial`, going on where an attempt broke off; raises as `fetch`."""
    partial.parent.mkdir(parents=True, exist_ok=True)
    broke = f"{url} broke off; run the same command again to go on from there"
    if (have := partial.stat().st_size if partial.exists() else 0) < size:
        print(f"fetching {url} ({size / 1e6:,.1f} MB)", file=sys.stderr)
        try:
            _receive(url, partial, have, size)
        except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
            raise DataError(f"{broke} ({error})") from error
        except urllib.error.URLError as error:
            raise DataError(
                f"{url} cannot be fetched ({error.reason}); without a network, copy the files from "
                "another machine into the data folder"
            ) from error
    if partial.stat().st_size < size:
        raise DataError(broke)
    if (found := md5_of(partial)) != md5:
        partial.unlink()
        raise DataError(
            f"{url} does not have the checksum of the release (MD5 {found}, not "
            f"{md5}) and was thrown away; try again, or put the files into the data folder by hand"
        )


def _receive(url: str, partial: Path, have: int, size: int) -> None:
    """Appends what the server sends, up to one byte more than `size` in all."""
    headers = {"User-Agent": "fedrepro", **({"Range": f"bytes={have}-"} if have else {})}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
        resumed = answer.status == 206
        left = size + 1 - (have if resumed else 0)
        with partial.open("ab" if resumed else "wb") as file:
            while chunk := answer.read(min(_CHUNK, left)):
                file.write(chunk)
                left -= len(chunk)


def unpack(packed: Path, archive: Archive, folder: Path) -> None:
    """Writes the named members of an archive to their places; `DataError` if it lacks one."""
    left = set(archive.members)
    with tarfile.open(packed, "r:*") as tar:
        for member in tar:
            source = tar.extractfile(member) if member.isfile() and member.name in left else None
            if source is not None:
                with source, replacing(folder / member.name) as file:
                    shutil.copyfileobj(source, file)
                left.remove(member.name)
    if left:
        raise DataError(f"{archive.url} does not hold {min(left)}")
