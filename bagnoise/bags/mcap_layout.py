"""What an MCAP file holds and where: from its summary if that is sane, else by going through it."""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_chunk import (
    Chunk,
    check_opcode,
    damaged,
    load,
    message_indexes,
    raw_message,
    records_of,
)
from bagnoise.bags.mcap_compression import crc32
from bagnoise.bags.mcap_coverage import count_messages, counts_agree, covers
from bagnoise.bags.model import Span
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_source import Source

_CRC = struct.Struct("<I")
_LOOSE_BYTES = 1 << 20  # loose messages are handled in stretches of about a chunk


@dataclass
class Layout:
    """A file's contents by its own ids; offsets are (offset, length with head) of records.

    Attributes:
        problem: why the summary could not be used, if it could not.
        data_end: where the data section ends.
        is_lossy: something damaged was left out.
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
    fingerprint: str = ""
    data_end: int = 0
    is_lossy: bool = False

    @property
    def message_count(self) -> int:
        """How many messages were found."""
        return sum(sum(chunk.counts.values()) for chunk in self.chunks)

    def add(self, opcode: int, body: memoryview) -> None:
        """Take a schema or channel; of two channels that differ in metadata the first counts.

        Raises:
            CutOffError: it cannot be read, or its id means something else already.
        """
        if opcode == r.SCHEMA:
            schema = r.read_schema(body)
            if self.schemas.setdefault(schema.id, schema) != schema:
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
        if text not in self.warnings:
            self.warnings.append(text)


def read_layout(source: Source, *, recover: bool = False) -> Layout:
    """Find out what a file holds.

    Raises:
        DamagedBagError: it is cut off or altered; with ``recover`` only if nothing can be read.
    """
    layout = Layout()
    bad_header: DamagedBagError | None = None
    data_start = 0
    try:
        data_start = _read_header(source, layout)
    except DamagedBagError as error:  # the summary may tell where everything is
        if not recover:
            raise
        bad_header = error
        layout.warnings.append(f"{error}; profile and library are lost")
    try:
        if _read_summary(source, layout, data_start, recover=recover):
            return layout
    except (r.CutOffError, DamagedBagError) as error:
        layout.problem = str(error)
        if not recover:
            raise _named(source, error) from None
    if bad_header is not None:
        if not layout.message_count:
            raise bad_header
        return layout
    scanned = Layout(layout.profile, layout.library)
    scanned.problem = layout.problem
    scanned.statistics = layout.statistics
    scanned.data_end = layout.data_end if layout.problem is None else 0
    _scan(source, scanned, data_start, recover=recover)
    if layout.problem is None:  # channels without messages may stand in the summary only
        scanned.schemas = {**layout.schemas, **scanned.schemas}
        scanned.channels = {**layout.channels, **scanned.channels}
    _compare(source, scanned)
    scanned.fingerprint = layout.fingerprint or _file_hash(source)
    # a scan that met damage may have lost its way in the file; a summary that was read has not
    return layout if scanned.is_lossy and layout.message_count else scanned


def _named(source: Source, error: Exception) -> DamagedBagError:
    if isinstance(error, DamagedBagError):
        return error
    return DamagedBagError(f"{source.path}: its summary is damaged: {error}")


def _read_header(source: Source, layout: Layout) -> int:
    """Read magic and header; return where the data begins."""
    start = len(r.MAGIC)
    if bytes(source.peek(0, start)) != r.MAGIC:
        msg = f"{source.path}: does not begin as an MCAP file"
        raise DamagedBagError(msg)
    opcode, offset, length = next(source.records(start, source.size), (0, start, 0))
    if opcode != r.HEADER:
        msg = f"{source.path}: no header at byte {start}"
        raise DamagedBagError(msg)
    try:
        fields = r.Fields(source.body(offset, length))
        layout.profile, layout.library = fields.text(), fields.text()
    except r.CutOffError as error:
        msg = f"{source.path}: its header at byte {start} is damaged: {error}"
        raise DamagedBagError(msg) from None
    return offset + length


def _read_summary(source: Source, layout: Layout, data_start: int, *, recover: bool) -> bool:
    """Fill the layout from the summary; False if there is none that tells all.

    Raises:
        DamagedBagError, CutOffError: it is damaged or the file is cut off.
    """
    footer_at = source.size - r.FOOTER_BYTES
    if footer_at < len(r.MAGIC):
        raise source.cut_off(footer_at, r.FOOTER_BYTES)
    tail = source.read(footer_at, r.FOOTER_BYTES)
    opcode, length = r.RECORD_HEAD.unpack_from(tail)
    if bytes(tail[-len(r.MAGIC) :]) != r.MAGIC or (opcode, length) != (
        r.FOOTER,
        r.FOOTER_BODY.size,
    ):
        msg = f"{source.path}: cut off: no footer at its end (byte {footer_at})"
        raise DamagedBagError(msg)
    summary_at, offsets_at, crc = r.FOOTER_BODY.unpack_from(tail, r.RECORD_HEAD.size)
    if summary_at == 0:
        layout.data_end = footer_at
        return False
    if not len(r.MAGIC) <= summary_at <= footer_at or (
        offsets_at and not summary_at <= offsets_at <= footer_at
    ):
        msg = f"{source.path}: its footer at byte {footer_at} points out of the file"
        raise DamagedBagError(msg)
    body = source.read(summary_at, footer_at - summary_at)
    covered = r.RECORD_HEAD.size + r.FOOTER_BODY.size - 4
    if crc and crc != crc32(bytes(body) + bytes(tail[:covered])):
        msg = f"{source.path}: the checksum of the summary at byte {summary_at} is wrong"
        raise DamagedBagError(msg)
    layout.fingerprint = hashlib.sha256(body).hexdigest()
    layout.data_end = summary_at
    _take_summary(layout, body)
    if not _is_complete(source, layout, recover=recover):
        return False
    if layout.is_lossy:  # done if only indexes are damaged: all that was counted is there
        return layout.statistics is not None and layout.message_count == (
            layout.statistics.message_count
        )
    return covers(source, layout, data_start)


def _take_summary(layout: Layout, summary: memoryview) -> None:
    for opcode, _, start, end in records_of(summary):
        body = summary[start:end]
        if opcode in {r.SCHEMA, r.CHANNEL}:
            layout.add(opcode, body)
        elif opcode == r.CHUNK_INDEX:
            index = r.read_chunk_index(body)
            layout.chunks.append(
                Chunk(
                    index.offset,
                    index.length,
                    index.start_ns,
                    index.end_ns,
                    dict(index.index_offsets),
                    index.index_length,
                    index.compression,
                    index.compressed_bytes,
                    index.uncompressed_bytes,
                )
            )
        elif opcode == r.STATISTICS:
            layout.statistics = r.read_statistics(body)
        elif opcode in {r.ATTACHMENT_INDEX, r.METADATA_INDEX}:
            fields = r.Fields(body)
            place = fields.u64(), fields.u64()
            (layout.attachments if opcode == r.ATTACHMENT_INDEX else layout.metadata).append(place)
    layout.chunks.sort(key=lambda chunk: chunk.offset)


def _is_complete(source: Source, layout: Layout, *, recover: bool) -> bool:
    """Whether the summary's chunks, with their message indexes, hold all that it counts."""
    statistics = layout.statistics
    if statistics is None:
        return False
    if not _names_all(layout, statistics):
        return False
    wanted = (statistics.chunk_count, statistics.attachment_count, statistics.metadata_count)
    if wanted != (len(layout.chunks), len(layout.attachments), len(layout.metadata)):
        return False
    intact, end = [], 0
    for chunk in layout.chunks:
        try:
            if not _check_indexed(source, layout, chunk, end):
                return False
        except DamagedBagError as error:
            if not recover:
                raise
            layout.warnings.append(str(error))
            layout.is_lossy = True
            if not _recover_chunk(source, layout, chunk, end):
                continue
        end = chunk.end + chunk.index_length
        intact.append(chunk)
    layout.chunks = intact
    return layout.is_lossy or (
        layout.message_count == statistics.message_count and counts_agree(layout, statistics)
    )


def _names_all(layout: Layout, statistics: r.StatisticsRecord) -> bool:
    """Whether no schema or channel stands in a chunk only, where a new one could get its id.

    Libmcap counts those alone that have messages: fewer than the summary names is right, too.
    """
    return statistics.channel_count <= len(layout.channels) and (
        statistics.schema_count <= len(layout.schemas)
    )


def _check_indexed(source: Source, layout: Layout, chunk: Chunk, end: int) -> bool:
    """Count a chunk of the summary; False if its indexes do not tell enough.

    Raises:
        DamagedBagError: it is not where the summary says, or its indexes are damaged.
    """
    if chunk.offset < end or not _is_there(source, layout, chunk):
        msg = (
            f"{source.path}: its summary says that a chunk of {chunk.length} bytes is at byte "
            f"{chunk.offset}, where none is"
        )
        raise DamagedBagError(msg)
    if not _count_by_index(source, layout, chunk):
        return False
    if not chunk.is_sound:  # its header or its indexes lie about times
        chunk.counts, chunk.spans = {}, {}
        _count_by_content(source, layout, chunk)
    return True


def _recover_chunk(source: Source, layout: Layout, chunk: Chunk, end: int) -> bool:
    """Count a chunk by its content, where only its indexes are damaged."""
    if chunk.offset < end or not _is_there(source, layout, chunk):
        return False
    chunk.counts, chunk.spans, chunk.is_sound = {}, {}, False
    try:
        _count_by_content(source, layout, chunk)
    except DamagedBagError:
        return False
    return bool(chunk.counts)


def _is_there(source: Source, layout: Layout, chunk: Chunk) -> bool:
    """Whether a chunk, and room for its indexes, is where the summary says."""
    if chunk.end + chunk.index_length > layout.data_end:
        return False
    opcode, length = r.RECORD_HEAD.unpack(source.peek(chunk.offset, r.RECORD_HEAD.size))
    return (opcode, length) == (r.CHUNK, chunk.length - r.RECORD_HEAD.size)


def _count_by_index(source: Source, layout: Layout, chunk: Chunk) -> bool:
    """Count a chunk's messages by its message indexes; False if it has none that tell all.

    Raises:
        DamagedBagError: what is in their place is something else.
    """
    offsets: dict[int, int] = {}
    is_twofold = False
    try:
        for id_, offset, pairs in message_indexes(source, chunk):
            is_twofold |= id_ in offsets  # a chunk index can name only one of the two
            offsets[id_] = offset
            if not len(pairs):
                continue
            times = pairs[:, 0]
            chunk.counts[id_] = chunk.counts.get(id_, 0) + len(times)
            chunk.spans[id_] = Span(int(times.min()), int(times.max()))
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    if not chunk.counts:
        return False
    claimed = chunk.start_ns, chunk.end_ns
    chunk.settle()
    known = all(id_ in layout.channels for id_ in chunk.counts)
    chunk.is_sound = known and claimed == (chunk.start_ns, chunk.end_ns) and not is_twofold
    chunk.index_offsets = offsets
    return known


def _scan(source: Source, layout: Layout, start: int, *, recover: bool) -> None:
    """Go through the data section from record to record."""
    end = layout.data_end or source.size
    loose: Chunk | None = None
    try:
        for opcode, offset, length in source.records(start, end):
            if opcode in {r.DATA_END, r.FOOTER}:
                _end_data(source, layout, offset, length)
                break
            if opcode == r.MESSAGE:
                loose = _add_loose(source, layout, loose, offset, length)
                continue
            loose = None
            _take_record(source, layout, opcode, offset, length, recover=recover)
    except (DamagedBagError, r.CutOffError) as error:
        if not recover:
            raise _named(source, error) from None
        layout.warnings.append(f"{error}; what follows is lost")
        layout.is_lossy = True
    layout.data_end = layout.data_end or source.size


def _end_data(source: Source, layout: Layout, offset: int, length: int) -> None:
    if layout.data_end not in {0, offset + length}:
        msg = f"{source.path}: its data ends at byte {offset}, before its summary"
        raise DamagedBagError(msg)
    layout.data_end = offset


def _take_record(
    source: Source, layout: Layout, opcode: int, offset: int, length: int, *, recover: bool
) -> None:
    if opcode in {r.SCHEMA, r.CHANNEL}:
        _take_name(source, layout, opcode, offset, length, recover=recover)
    elif opcode not in r.KNOWN:
        _refuse_unknown(source, layout, opcode, offset, recover=recover)
    elif opcode == r.ATTACHMENT:
        layout.attachments.append((offset, length))
    elif opcode == r.METADATA:
        layout.metadata.append((offset, length))
    elif opcode == r.CHUNK:
        chunk = Chunk(offset, length)
        try:
            _count_by_content(source, layout, chunk)
        except DamagedBagError as error:
            if not recover:
                raise
            layout.warnings.append(f"{error}; its messages are lost")
            layout.is_lossy = True
            return
        layout.chunks.append(chunk)
    elif opcode == r.MESSAGE_INDEX and layout.chunks:
        chunk = layout.chunks[-1]
        if offset == chunk.end + chunk.index_length:
            id_, _ = r.read_message_index(source.body(offset, length))
            chunk.index_offsets[id_] = offset
            chunk.index_length += length


def _take_name(
    source: Source, layout: Layout, opcode: int, offset: int, length: int, *, recover: bool
) -> None:
    try:
        layout.add(opcode, source.body(offset, length))
    except r.CutOffError as error:
        text = f"{source.path}: record at byte {offset}: {error}"
        if not recover:
            raise DamagedBagError(text) from None
        layout.warnings.append(f"{text}; it is left out")
        layout.is_lossy = True


def _refuse_unknown(
    source: Source, layout: Layout, opcode: int, offset: int, *, recover: bool
) -> None:
    """Refuse a kind of record that does not exist; say that private ones are not carried over."""
    text = f"{source.path}: record at byte {offset}: there is no kind {opcode}"
    if opcode >= r.PRIVATE:
        text = f"{source.path}: private records of kind {opcode:#x} are left out"
    elif not recover:
        raise DamagedBagError(text)
    else:
        layout.is_lossy = True
    if text not in layout.warnings:
        layout.warnings.append(text)


def _count_by_content(source: Source, layout: Layout, chunk: Chunk) -> None:
    """Decompress a chunk, count its messages, and learn its schemas and channels."""
    head = r.Fields(source.body(chunk.offset, chunk.length))
    try:
        *_, chunk.uncompressed_bytes, _ = head.unpack(r.CHUNK_HEAD)
        chunk.compression = head.text()
        chunk.compressed_bytes = head.u64()
        records = load(source, chunk, bytearray())
        for opcode, start, body, end in records_of(records):
            if opcode == r.MESSAGE:
                raw = raw_message(records, start, body, end)
                chunk.note(raw.channel_id, raw.log_ns)
            else:
                check_opcode(opcode, start)
                layout.add(opcode, records[body:end])
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None
    chunk.settle()


def _add_loose(
    source: Source, layout: Layout, loose: Chunk | None, offset: int, length: int
) -> Chunk:
    """Count a message outside of chunks, into a stretch of its own."""
    head = source.peek(offset, min(length, r.RECORD_HEAD.size + r.MESSAGE_HEAD.size))
    raw = raw_message(head, 0, r.RECORD_HEAD.size, length)
    if loose is None or loose.end != offset or loose.length >= _LOOSE_BYTES:
        loose = Chunk(offset, 0, is_loose=True)
        layout.chunks.append(loose)
    loose.length += length
    loose.uncompressed_bytes = loose.length
    loose.note(raw.channel_id, raw.log_ns)
    loose.settle()
    return loose


def _compare(source: Source, layout: Layout) -> None:
    """Say where the file's statistics disagree with what is there."""
    if layout.statistics is None:
        return
    if layout.message_count != layout.statistics.message_count:
        layout.warnings.append(
            f"{source.path}: its statistics count {layout.statistics.message_count} messages, "
            f"there are {layout.message_count}"
        )
    found = count_messages(layout)
    for id_, count in layout.statistics.counts.items():
        if count != found[id_] and id_ in layout.channels:
            layout.warnings.append(
                f"{source.path}: its statistics count {count} messages on "
                f"{layout.channels[id_].topic}, there are {found[id_]}"
            )


def check_data_checksum(source: Source, layout: Layout) -> None:
    """Check the checksum of the whole data section, where the file has one.

    Raises:
        DamagedBagError: it is wrong.
    """
    size = r.RECORD_HEAD.size + 4
    for at in (layout.data_end, layout.data_end - size):  # scanned, or before the summary
        if at < len(r.MAGIC) or at + size > source.size:
            continue
        raw = source.read(at, size)
        if r.RECORD_HEAD.unpack_from(raw) == (r.DATA_END, 4):
            (crc,) = _CRC.unpack_from(raw, r.RECORD_HEAD.size)
            if crc and crc != _range_checksum(source, at):
                msg = f"{source.path}: the checksum of its data section (to byte {at}) is wrong"
                raise DamagedBagError(msg)
            return


def _range_checksum(source: Source, end: int) -> int:
    state, step = 0, 1 << 20
    for at in range(0, end, step):
        state = zlib.crc32(source.read(at, min(step, end - at)), state)
    return state


def _file_hash(source: Source) -> str:
    state = hashlib.sha256()
    step = 1 << 20
    for at in range(0, source.size, step):
        state.update(source.read(at, min(step, source.size - at)))
    return state.hexdigest()
