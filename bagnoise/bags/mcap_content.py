"""Read what is in a chunk: decompress it, and find its messages and its indexes."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_compression import CorruptChunkError, crc32, decompress
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_source import Source

_IN_CHUNKS = frozenset({r.SCHEMA, r.CHANNEL, r.MESSAGE})
# times, size, checksum, the name of a compression and the length of what follows
_CHUNK_HEAD_BYTES = r.CHUNK_HEAD.size + 4 + 64 + 8


_channel_of = attrgetter("channel_id")


class Raw(NamedTuple):
    """A message record within a chunk's records."""

    channel_id: int
    sequence: int
    log_ns: int
    publish_ns: int
    start: int  # of the record
    data_start: int
    end: int


class ChunkHead(NamedTuple):
    """What a chunk's record says of it; ``records_at`` is where its compressed records begin."""

    start_ns: int
    end_ns: int
    size: int
    crc: int
    compression: str
    packed_size: int
    records_at: int


def read_head(source: Source, offset: int, length: int) -> ChunkHead:
    """Read the head of a chunk of this length.

    Raises:
        CutOffError: it does not fit.
    """
    head = r.RECORD_HEAD.size
    fields = r.Fields(source.read(offset + head, min(length - head, _CHUNK_HEAD_BYTES)))
    start_ns, end_ns, size, crc = fields.unpack(r.CHUNK_HEAD)
    name, packed_size = fields.text(), fields.u64()
    return ChunkHead(start_ns, end_ns, size, crc, name, packed_size, offset + head + fields.at)


def load(source: Source, chunk: Chunk, buffer: bytearray) -> memoryview:
    """Read and decompress a chunk's records, and check its CRC where it carries one.

    Raises:
        DamagedBagError: with file and offset.
    """
    if chunk.is_loose:
        return source.read(chunk.offset, chunk.length)
    try:
        head = read_head(source, chunk.offset, chunk.length)
        if head.packed_size > chunk.end - head.records_at:
            msg = f"{head.packed_size} bytes of records do not fit it"
            raise r.CutOffError(msg)  # noqa: TRY301
        if head.compression == "" and head.size == head.packed_size:
            records = source.read_into(buffer, head.records_at, head.size)
        else:
            packed = source.read_reused(head.records_at, head.packed_size)
            records = decompress(packed, head.compression, head.size, buffer)
    except (r.CutOffError, CorruptChunkError) as error:
        raise damaged(source, chunk, error) from None
    if head.crc and crc32(records) != head.crc:
        raise damaged(source, chunk, CorruptChunkError("its checksum is wrong"))
    return records


def damaged(source: Source, chunk: Chunk, error: Exception) -> DamagedBagError:
    """Say which chunk is damaged, and how."""
    what = "records" if chunk.is_loose else "chunk"
    return DamagedBagError(f"{source.path}: {what} at byte {chunk.offset}: {error}")


def records_of(records: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """Yield (opcode, record start, body start, end) of records.

    Raises:
        CutOffError: the last one is cut off.
    """
    at, end = 0, len(records)
    head, unpack = r.RECORD_HEAD.size, r.RECORD_HEAD.unpack_from
    while at < end:
        if at + head > end:
            msg = f"a record is cut off at its byte {at}"
            raise r.CutOffError(msg)
        opcode, length = unpack(records, at)
        stop = at + head + length
        if stop > end:
            msg = f"a record of {length} bytes is cut off at its byte {at}"
            raise r.CutOffError(msg)
        yield opcode, at, at + head, stop
        at = stop


def records_between(records: memoryview) -> Iterator[tuple[int, int, int, int]]:
    """Yield messages and what may stand between them, as `records_of` does.

    Raises:
        CutOffError: there is anything else: what follows has no meaning.
    """
    for opcode, start, body, end in records_of(records):
        if opcode not in _IN_CHUNKS and opcode < r.PRIVATE:
            msg = f"a record of kind {opcode} at its byte {start}, among messages"
            raise r.CutOffError(msg)
        yield opcode, start, body, end


def messages_of(source: Source, chunk: Chunk, records: memoryview) -> list[Raw]:
    """Find all messages in the order in which they stand.

    Raises:
        DamagedBagError: they are not as many, or not of the times, that were counted.
    """
    told = chunk.counts
    try:
        found = [
            raw_message(records, start, body, end)
            for opcode, start, body, end in records_between(records)
            if opcode == r.MESSAGE
        ]
        if not chunk.is_whole:
            found = [raw for raw in found if raw.channel_id in told]
        counts = Counter(map(_channel_of, found))
        if counts != told:
            msg = f"it holds messages {dict(counts)} by channel id, its indexes say {told}"
            raise r.CutOffError(msg)  # noqa: TRY301
        times = [raw.log_ns for raw in found]
        if found and (min(times), max(times)) != (chunk.start_ns, chunk.end_ns):
            msg = f"it holds messages from {min(times)} to {max(times)} ns, its indexes say others"
            raise r.CutOffError(msg)  # noqa: TRY301
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    return found


def raw_message(records: memoryview, start: int, body: int, end: int) -> Raw:
    """Read a message's head."""
    data_start = body + r.MESSAGE_HEAD.size
    if data_start > end:
        msg = f"a message is cut off at its byte {start}"
        raise r.CutOffError(msg)
    id_, sequence, log_ns, publish_ns = r.MESSAGE_HEAD.unpack_from(records, body)
    return Raw(id_, sequence, log_ns, publish_ns, start, data_start, end)


def indexed_messages(
    source: Source, chunk: Chunk, records: memoryview, channel_ids: set[int]
) -> list[Raw]:
    """Find the messages of some channels by the chunk's indexes, in the order they stand in.

    Raises:
        CutOffError: an index points to what is no such message.
    """
    found = []
    for id_, _, pairs in message_indexes(source, chunk):
        if id_ not in channel_ids:
            continue
        for log_ns, offset in pairs.tolist():
            found.append(message_at(records, offset, id_, log_ns))
    found.sort(key=lambda raw: raw.start)
    return found


def message_at(
    records: memoryview, offset: int, channel_id: int, log_ns: int, told: int | None = None
) -> Raw:
    """Read the message that an index tells of, at an offset (``told``: the index's own).

    Raises:
        CutOffError: it is not there.
    """
    body = offset + r.RECORD_HEAD.size
    if body <= len(records):
        opcode, length = r.RECORD_HEAD.unpack_from(records, offset)
        if opcode == r.MESSAGE and body + length <= len(records):
            raw = raw_message(records, offset, body, body + length)
            if (raw.channel_id, raw.log_ns) == (channel_id, log_ns):
                return raw
    where = offset if told is None else told
    msg = f"a message index points to byte {where}, where its message is not"
    raise r.CutOffError(msg)


def message_indexes(source: Source, chunk: Chunk) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield (channel id, where, (n, 2) uint64 of time and offset) of a chunk's message indexes.

    Raises:
        CutOffError: they are cut off.
    """
    data = source.read(chunk.end, chunk.index_length)
    for opcode, start, body, end in records_of(data):
        if opcode != r.MESSAGE_INDEX:
            msg = "there is something else in the place of its message indexes"
            raise r.CutOffError(msg)
        id_, pairs = r.read_message_index(data[body:end])
        yield id_, chunk.end + start, np.frombuffer(pairs, "<u8").reshape(-1, 2)
