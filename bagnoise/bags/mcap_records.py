"""MCAP records as bytes: https://mcap.dev/spec. Every length is checked against what is there."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
ATTACHMENT, ATTACHMENT_INDEX, STATISTICS, METADATA, METADATA_INDEX = range(9, 14)
SUMMARY_OFFSET, DATA_END = 14, 15
NO_SCHEMA_ID = 0
KNOWN = frozenset(range(1, 16))
PRIVATE = 0x80  # kinds from here on are anybody's own

RECORD_HEAD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<HIQQ")
CHUNK_HEAD = struct.Struct("<QQQI")
FOOTER_BODY = struct.Struct("<QQI")
FOOTER_BYTES = RECORD_HEAD.size + FOOTER_BODY.size + len(MAGIC)
_U16, _U32, _U64 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_INDEX_HEAD = struct.Struct("<HI")
_CHUNK_INDEX = struct.Struct("<QQQQ")
_STATISTICS = struct.Struct("<QHIIIIQQ")


class CutOffError(Exception):
    """A record says it holds more than it does; whoever knows the file and offset says where."""


class Fields:
    """A cursor over the fields of one record."""

    def __init__(self, data: bytes | memoryview) -> None:
        """Start at the first field."""
        self.data = memoryview(data)
        self.at = 0

    def take(self, count: int) -> memoryview:
        """Return the next bytes."""
        end = self.at + count
        if end > len(self.data):
            msg = f"a field of {count} bytes does not fit its record"
            raise CutOffError(msg)
        part, self.at = self.data[self.at : end], end
        return part

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        """Read numbers."""
        return layout.unpack(self.take(layout.size))

    def u16(self) -> int:
        """Read a 16-bit number."""
        return self.unpack(_U16)[0]

    def u32(self) -> int:
        """Read a 32-bit number."""
        return self.unpack(_U32)[0]

    def u64(self) -> int:
        """Read a 64-bit number."""
        return self.unpack(_U64)[0]

    def text(self) -> str:
        """Read a string; bytes that are not UTF-8 survive as surrogates."""
        return bytes(self.take(self.u32())).decode("utf-8", "surrogateescape")

    def text_map(self) -> dict[str, str]:
        """Read a map of strings."""
        inner = Fields(self.take(self.u32()))
        found = {}
        while inner.at < len(inner.data):
            key = inner.text()
            found[key] = inner.text()
        return found


@dataclass(frozen=True)
class SchemaRecord:
    """A definition, by its id in the file."""

    id: int
    name: str
    encoding: str
    data: bytes


@dataclass(frozen=True)
class ChannelRecord:
    """A channel, by its id in the file; ``schema_id`` 0 means it has none."""

    id: int
    schema_id: int
    topic: str
    message_encoding: str
    metadata: Mapping[str, str] = field(hash=False)


@dataclass(frozen=True)
class ChunkIndexRecord:
    """Where a chunk and its message indexes lie, and what times it spans."""

    start_ns: int
    end_ns: int
    offset: int
    length: int
    index_offsets: Mapping[int, int]
    index_length: int
    compression: str
    compressed_bytes: int
    uncompressed_bytes: int


@dataclass(frozen=True)
class StatisticsRecord:
    """What a file says it holds."""

    message_count: int
    schema_count: int
    channel_count: int
    attachment_count: int
    metadata_count: int
    chunk_count: int
    start_ns: int
    end_ns: int
    counts: Mapping[int, int]


def record(opcode: int, *parts: bytes | memoryview) -> bytes:
    """Build a record."""
    return b"".join((RECORD_HEAD.pack(opcode, sum(map(len, parts))), *parts))


def text(value: str) -> bytes:
    """Build a string field."""
    raw = value.encode("utf-8", "surrogateescape")
    return _U32.pack(len(raw)) + raw


def text_map(values: Mapping[str, str]) -> bytes:
    """Build a map of strings."""
    raw = b"".join(text(key) + text(value) for key, value in values.items())
    return _U32.pack(len(raw)) + raw


def read_schema(data: memoryview) -> SchemaRecord:
    """Read a schema."""
    fields = Fields(data)
    id_ = fields.u16()
    return SchemaRecord(id_, fields.text(), fields.text(), bytes(fields.take(fields.u32())))


def build_schema(schema: SchemaRecord) -> bytes:
    """Build a schema."""
    head = _U16.pack(schema.id) + text(schema.name) + text(schema.encoding)
    return record(SCHEMA, head, _U32.pack(len(schema.data)), schema.data)


def read_channel(data: memoryview) -> ChannelRecord:
    """Read a channel."""
    fields = Fields(data)
    id_, schema_id = fields.u16(), fields.u16()
    return ChannelRecord(id_, schema_id, fields.text(), fields.text(), fields.text_map())


def build_channel(channel: ChannelRecord) -> bytes:
    """Build a channel."""
    head = _U16.pack(channel.id) + _U16.pack(channel.schema_id)
    named = text(channel.topic) + text(channel.message_encoding)
    return record(CHANNEL, head, named, text_map(channel.metadata))


def read_chunk_index(data: memoryview) -> ChunkIndexRecord:
    """Read a chunk index."""
    fields = Fields(data)
    start_ns, end_ns, offset, length = fields.unpack(_CHUNK_INDEX)
    inner = Fields(fields.take(fields.u32()))
    offsets = {}
    while inner.at < len(inner.data):
        id_ = inner.u16()
        offsets[id_] = inner.u64()
    index_length = fields.u64()
    compression = fields.text()
    sizes = fields.u64(), fields.u64()
    return ChunkIndexRecord(
        start_ns, end_ns, offset, length, offsets, index_length, compression, *sizes
    )


def build_chunk_index(index: ChunkIndexRecord) -> bytes:
    """Build a chunk index."""
    offsets = b"".join(_U16.pack(i) + _U64.pack(at) for i, at in index.index_offsets.items())
    return record(
        CHUNK_INDEX,
        _CHUNK_INDEX.pack(index.start_ns, index.end_ns, index.offset, index.length),
        _U32.pack(len(offsets)) + offsets + _U64.pack(index.index_length),
        text(index.compression),
        _U64.pack(index.compressed_bytes) + _U64.pack(index.uncompressed_bytes),
    )


def read_message_index(data: memoryview) -> tuple[int, memoryview]:
    """Read a message index: channel id, and (time, offset) pairs as raw bytes."""
    fields = Fields(data)
    id_, length = fields.unpack(_INDEX_HEAD)
    if length % 16 or length != len(data) - fields.at:
        msg = f"a message index of {length} bytes is not made of pairs, or does not fill its record"
        raise CutOffError(msg)
    return id_, fields.take(length)


def build_message_index(channel_id: int, pairs: bytes) -> bytes:
    """Build a message index from (time, offset) pairs as raw bytes."""
    return record(MESSAGE_INDEX, _INDEX_HEAD.pack(channel_id, len(pairs)), pairs)


def read_statistics(data: memoryview) -> StatisticsRecord:
    """Read statistics."""
    fields = Fields(data)
    messages, schemas, channels, attachments, metadata, chunks, start_ns, end_ns = fields.unpack(
        _STATISTICS
    )
    inner = Fields(fields.take(fields.u32()))
    counts = {}
    while inner.at < len(inner.data):
        id_ = inner.u16()
        counts[id_] = inner.u64()
    return StatisticsRecord(
        messages, schemas, channels, attachments, metadata, chunks, start_ns, end_ns, counts
    )


def build_statistics(statistics: StatisticsRecord) -> bytes:
    """Build statistics."""
    s = statistics
    counts = b"".join(_U16.pack(i) + _U64.pack(count) for i, count in s.counts.items())
    numbers = _STATISTICS.pack(
        s.message_count,
        s.schema_count,
        s.channel_count,
        s.attachment_count,
        s.metadata_count,
        s.chunk_count,
        s.start_ns,
        s.end_ns,
    )
    return record(STATISTICS, numbers, _U32.pack(len(counts)), counts)
