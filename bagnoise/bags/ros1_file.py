"""The records of a ROS 1 bag file, on rosbags' reader."""

from __future__ import annotations

import struct
from contextlib import suppress
from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
from rosbags.rosbag1.reader import Header, Reader, ReaderError, RecordType, read_bytes, read_uint32
from rosbags.serde import SerdeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray
    from rosbags.rosbag1.reader import IndexData

_NS = 10**9
_PREAMBLE_BYTES = 13  # "#ROSBAG V2.0" and its line end
_ENTRY = np.dtype([("sec", "<u4"), ("nsec", "<u4"), ("offset", "<u4")])
INDEX = np.dtype([("log_ns", "i8"), ("chunk", "i8"), ("offset", "i8"), ("connection", "i8")])
# What rosbags and the decompressors raise on damaged bytes.
DAMAGE = (
    ReaderError,
    SerdeError,
    struct.error,
    ValueError,
    LookupError,
    AssertionError,
    ArithmeticError,
    EOFError,
    MemoryError,
    RuntimeError,
    TypeError,
    OSError,
)


class Ros1File(Reader):
    """rosbags' reader with its index in arrays (32 bytes a message, not some 200)."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.parts: list[NDArray[np.void]] = []

    def read_index_data(self, pos: int, indexes: dict[int, list[IndexData]]) -> None:  # noqa: ARG002
        """Read one index record from the current position."""
        assert self.bio
        header = Header.read(self.bio, RecordType.IDXDATA)
        entries = np.frombuffer(read_bytes(self.bio, read_uint32(self.bio)), _ENTRY)
        part = np.empty(len(entries), INDEX)
        part["log_ns"] = entries["sec"].astype("i8") * _NS + entries["nsec"]
        part["chunk"] = pos
        part["offset"] = entries["offset"]
        part["connection"] = header.get_uint32("conn")
        self.parts.append(part)

    def load_chunk(self, pos: int) -> bytes:
        """Read and decompress one chunk."""
        assert self.bio
        chunk = self.chunks[pos]
        self.bio.seek(chunk.datapos)
        return chunk.decompressor(read_bytes(self.bio, chunk.datasize))

    def scan(self) -> int:
        """Make connections and index from the chunks themselves; return where sense ends."""
        self.bio = self.path.open("rb")
        self.connections, self.chunks, self.parts = [], {}, []
        known: set[int] = set()
        size = self.path.stat().st_size
        pos = _PREAMBLE_BYTES
        while pos < size:
            self.bio.seek(pos)
            try:
                operation = Header.read(self.bio).get_uint8("op")
                end = self.bio.tell() + 4 + read_uint32(self.bio)
            except DAMAGE:
                return pos
            if end > size:
                return pos
            if operation == RecordType.CHUNK:
                with suppress(*DAMAGE):  # the next one may be intact
                    self.bio.seek(pos)
                    self.chunks[pos] = self.read_chunk()
                    self._scan_chunk(pos, self.load_chunk(pos), known)
            pos = end
        return pos

    def _scan_chunk(self, pos: int, chunk: bytes, known: set[int]) -> None:
        """Index the messages of a chunk, as far as it makes sense."""
        found = []
        try:
            for offset, fields, record in _records(chunk):
                connection = int.from_bytes(fields[b"conn"], "little")
                if fields[b"op"] == b"\x02":
                    sec, nsec = struct.unpack("<II", fields[b"time"])
                    found.append((sec * _NS + nsec, pos, offset, connection))
                elif fields[b"op"] == b"\x07" and connection not in known:
                    self._add_connection(record)
                    known.add(connection)
        except DAMAGE:
            pass
        self.parts.append(np.array(found, INDEX))

    def _add_connection(self, record: bytes) -> None:
        bio, self.bio = self.bio, BytesIO(record)
        try:
            self.connections.append(self.read_connection())
        finally:
            self.bio = bio


def _records(chunk: bytes) -> Iterator[tuple[int, dict[bytes, bytes], bytes]]:
    """Yield offset, header fields and the whole record, one after another."""
    view, offset = memoryview(chunk), 0
    while offset < len(view):
        header = sized(view, offset)
        data = sized(view, offset + 4 + len(header))
        end = offset + 8 + len(header) + len(data)
        yield offset, dict(_fields(header)), bytes(view[offset:end])
        offset = end


def _fields(header: memoryview) -> Iterator[tuple[bytes, bytes]]:
    offset = 0
    while offset < len(header):
        field = bytes(sized(header, offset))
        name, _, value = field.partition(b"=")
        yield name, value
        offset += 4 + len(field)


def message_at(chunk: bytes, offset: int) -> memoryview:
    """Return the payload of the message record at an offset of a chunk."""
    view = memoryview(chunk)
    while True:
        header = sized(view, offset)
        offset += 4 + len(header)
        data = sized(view, offset)
        offset += 4 + len(data)
        fields = bytes(header)
        if b"op=\x02" in fields:
            return data
        if b"op=\x07" not in fields:  # a connection record may precede its first message
            msg = "the index does not lead to a message"
            raise ReaderError(msg)


def sized(view: memoryview, offset: int) -> memoryview:
    """Return the bytes that follow their own length at an offset."""
    size = int.from_bytes(view[offset : offset + 4], "little")
    part = view[offset + 4 : offset + 4 + size]
    if len(part) != size or offset + 4 > len(view):
        msg = "a record is longer than its chunk"
        raise ReaderError(msg)
    return part
