"""What an MCAP file holds and where: from its summary if that is sane, else by going through it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_content import damaged, load, message_indexes, raw_message, records_between
from bagnoise.bags.model import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_source import Source


@dataclass
class Layout:
    """A file's contents by its own ids; offsets are (offset, length with head) of records.

    Attributes:
        problem: why the summary could not be used, if it could not.
        is_checked: schemas and channels are from a summary whose checksum is right.
        data_end: where the data section ends.
        is_trusted: all is as the summary says, which was not compared with the data section; what
            chunks hold of each channel is not known.
        lost: messages of chunks that could not be read: (channel id, count, span).
    """

    profile: str = ""
    library: str = ""
    schemas: dict[int, r.SchemaRecord] = field(default_factory=dict)
    channels: dict[int, r.ChannelRecord] = field(default_factory=dict)
    chunks: list[Chunk] = field(default_factory=list)
    attachments: list[tuple[int, int]] = field(default_factory=list)
    metadata: list[tuple[int, int]] = field(default_factory=list)
    statistics: r.StatisticsRecord | None = None
    warnings: list[str] = field(default_factory=list)
    problem: str | None = None
    is_checked: bool = False
    fingerprint: str = ""
    is_trusted: bool = False
    data_end: int = 0
    lost: list[tuple[int, int, Span]] = field(default_factory=list)

    def warn(self, text: str) -> None:
        """Note what the user should know, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def add(self, opcode: int, body: memoryview) -> None:
        """Take a schema or channel; of two channels that differ in metadata the first counts.

        Raises:
            CutOffError: it cannot be read, or its id means something else already.
        """
        if opcode == r.SCHEMA:
            schema = r.read_schema(body)
            if schema.id == r.NO_SCHEMA_ID:
                self.warn(f"schema {schema.name!r} has the id 0, which means none: it is left out")
            elif self.schemas.setdefault(schema.id, schema) != schema:
                msg = f"schema {schema.id} is {schema.name!r}, and something else before"
                raise r.CutOffError(msg)
        elif opcode == r.CHANNEL:
            self._add_channel(r.read_channel(body))

    def _add_channel(self, channel: r.ChannelRecord) -> None:
        known = self.channels.setdefault(channel.id, channel)
        if known == channel:
            return
        if replace(known, metadata={}) != replace(channel, metadata={}):
            msg = f"channel {channel.id} is {channel.topic!r}, and {known.topic!r} before"
            raise r.CutOffError(msg)
        text = f"topic {known.topic}: its channel is repeated with other metadata; the first counts"
        self.warn(text)

    def counts(self) -> dict[int, int]:
        """Count the messages by the file's channel ids."""
        if self.is_trusted:
            assert self.statistics is not None
            return dict(self.statistics.counts)
        found: dict[int, int] = {}
        for chunk in self.chunks:
            for id_, count in chunk.counts.items():
                found[id_] = found.get(id_, 0) + count
        return found


def count_by_content(source: Source, layout: Layout, chunk: Chunk) -> None:
    """Decompress a chunk, count its messages, and learn its schemas and channels.

    Raises:
        DamagedBagError: it cannot be read.
    """
    head = r.Fields(source.body(chunk.offset, chunk.length))
    chunk.hold(())
    chunk.is_sound = False
    try:
        *_, chunk.uncompressed_bytes, _ = head.unpack(r.CHUNK_HEAD)
        chunk.compression = head.text()
        chunk.compressed_bytes = head.u64()
        records = load(source, chunk, bytearray())
        for opcode, start, body, end in records_between(records):
            if opcode == r.MESSAGE:
                raw = raw_message(records, start, body, end)
                chunk.note(raw.channel_id, raw.log_ns)
            else:
                layout.add(opcode, records[body:end])
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    chunk.settle()


def count_by_index(source: Source, layout: Layout, chunk: Chunk) -> bool:
    """Count a chunk's messages by its message indexes; False if these cannot tell all.

    Raises:
        DamagedBagError: what is in their place is something else.
    """
    places: list[int] = []
    offsets: dict[int, int] = {}
    rows = []
    try:
        for id_, at, pairs in message_indexes(source, chunk):
            if not len(pairs):
                continue
            if id_ in offsets or id_ not in layout.channels:
                return False
            offsets[id_] = at
            rows.append((id_, len(pairs), int(pairs[:, 0].min()), int(pairs[:, 0].max())))
            places += pairs[:, 1].tolist()
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    if len(set(places)) < len(places) or max(places, default=0) >= chunk.uncompressed_bytes:
        return False
    claimed = chunk.start_ns, chunk.end_ns
    chunk.index_offsets = offsets
    chunk.hold(rows)
    chunk.settle()
    return bool(places) and claimed == (chunk.start_ns, chunk.end_ns)


def indexed_span(source: Source, chunks: Sequence[Chunk], id_: int) -> Span | None:
    """Find a channel's first and last time by the indexes of its first and last chunks only.

    Raises:
        DamagedBagError: an index cannot be read.
    """
    mine = [chunk for chunk in chunks if id_ in chunk.index_offsets]
    start_ns, end_ns = None, None
    for chunk in sorted(mine, key=lambda chunk: chunk.start_ns):
        if start_ns is not None and chunk.start_ns >= start_ns:
            break
        found = _indexed_times(source, chunk, id_)
        if len(found):
            start_ns = min(int(found.min()), start_ns or int(found.min()))
    for chunk in sorted(mine, key=lambda chunk: -chunk.end_ns):
        if end_ns is not None and chunk.end_ns <= end_ns:
            break
        found = _indexed_times(source, chunk, id_)
        if len(found):
            end_ns = max(int(found.max()), end_ns or 0)
    return None if start_ns is None or end_ns is None else Span(start_ns, end_ns)


def _indexed_times(source: Source, chunk: Chunk, id_: int) -> np.ndarray:
    try:
        found = [pairs[:, 0] for one, _, pairs in message_indexes(source, chunk) if one == id_]
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    return np.concatenate(found) if found else np.empty(0, "u8")


def compare_statistics(source: Source, layout: Layout) -> None:
    """Say where the file's statistics disagree with what is there."""
    statistics = layout.statistics
    if statistics is None:
        return
    found = layout.counts()
    total = sum(found.values())
    if total != statistics.message_count:
        layout.warn(
            f"{source.path}: its statistics count {statistics.message_count} messages, "
            f"there are {total}"
        )
    for id_, count in statistics.counts.items():
        if count != found.get(id_, 0):
            name = layout.channels[id_].topic if id_ in layout.channels else f"channel {id_}"
            layout.warn(
                f"{source.path}: its statistics count {count} messages on {name}, "
                f"there are {found.get(id_, 0)}"
            )
