"""Positioned reads of a file, and the hop from record to record."""

from __future__ import annotations

import errno
import os
import threading
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.remote_path import RemotePath
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_WINDOW_BYTES = 1 << 13  # chunks are far apart: more would be read for nothing


class _Buffers(threading.local):
    """Fresh multi-megabyte buffers cost page faults, so each thread keeps one."""

    def __init__(self) -> None:
        self.data = bytearray()


_buffers = _Buffers()


def open_source(path: Path) -> Source:
    """Open a file, here or on an object store.

    Raises:
        BagError: it cannot be opened.
    """
    if not isinstance(path, RemotePath):
        return Source(path)
    from bagnoise.bags.remote_source import RemoteSource  # noqa: PLC0415 - for URLs only

    return RemoteSource(path)


class Source:
    """An open file, read by position."""

    takes_advice = False  # whether `advise` is of any use

    def __init__(self, path: Path) -> None:
        """Open it."""
        self.path = path
        self._window_at = 0
        self._window = b""
        self._open(path)

    def _open(self, path: Path) -> None:
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            msg = f"{path}: cannot be opened: {error.strerror}"
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                msg += "; a higher limit (ulimit -n) would be right for a recording of many files"
            raise BagError(msg) from error
        self.fd = self._file.fileno()
        self.size = os.fstat(self.fd).st_size

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def fetch(self, offset: int, count: int) -> None:
        """Have these bytes where `fd` leads to: a local file always has."""

    def notes(self) -> list[str]:
        """Say what reading it took: of a local file nothing."""
        return []

    def advise(self, ranges: Iterable[tuple[int, int]]) -> None:
        """Learn which (offset, length) are read next."""

    def read(self, offset: int, count: int) -> memoryview:
        """Return exactly these bytes.

        Raises:
            DamagedBagError: the file ends before.
        """
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self.cut_off(offset, count)
        data = os.pread(self.fd, count, offset)
        while len(data) < count:  # a read of more than 2 GiB comes in parts
            more = os.pread(self.fd, count - len(data), offset + len(data))
            if not more:
                raise self.cut_off(offset, count)
            data += more
        return memoryview(data)

    def read_reused(self, offset: int, count: int) -> memoryview:
        """Return these bytes in this thread's buffer: valid until its next such read.

        Raises:
            DamagedBagError: the file ends before.
        """
        if len(_buffers.data) < count <= self.size:
            _buffers.data = bytearray(count)
        return self.read_into(_buffers.data, offset, count)

    def read_into(self, buffer: bytearray, offset: int, count: int) -> memoryview:
        """Return these bytes in a buffer, or in a new one if it is too small.

        Raises:
            DamagedBagError: the file ends before.
        """
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self.cut_off(offset, count)
        if len(buffer) < count:
            buffer = bytearray(count)
        view = memoryview(buffer)[:count]
        filled = 0
        while filled < count:
            got = os.preadv(self.fd, [view[filled:]], offset + filled)
            if not got:
                raise self.cut_off(offset, count)
            filled += got
        return view

    def cut_off(self, offset: int, count: int) -> DamagedBagError:
        """Say that the file ends too early."""
        return DamagedBagError(
            f"{self.path}: cut off: {count} bytes at byte {offset} reach beyond the end of the "
            f"file at byte {self.size}"
        )

    def peek(self, offset: int, count: int) -> memoryview:
        """Return these bytes, or fewer at the end of the file; small reads share a window."""
        if not self._window_at <= offset <= offset + count <= self._window_at + len(self._window):
            self._window = os.pread(self.fd, max(count, _WINDOW_BYTES), offset)
            self._window_at = offset
        start = offset - self._window_at
        return memoryview(self._window)[start : start + count]

    def records(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Hop over the records of a range: yield (opcode, offset, length with its head).

        Raises:
            DamagedBagError: a record does not fit the range.
        """
        at, head = start, r.RECORD_HEAD.size
        while at < end:
            raw = self.peek(at, head)
            if len(raw) < head or at + head > end:
                raise self.cut_off(at, head)
            opcode, length = r.RECORD_HEAD.unpack(raw)
            if at + head + length > end:
                msg = (
                    f"{self.path}: cut off or damaged: the record of {length} bytes at byte {at} "
                    f"(opcode {opcode}) reaches beyond byte {end}"
                )
                raise DamagedBagError(msg)
            yield opcode, at, head + length
            at += head + length

    def body(self, offset: int, length: int) -> memoryview:
        """Return the body of a record."""
        return self.read(offset + r.RECORD_HEAD.size, length - r.RECORD_HEAD.size)
