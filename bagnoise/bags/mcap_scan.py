"""Go through the data section of an MCAP file from record to record, where no summary tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_chunk import Chunk
from bagnoise.bags.mcap_content import raw_message
from bagnoise.bags.mcap_layout import count_by_content
from bagnoise.bags.mcap_summary import private
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source

_LOOSE_BYTES = 1 << 20  # loose messages are handled in stretches of about a chunk
DATA_END_BYTES = 4
# what may stand in the data section, beside private records
IN_DATA = frozenset(
    {r.SCHEMA, r.CHANNEL, r.MESSAGE, r.CHUNK, r.MESSAGE_INDEX, r.ATTACHMENT, r.METADATA}
)


def scan(source: Source, layout: Layout, start: int) -> None:
    """Fill the layout with what is there.

    Raises:
        DamagedBagError: a record cannot be read, or is of a kind that does not belong there.
    """
    for opcode, offset, length in source.records(start, layout.data_end or source.size):
        if opcode in {r.DATA_END, r.FOOTER}:
            _end_data(source, layout, opcode, offset, length)
            break
        try:
            take_record(source, layout, opcode, offset, length)
        except r.CutOffError as error:
            msg = f"{source.path}: record at byte {offset}: {error}"
            raise DamagedBagError(msg) from None
    layout.data_end = layout.data_end or source.size


def _end_data(source: Source, layout: Layout, opcode: int, offset: int, length: int) -> None:
    size = DATA_END_BYTES if opcode == r.DATA_END else r.FOOTER_BODY.size
    if layout.data_end not in {0, offset + length} or length != r.RECORD_HEAD.size + size:
        msg = f"{source.path}: its data ends at byte {offset}, before its summary"
        raise DamagedBagError(msg)
    layout.data_end = offset


def take_record(source: Source, layout: Layout, opcode: int, offset: int, length: int) -> None:
    """Take one record of the data section.

    Raises:
        DamagedBagError, CutOffError: it is damaged.
    """
    if opcode == r.MESSAGE:
        _take_loose(source, layout, offset, length)
    elif opcode in {r.SCHEMA, r.CHANNEL}:
        layout.add(opcode, source.body(offset, length))
    elif opcode == r.ATTACHMENT:
        layout.attachments.append((offset, length))
    elif opcode == r.METADATA:
        layout.metadata.append((offset, length))
    elif opcode == r.CHUNK:
        chunk = Chunk(offset, length)
        count_by_content(source, layout, chunk)
        layout.chunks.append(chunk)
    elif opcode == r.MESSAGE_INDEX:
        _take_index(source, layout, offset, length)
    elif opcode >= r.PRIVATE:
        layout.warn(private(source, opcode))
    else:
        kind = "does not belong there" if opcode in r.KNOWN else "does not exist"
        msg = f"its kind {opcode} {kind}"
        raise r.CutOffError(msg)


def _take_index(source: Source, layout: Layout, offset: int, length: int) -> None:
    """Note that a chunk has an index; its content has been counted already."""
    id_, _ = r.read_message_index(source.body(offset, length))
    chunk = layout.chunks[-1] if layout.chunks else None
    if chunk is not None and offset == chunk.end + chunk.index_length and not chunk.is_loose:
        chunk.add_index(id_, offset)
        chunk.index_length += length


def _take_loose(source: Source, layout: Layout, offset: int, length: int) -> None:
    """Count a message outside of chunks, into a stretch of its own."""
    head = source.peek(offset, min(length, r.RECORD_HEAD.size + r.MESSAGE_HEAD.size))
    raw = raw_message(head, 0, r.RECORD_HEAD.size, length)
    loose = layout.chunks[-1] if layout.chunks else None
    if loose is None or not loose.is_loose or loose.end != offset or loose.length >= _LOOSE_BYTES:
        loose = Chunk(offset, 0, is_loose=True)
        layout.chunks.append(loose)
    loose.length += length
    loose.uncompressed_bytes = loose.length
    loose.note(raw.channel_id, raw.log_ns)
    loose.settle()
