"""The summary of an MCAP file, and whether it tells all that is in the file."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_chunk import Chunk
from bagnoise.bags.mcap_compression import crc32
from bagnoise.bags.mcap_content import records_of
from bagnoise.bags.mcap_layout import count_by_content, count_by_index
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source


def read_summary(source: Source, layout: Layout, data_start: int, *, trust: bool = False) -> bool:
    """Fill the layout from the summary; False if there is none that tells all.

    With ``trust`` a summary that has statistics and an index of each chunk is believed; else it
    is compared with the message indexes all over the file.

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
    _take(layout, body)
    layout.is_checked = bool(crc)
    if trust and _is_plausible(layout):
        layout.is_trusted = True
        return True
    return _is_complete(source, layout, data_start)


def _is_plausible(layout: Layout) -> bool:
    """Whether the summary alone tells what is on each channel; chunks then span its times."""
    statistics = layout.statistics
    if statistics is None or statistics.chunk_count != len(layout.chunks):
        return False
    if sum(statistics.counts.values()) != statistics.message_count:
        return False
    named = {id_ for chunk in layout.chunks for id_ in chunk.index_offsets}
    counted = {id_ for id_, count in statistics.counts.items() if count}
    if (
        not counted <= named
        or not named <= set(layout.channels)
        or not _names_all(layout, statistics)
    ):
        return False
    for chunk in layout.chunks:
        # how the messages are shared out is unknown
        chunk.hold((id_, 0, chunk.start_ns, chunk.end_ns) for id_ in chunk.index_offsets)
    return True


def _take(layout: Layout, summary: memoryview) -> None:
    for opcode, _, start, end in records_of(summary):
        body = summary[start:end]
        if opcode in {r.SCHEMA, r.CHANNEL}:
            layout.add(opcode, body)
        elif opcode == r.CHUNK_INDEX:
            index = r.read_chunk_index(body)
            chunk = Chunk(
                index.offset,
                index.length,
                index.start_ns,
                index.end_ns,
                index.index_length,
                index.compression,
                index.compressed_bytes,
                index.uncompressed_bytes,
            )
            chunk.index_offsets = index.index_offsets
            layout.chunks.append(chunk)
        elif opcode == r.STATISTICS:
            layout.statistics = r.read_statistics(body)
        elif opcode in {r.ATTACHMENT_INDEX, r.METADATA_INDEX}:
            fields = r.Fields(body)
            place = fields.u64(), fields.u64()
            (layout.attachments if opcode == r.ATTACHMENT_INDEX else layout.metadata).append(place)
    layout.chunks.sort(key=lambda chunk: chunk.offset)
    layout.attachments.sort()
    layout.metadata.sort()


def _is_complete(source: Source, layout: Layout, data_start: int) -> bool:
    """Whether the summary, with the message indexes, tells of all that is in the data section.

    Raises:
        DamagedBagError: something else is where the summary says that a chunk is.
    """
    statistics = layout.statistics
    if statistics is None or not _covers(source, layout, data_start):
        return False
    if not _names_all(layout, statistics):
        return False
    found = layout.counts()
    claimed = {id_: count for id_, count in statistics.counts.items() if count}
    return sum(found.values()) == statistics.message_count and claimed in ({}, found)


def _names_all(layout: Layout, statistics: r.StatisticsRecord) -> bool:
    """Whether no schema or channel stands in a chunk only, where a new one could get its id.

    Libmcap counts those alone that have messages: fewer than the summary names is right, too.
    """
    return statistics.channel_count <= len(layout.channels) and (
        statistics.schema_count <= len(layout.schemas)
    )


def _covers(source: Source, layout: Layout, data_start: int) -> bool:
    """Hop over the data section: every record must be known, chunks with their indexes."""
    chunks = {chunk.offset: chunk for chunk in layout.chunks}
    extras = {
        **dict.fromkeys(layout.attachments, r.ATTACHMENT),
        **dict.fromkeys(layout.metadata, r.METADATA),
    }
    if source.takes_advice:  # the indexes behind each chunk, and the head of the next
        head = r.RECORD_HEAD.size + r.CHUNK_HEAD.size
        source.advise((chunk.end, chunk.index_length + head) for chunk in layout.chunks)
    _check_places(source, layout, data_start)
    at = data_start
    while at < layout.data_end:
        opcode, _, length = next(source.records(at, layout.data_end))
        if opcode == r.CHUNK:
            chunk = chunks.pop(at, None)
            if chunk is None or not _is_counted(source, layout, chunk):
                return False
            length += chunk.index_length
        elif opcode in {r.ATTACHMENT, r.METADATA}:
            if extras.pop((at, length), None) != opcode:
                return False
        elif opcode in {r.SCHEMA, r.CHANNEL}:
            layout.add(opcode, source.body(at, length))
        elif opcode >= r.PRIVATE:
            layout.warn(private(source, opcode))
        elif opcode == r.DATA_END:
            break
        else:
            return False
        at += length
    return not chunks and not extras and len(set(layout.attachments)) == len(layout.attachments)


def _check_places(source: Source, layout: Layout, data_start: int) -> None:
    """Raise if a chunk, with room for its indexes, is not where the summary says."""
    end = data_start
    for chunk in layout.chunks:
        fits = end <= chunk.offset and chunk.end + chunk.index_length <= layout.data_end
        head = source.peek(chunk.offset, r.RECORD_HEAD.size) if fits else b""
        if not fits or r.RECORD_HEAD.unpack(head) != (r.CHUNK, chunk.length - len(head)):
            msg = (
                f"{source.path}: its summary says that a chunk of {chunk.length} bytes is at byte "
                f"{chunk.offset}, where none is"
            )
            raise DamagedBagError(msg)
        end = chunk.end + chunk.index_length


def _is_counted(source: Source, layout: Layout, chunk: Chunk) -> bool:
    """Count a chunk: by its indexes, or by its content if they lie; False if it has none."""
    if not chunk.index_length:
        return False
    if not count_by_index(source, layout, chunk):
        count_by_content(source, layout, chunk)
        return True
    start_ns, end_ns, size, _ = r.CHUNK_HEAD.unpack(
        source.peek(chunk.offset + r.RECORD_HEAD.size, r.CHUNK_HEAD.size)
    )
    told = (chunk.start_ns, chunk.end_ns, chunk.uncompressed_bytes)
    chunk.is_sound = (start_ns, end_ns, size) == told
    return True


def private(source: Source, opcode: int) -> str:
    """Say that records of somebody's own kind are not carried over."""
    return f"{source.path}: private records of kind {opcode:#x} are left out"
