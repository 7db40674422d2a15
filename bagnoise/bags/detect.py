"""Say what a file is by its first bytes, whatever its name."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING, Literal

from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path

Kind = Literal["mcap", "sqlite3", "ros1", "mcap.zstd", "sqlite3.zstd"]

MCAP_MAGIC = b"\x89MCAP0\r\n"
SQLITE_MAGIC = b"SQLite format 3\x00"
ROS1_MAGIC = b"#ROSBAG V2.0\n"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_HEAD_BYTES = 1 << 12
_PEEK_BYTES = 16

_LINE_ENDINGS = "an MCAP file destroyed by a line-ending conversion"
_ORIGINAL = "get the original again"
_WAL = "the write-ahead log of a sqlite3 bag; give the .db3 file beside it"
_WEB = "a web page; the download went wrong"
_LF = (
    f"{_LINE_ENDINGS} (every CR LF became LF, as git or a text-mode transfer does): bytes are gone"
    f" for good; {_ORIGINAL} and mark *.mcap as binary in .gitattributes"
)
_LFS = "a git-LFS pointer, not the recording itself; fetch it with `git lfs pull`"
_UTF8 = f"an MCAP file destroyed by being saved as UTF-8 text; {_ORIGINAL}"

# What is no bag, but may well be taken for one: first bytes and explanation.
_MISTAKEN = (
    (b"version https://git-lfs.github.com/spec/", _LFS),
    (b"\x89MCAP0\n", _LF),
    (b"\x89MCAP0\r\r\n", f"{_LINE_ENDINGS} (every LF became CR LF); {_ORIGINAL}"),
    (b"\xef\xbf\xbdMCAP0", _UTF8),
    (b"\xc2\x89MCAP0", _UTF8),
    (b"#ROSBAG V1", "a ROS 1 bag of the old version 1; convert it with `rosbag migrate` first"),
    (b"\x37\x7f\x06\x82", _WAL),
    (b"\x37\x7f\x06\x83", _WAL),
    (b"rosbag2_bagfile_information:", "a metadata.yaml; give the folder that it lies in"),
    (b"PK\x03\x04", "a zip archive; unpack it first"),
    (b"\x1f\x8b", "a gzip file; unpack it first"),
    (b"<!DOCTYPE", _WEB),
    (b"<html", _WEB),
)
_STORAGE_NAME = re.compile(r".+\.(mcap|db3)(\.zstd|\.zst)?(-wal|-shm|-journal)?", re.IGNORECASE)


def detect(path: Path) -> Kind:
    """Return what kind of bag a file is.

    Raises:
        BagError: It is none; the text says what it is instead, where that can be told.
    """
    head = _read_head(path)
    kind = _kind(head)
    if kind is not None:
        return kind
    if head.startswith(ZSTD_MAGIC):
        inner = _kind(_peek_zstd(path))
        if inner == "mcap":
            return "mcap.zstd"
        if inner == "sqlite3":
            return "sqlite3.zstd"
        msg = f"{path}: a zstd file, but neither MCAP nor sqlite3 is in it"
        raise BagError(msg)
    raise BagError(f"{path}: " + _explain(head))


def _read_head(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would wait for ever
            msg = f"{path}: neither a file nor a folder"
            raise BagError(msg)
        with path.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except FileNotFoundError as error:
        msg = f"{path}: no such file or folder"
        raise BagError(msg) from error
    except OSError as error:
        msg = f"{path}: cannot be read: {error.strerror}"
        raise BagError(msg) from error


def _kind(head: bytes) -> Literal["mcap", "sqlite3", "ros1"] | None:
    if head.startswith(MCAP_MAGIC):
        return "mcap"
    if head.startswith(SQLITE_MAGIC):
        return "sqlite3"
    if head.startswith(ROS1_MAGIC):
        return "ros1"
    return None


def _peek_zstd(path: Path) -> bytes:
    import zstandard  # noqa: PLC0415 - slow to import, rarely needed

    try:
        with path.open("rb") as stream, zstandard.ZstdDecompressor().stream_reader(stream) as plain:
            return plain.read(_PEEK_BYTES)
    except (OSError, zstandard.ZstdError) as error:
        msg = f"{path}: begins like a zstd file, but cannot be decompressed: {error}"
        raise BagError(msg) from error


def _explain(head: bytes) -> str:
    if not head:
        return "the file is empty"
    for start, meaning in _MISTAKEN:
        if head.startswith(start):
            return meaning
    if not head.strip(b"\x00"):
        return "not a bag: it begins with zeros (a copy or download that was never finished?)"
    return f"not a bag: it begins with {head[:8]!r}, which is neither MCAP, sqlite3, zstd nor ROS 1"


def is_storage_name(name: str) -> bool:
    """Whether a name looks like a storage file, or a log that sqlite3 keeps beside one."""
    return _STORAGE_NAME.fullmatch(name) is not None


def foreign_entry(path: Path) -> Path | None:
    """Return what at ``path`` is no part of a bag and must never be removed; None if all is.

    A bag is a file that `detect` knows, or a directory of storage files and a metadata.yaml only.
    """
    if path.is_symlink():
        return path
    if not path.is_dir():
        return None if _is_bag_file(path) else path
    entries = sorted(path.iterdir())
    for entry in entries:
        if entry.is_symlink() or not entry.is_file():
            return entry
        if entry.name != "metadata.yaml" and not is_storage_name(entry.name):
            return entry
    return None if any(is_storage_name(entry.name) for entry in entries) else path


def _is_bag_file(path: Path) -> bool:
    try:
        detect(path)
    except BagError:
        return False
    return True
