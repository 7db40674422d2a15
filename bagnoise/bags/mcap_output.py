"""An MCAP file being written: chunks, made or copied, then indexes and summary."""

from __future__ import annotations

import os
import struct
from array import array
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from bagnoise.bags import mcap_records as r
from bagnoise.bags.file_copy import copy_in_kernel
from bagnoise.bags.mcap_compression import Compression, compress, crc32
from bagnoise.bags.model import Span

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_source import Source
    from bagnoise.bags.model import Attachment, Channel, MetadataRecord

_COPY_BYTES = 1 << 24
_READ_BYTES = 1 << 22  # where they have to go through memory
_RUN_BYTES = 1 << 24  # of chunks that are copied at once
_MAX_WAITING = 64  # so that progress is told about when it is made
_ATTACHMENT_HEAD = struct.Struct("<QQ")
_U64, _U32 = struct.Struct("<Q"), struct.Struct("<I")


@dataclass
class ChunkBuilder:
    """Messages on their way into one chunk; the index pairs are (time, offset) in file order."""

    parts: list[bytes | memoryview] = field(default_factory=list)
    size: int = 0
    pairs: dict[int, array[int]] = field(default_factory=dict)
    start_ns: int = 0
    end_ns: int = 0

    def add(self, channel_id: int, log_ns: int, *parts: bytes | memoryview) -> None:
        """Append a message record, given in parts."""
        if not self.pairs:
            self.start_ns = self.end_ns = log_ns
        elif log_ns < self.start_ns:
            self.start_ns = log_ns
        elif log_ns > self.end_ns:
            self.end_ns = log_ns
        pairs = self.pairs.get(channel_id)
        if pairs is None:
            pairs = self.pairs[channel_id] = array("Q")
        pairs.extend((log_ns, self.size))
        self.parts.extend(parts)
        self.size += sum(map(len, parts))


def message_parts(
    channel_id: int, sequence: int, log_ns: int, publish_ns: int, data: bytes | memoryview
) -> tuple[bytes, bytes | memoryview]:
    """Build a message record in parts, its data uncopied."""
    head = r.RECORD_HEAD.pack(r.MESSAGE, r.MESSAGE_HEAD.size + len(data))
    return head + r.MESSAGE_HEAD.pack(channel_id, sequence, log_ns, publish_ns), data


class _Made(NamedTuple):
    """A chunk ready to be written."""

    record: list[bytes | memoryview]
    uncompressed_bytes: int
    compressed_bytes: int
    indexes: dict[int, bytes]
    counts: dict[int, int]
    start_ns: int
    end_ns: int
    compression: str


class _Waiting(NamedTuple):
    """A chunk that the writing thread has been given, and what is to be called once it is done."""

    written: Future[None]
    then: Callable[[], None]
    is_made: bool  # and so takes memory; copies take none


class McapOutput:
    """Writes parts in the order they are given, chunks in a thread of its own.

    Chunks are compressed in further threads meanwhile. The file and its indexes belong to the
    writing thread while it has anything to do, else to the caller, who waits for it (`_drain`).
    """

    def __init__(self, path: Path, *, profile: str, library: str, workers: int = 1) -> None:
        """Create the file."""
        self._file = path.open("wb", buffering=1 << 16)
        self._at = 0
        self._executor = ThreadPoolExecutor(workers, "bagnoise-compress")
        self._writer = ThreadPoolExecutor(1, "bagnoise-write")
        self._limit = workers + 1
        self._waiting: deque[_Waiting] = deque()
        self._being_made = 0  # of what waits; copies cost no memory
        self._run: list[Chunk] = []  # to be copied, one after the other in their file
        self._run_source: Source | None = None
        self._schemas: dict[int, r.SchemaRecord] = {}
        self._channels: dict[int, r.ChannelRecord] = {}
        self._chunk_indexes: list[bytes] = []
        self._span: Span | None = None
        self._attachment_indexes: list[bytes] = []
        self._metadata_indexes: list[bytes] = []
        self._counts: dict[int, int] = {}
        self._put(r.MAGIC)
        self._put(r.record(r.HEADER, r.text(profile), r.text(library)))

    def add_schema(self, schema: r.SchemaRecord) -> None:
        """Write a schema, unless it is there."""
        if schema.id not in self._schemas:
            self._drain()
            self._schemas[schema.id] = schema
            self._put(r.build_schema(schema))

    def add_channel(self, channel: r.ChannelRecord) -> None:
        """Write a channel."""
        self._drain()
        self._channels[channel.id] = channel
        self._put(r.build_channel(channel))

    def add_chunk(
        self,
        builder: ChunkBuilder,
        how: Compression,
        then: Callable[[], None] = lambda: None,
    ) -> None:
        """Write a chunk that is compressed meanwhile.

        ``then`` is called here, by a later call, once the chunk has been written.
        """
        if not builder.pairs:
            then()
            return
        self._close_run()
        made = self._executor.submit(_make_chunk, builder, how)
        written = self._writer.submit(lambda: self._write_made(made.result()))
        self._waiting.append(_Waiting(written, then, is_made=True))
        self._being_made += 1
        self._take_what_is_written()

    def copy_chunk(self, source: Source, chunk: Chunk) -> None:
        """Write a chunk and its message indexes as they are, with those that follow it."""
        if not self._follows_run(source, chunk):
            self._close_run()
            self._run_source = source
        self._run.append(chunk)
        if source.takes_advice or _whole_end(chunk) - self._run[0].offset >= _RUN_BYTES:
            self._close_run()

    def _follows_run(self, source: Source, chunk: Chunk) -> bool:
        is_next = bool(self._run) and _whole_end(self._run[-1]) == chunk.offset
        return is_next and source is self._run_source

    def _close_run(self) -> None:
        """Let the chunks be copied that stand one after the other."""
        if not self._run:
            return
        assert self._run_source is not None
        run, self._run = self._run, []
        written = self._writer.submit(self._copy_run, self._run_source, run)
        self._waiting.append(_Waiting(written, lambda: None, is_made=False))
        self._take_what_is_written()

    def _copy_run(self, source: Source, run: list[Chunk]) -> None:
        start = run[0].offset
        shift = self._at - start
        self._copy(source, start, _whole_end(run[-1]) - start)
        for chunk in run:
            self._note_copy(chunk, shift)

    def _note_copy(self, chunk: Chunk, shift: int) -> None:
        offsets = {id_: at + shift for id_, at in chunk.index_offsets.items()}
        self._note_chunk(
            r.ChunkIndexRecord(
                chunk.start_ns,
                chunk.end_ns,
                chunk.offset + shift,
                chunk.length,
                offsets,
                chunk.index_length,
                chunk.compression,
                chunk.compressed_bytes,
                chunk.uncompressed_bytes,
            ),
            chunk.counts,
        )

    def add_attachment(self, attachment: Attachment) -> None:
        """Write an attachment."""
        self._drain()
        times = _ATTACHMENT_HEAD.pack(attachment.log_ns, attachment.create_ns)
        names = r.text(attachment.name) + r.text(attachment.media_type)
        size = _U64.pack(len(attachment.data))
        body = times + names + size + attachment.data
        whole = r.record(r.ATTACHMENT, body, _U32.pack(crc32(body)))
        place = _ATTACHMENT_HEAD.pack(self._at, len(whole))
        self._attachment_indexes.append(r.record(r.ATTACHMENT_INDEX, place + times + size + names))
        self._put(whole)

    def add_metadata(self, record: MetadataRecord) -> None:
        """Write a metadata record."""
        self._drain()
        whole = r.record(r.METADATA, r.text(record.name), r.text_map(record.values))
        place = _ATTACHMENT_HEAD.pack(self._at, len(whole))
        self._metadata_indexes.append(r.record(r.METADATA_INDEX, place + r.text(record.name)))
        self._put(whole)

    def finish(self) -> None:
        """Write what is still waiting, the summary and the footer, and close the file."""
        self._drain()
        self._put(r.record(r.DATA_END, _U32.pack(0)))
        summary_at = self._at
        groups = [
            (r.SCHEMA, [r.build_schema(schema) for schema in self._schemas.values()]),
            (r.CHANNEL, [r.build_channel(channel) for channel in self._channels.values()]),
            (r.STATISTICS, [r.build_statistics(self._statistics())]),
            (r.CHUNK_INDEX, self._chunk_indexes),
            (r.ATTACHMENT_INDEX, self._attachment_indexes),
            (r.METADATA_INDEX, self._metadata_indexes),
        ]
        summary, offsets = [], []
        at = summary_at
        for opcode, records in groups:
            body = b"".join(records)
            if body:
                place = bytes((opcode,)) + _ATTACHMENT_HEAD.pack(at, len(body))
                offsets.append(r.record(r.SUMMARY_OFFSET, place))
            summary.append(body)
            at += len(body)
        whole = b"".join((*summary, *offsets))
        head = r.RECORD_HEAD.pack(r.FOOTER, r.FOOTER_BODY.size) + _ATTACHMENT_HEAD.pack(
            summary_at, at
        )
        self._put(whole + head + _U32.pack(crc32(whole + head)) + r.MAGIC)
        self._file.close()
        self._shut_down()

    @property
    def span(self) -> Span | None:
        """First and last log time of what has been written."""
        return self._span

    def abort(self) -> None:
        """Let go of the file."""
        self._shut_down(cancel=True)
        self._file.close()

    def _shut_down(self, *, cancel: bool = False) -> None:
        self._executor.shutdown(cancel_futures=cancel)
        self._writer.shutdown(cancel_futures=cancel)

    def _statistics(self) -> r.StatisticsRecord:
        return r.StatisticsRecord(
            sum(self._counts.values()),
            len(self._schemas),
            len(self._channels),
            len(self._attachment_indexes),
            len(self._metadata_indexes),
            len(self._chunk_indexes),
            self.span.start_ns if self.span else 0,
            self.span.end_ns if self.span else 0,
            {id_: self._counts.get(id_, 0) for id_ in self._channels},
        )

    def _put(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._at += len(data)

    def _drain(self) -> None:
        self._close_run()
        while self._waiting:
            self._take_written()

    def _take_what_is_written(self) -> None:
        """Wait while too much is waiting, and no longer."""
        while self._waiting and (
            self._being_made > self._limit
            or len(self._waiting) > _MAX_WAITING
            or self._waiting[0].written.done()
        ):
            self._take_written()

    def _take_written(self) -> None:
        """Wait for the next chunk to be written, and raise what went wrong with it."""
        waiting = self._waiting.popleft()
        self._being_made -= waiting.is_made
        waiting.written.result()
        waiting.then()

    def _write_made(self, made: _Made) -> None:
        offset = self._at
        for part in made.record:
            self._put(part)
        length = self._at - offset
        offsets = {}
        for id_, index in made.indexes.items():
            offsets[id_] = self._at
            self._put(index)
        self._note_chunk(
            r.ChunkIndexRecord(
                made.start_ns,
                made.end_ns,
                offset,
                length,
                offsets,
                self._at - offset - length,
                made.compression,
                made.compressed_bytes,
                made.uncompressed_bytes,
            ),
            made.counts,
        )

    def _note_chunk(self, index: r.ChunkIndexRecord, counts: dict[int, int]) -> None:
        self._chunk_indexes.append(r.build_chunk_index(index))  # bytes take the least memory
        span = self._span or Span(index.start_ns, index.end_ns)
        self._span = Span(min(span.start_ns, index.start_ns), max(span.end_ns, index.end_ns))
        for id_, count in counts.items():
            self._counts[id_] = self._counts.get(id_, 0) + count

    def _copy(self, source: Source, offset: int, count: int) -> None:
        """Copy a range within the kernel where it can, else through memory."""
        self._file.flush()
        source.fetch(offset, count)
        end = offset + count
        while offset < end:
            step = min(end - offset, _COPY_BYTES)
            done = copy_in_kernel(source.fd, offset, step, self._file.fileno())
            if done is None:
                data = source.read(offset, min(step, _READ_BYTES))
                done = os.write(self._file.fileno(), data)
            if done == 0:
                raise source.cut_off(offset, step)
            offset += done
        self._at += count


def _whole_end(chunk: Chunk) -> int:
    """Where the last of its message indexes ends."""
    return chunk.end + chunk.index_length


def _make_chunk(builder: ChunkBuilder, how: Compression) -> _Made:
    """Compress a chunk and build its indexes."""
    records = b"".join(builder.parts)
    builder.parts.clear()
    packed = compress(records, how)
    name = r.text(how.name)
    head = r.RECORD_HEAD.pack(
        r.CHUNK, r.CHUNK_HEAD.size + len(name) + _U64.size + len(packed)
    ) + r.CHUNK_HEAD.pack(builder.start_ns, builder.end_ns, len(records), crc32(records))
    return _Made(
        [head + name + _U64.pack(len(packed)), packed],
        len(records),
        len(packed),
        {id_: r.build_message_index(id_, _sorted(pairs)) for id_, pairs in builder.pairs.items()},
        {id_: len(pairs) // 2 for id_, pairs in builder.pairs.items()},
        builder.start_ns,
        builder.end_ns,
        how.name,
    )


def _sorted(pairs: array[int]) -> bytes:
    """Return index pairs by time, ties by offset; they nearly always are in order."""
    times = pairs[::2]
    if any(later < earlier for earlier, later in pairwise(times)):
        ordered = sorted(zip(times, pairs[1::2], strict=True))
        pairs = array("Q", [number for pair in ordered for number in pair])
    if struct.pack("=H", 1) != struct.pack("<H", 1):
        pairs = pairs[:]
        pairs.byteswap()
    return pairs.tobytes()


def channel_record(channel: Channel, id_: int, schema_id: int) -> r.ChannelRecord:
    """Describe a channel by ids of the file."""
    return r.ChannelRecord(
        id_, schema_id, channel.topic, channel.message_encoding, dict(channel.metadata)
    )
