"""A path on an object store, which answers as a `Path` does wherever bags are read."""

from __future__ import annotations

import io
import os
import re
import stat
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path, PosixPath
from typing import TYPE_CHECKING, Any

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.bags.remote import Entry, Store

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_FIRST_BYTES = 1 << 14  # enough to tell what a file is
_MOST_BYTES = 1 << 22


def location(text: str | os.PathLike[str]) -> Path:
    """Return the path that a text names: on the object store if it is an ``s3://`` URL.

    Raises:
        UsageError: it is another kind of URL, or no proper one. The text is not repeated, since
            it may hold credentials.
    """
    if isinstance(text, Path):
        return text
    text = os.fspath(text)
    url = _URL.match(text)
    if url is None:
        return Path(text)
    if url[1].lower() != "s3":
        msg = f"{url[1]}://…: not a kind of URL that is read or written; s3://bucket/name is"
        raise UsageError(msg)
    bucket, _, key = text[url.end() :].partition("/")
    if not _BUCKET.fullmatch(bucket):
        msg = (
            "s3://…: after s3:// comes the name of a bucket (letters, digits, '-', '.'); "
            "credentials do not belong in a URL"
        )
        raise UsageError(msg)
    parts = key.removesuffix("/").split("/")
    if key and any(part in {"", ".", ".."} for part in parts):
        msg = f"s3://{bucket}/{key}: has an empty part, '.' or '..', which bagnoise does not keep"
        raise UsageError(msg)
    return RemotePath(f"s3:/{bucket}/{key}")


def location_in(folder: Path, text: str) -> Path:
    """Return the path that a text names, seen from a folder."""
    return location(text) if _URL.match(text) else folder / text


class RemotePath(PosixPath):
    """``s3://bucket/key``: parts, names and parents as of any path; reading asks the store.

    What has been learned of an object is kept with the path: make a new one to look again.
    """

    _found: Entry | None = None

    def __str__(self) -> str:
        return super().__str__().replace("s3:/", "s3://", 1)

    @property
    def bucket(self) -> str:
        """The bucket's name."""
        return self.parts[1]

    @property
    def key(self) -> str:
        """The name within the bucket; empty for the bucket itself."""
        return "/".join(self.parts[2:])

    @property
    def store(self) -> Store:
        """The bucket's store."""
        from bagnoise.bags.remote import store_of  # noqa: PLC0415 - only for URLs

        return store_of(self.bucket)

    def _made(self, entry: Entry) -> RemotePath:
        path = RemotePath(f"s3:/{self.bucket}/{entry.key}")
        path._found = entry
        return path

    def entry(self) -> Entry:
        """Describe the object.

        Raises:
            FileNotFoundError: there is none.
        """
        if self._found is None and self.key:
            self._found = self.store.look(self.key)
        if self._found is None:
            raise FileNotFoundError(2, "no such object", str(self))
        return self._found

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002
        """Return size and time of an object, or that it is a folder of objects."""
        try:
            entry = self.entry()
        except FileNotFoundError:
            if not self.is_dir():
                raise
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        seconds = entry.mtime_ns // 1_000_000_000
        plain = (stat.S_IFREG | 0o644, 0, 0, 1, 0, 0, entry.size, seconds, seconds, seconds)
        return os.stat_result(plain, {"st_mtime_ns": entry.mtime_ns})

    def is_file(self, **_: Any) -> bool:
        """Whether there is an object of this name."""
        try:
            self.entry()
        except FileNotFoundError:
            return False
        return True

    def is_dir(self, **_: Any) -> bool:
        """Whether there are objects below this name, and none of it."""
        return not self.is_file() and self.store.some(self._prefix())

    def exists(self, **_: Any) -> bool:
        """Whether there is an object of this name, or any below it."""
        return self.is_file() or self.is_dir()

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def resolve(self, strict: bool = False) -> RemotePath:  # noqa: ARG002, FBT001, FBT002
        """Return itself: there are no links."""
        return self

    def absolute(self) -> RemotePath:
        """Return itself."""
        return self

    def samefile(self, other_path: str | os.PathLike[str]) -> bool:
        """Whether it is the same object."""
        return self == other_path

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Make nothing: a folder is there with the first object in it."""

    def iterdir(self) -> Iterator[RemotePath]:  # type: ignore[override,unused-ignore]
        """Yield what is directly below: objects, and folders once each."""
        seen = set()
        for path in self.rglob("*"):
            child = self / path.relative_to(self).parts[0]
            if child not in seen:
                seen.add(child)
                yield path if child == path else child

    def rglob(self, pattern: Any, **_: Any) -> Iterator[RemotePath]:  # type: ignore[override,unused-ignore]
        """Yield the objects below, at any depth, whose last name matches."""
        for entry in self.store.under(self._prefix()):
            if not entry.key.endswith("/") and fnmatchcase(entry.key.rsplit("/", 1)[-1], pattern):
                yield self._made(entry)

    def glob(self, pattern: Any, **_: Any) -> Iterator[RemotePath]:  # type: ignore[override,unused-ignore]
        """Yield what matches, each ``/`` in the pattern a level; ``**`` is any number of them."""
        levels = [level for level, _ in groupby(pattern.split("/"))]
        found = {
            self.joinpath(*path.relative_to(self).parts[:depth])
            for path in self.rglob("*")
            for depth in range(1, len(path.relative_to(self).parts) + 1)
        }
        for path in sorted(found):
            if _matches(path.relative_to(self).parts, levels):
                yield path

    def _prefix(self) -> str:
        return f"{self.key}/" if self.key else ""

    def open(self, mode: str = "r", *_: Any, **__: Any) -> Any:  # type: ignore[override,unused-ignore]
        """Open for reading bytes, or UTF-8 text."""
        if mode not in {"r", "rb", "rt"}:
            msg = f"{self}: an object cannot be written in parts"
            raise io.UnsupportedOperation(msg)
        raw = io.BufferedReader(_ObjectReader(self), _FIRST_BYTES)
        return raw if mode == "rb" else io.TextIOWrapper(raw, "utf-8")

    def read_bytes(self) -> bytes:
        """Read the whole object."""
        entry = self.entry()
        return self.store.read(entry, 0, entry.size) if entry.size else b""

    def read_text(self, *_: Any, **__: Any) -> str:
        """Read the whole object as UTF-8."""
        return self.read_bytes().decode()

    def write_bytes(self, data: Any) -> int:
        """Replace the object whole."""
        self.store.put(self.key, bytes(data))
        self._found = None
        return len(data)

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        """Remove the object; none is none."""
        self.store.delete(self.key)
        self._found = None


class _ObjectReader(io.RawIOBase):
    """Reads an object forwards: a little at first, more the longer it goes on."""

    def __init__(self, path: RemotePath) -> None:
        self._store, self._entry = path.store, path.entry()
        self._at = 0
        self._data, self._data_at = b"", 0
        self._step_bytes = _FIRST_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._entry.size}[whence]
        self._at = base + offset
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._entry.size:
            return 0
        if not self._data_at <= self._at < self._data_at + len(self._data):
            end = min(self._at + self._step_bytes, self._entry.size)
            self._data = self._store.read(self._entry, self._at, end)
            self._data_at = self._at
            self._step_bytes = min(4 * self._step_bytes, _MOST_BYTES)
        start = self._at - self._data_at
        count = min(len(buffer), len(self._data) - start)
        buffer[:count] = self._data[start : start + count]
        self._at += count
        return count


def _matches(parts: tuple[str, ...], levels: list[str]) -> bool:
    """Whether a name matches a pattern, level by level, as `glob` matches local files."""
    if not levels:
        return not parts
    if levels[0] == "**":
        shown = next((n for n, part in enumerate(parts) if part.startswith(".")), len(parts))
        return any(_matches(parts[n:], levels[1:]) for n in range(shown + 1))
    return (
        bool(parts)
        and fnmatchcase(parts[0], levels[0])
        and levels[0].startswith(".") >= parts[0].startswith(".")
        and _matches(parts[1:], levels[1:])
    )
