"""Digests of bags on disk: what a manifest says of inputs and outputs."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path

    from bagnoise.bags.remote_path import RemotePath

_BLOCK_BYTES = 1 << 18


def digest_of(path: Path) -> str:
    """Hash a file, or the names and contents of a folder's files, as sha256 hex.

    Raises:
        BagError: it cannot be read.
    """
    try:
        if path.is_file():
            return _file_digest(path)
        whole = hashlib.sha256()
        for file in _files(path):
            whole.update(f"{file.relative_to(path).as_posix()}\0{_file_digest(file)}\n".encode())
        return whole.hexdigest()
    except OSError as error:
        msg = f"{error.filename or path}: cannot be read: {error.strerror}"
        raise BagError(msg) from None


def etag_of(path: RemotePath) -> str:
    """Return what changes with the content of a bag on an object store, without reading it.

    Raises:
        BagError: it is not there.
    """
    if path.is_file():
        return path.entry().etag.strip('"')
    parts = [f"{file.relative_to(path)}\0{file.entry().etag}\n" for file in path.rglob("*")]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def stamp_of(path: Path) -> dict[str, Any]:
    """Return size and newest modification time: equal ones mean, as for make, equal content.

    Raises:
        BagError: it is not there.
    """
    try:
        stats = [file.stat() for file in ([path] if path.is_file() else _files(path))]
    except OSError as error:
        msg = f"{error.filename or path}: cannot be read: {error.strerror}"
        raise BagError(msg) from None
    if not stats:
        msg = f"{path}: no such bag"
        raise BagError(msg)
    return {
        "bytes": sum(stat.st_size for stat in stats),
        "mtime_ns": max(stat.st_mtime_ns for stat in stats),
    }


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file())


def _file_digest(path: Path) -> str:
    state = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))  # one for all: fresh ones cost as much as reading
    with path.open("rb", buffering=0) as stream:
        while count := stream.readinto(block):
            state.update(block[:count])
    return state.hexdigest()
