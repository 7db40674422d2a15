"""Look at every byte of an MCAP file that can be checked; take out what is damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_content import load, message_indexes, messages_of
from bagnoise.bags.mcap_layout import count_by_content
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_content import Raw
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source


def verify_chunks(source: Source, layout: Layout) -> None:
    """Decompress every chunk; compare its messages with its indexes.

    Raises:
        DamagedBagError: they differ, or it is damaged.
    """
    buffer = bytearray()
    for chunk in layout.chunks:
        raws = messages_of(source, chunk, load(source, chunk, buffer))
        if chunk.index_length:
            _compare(source, chunk, raws)


def keep_intact(source: Source, layout: Layout) -> None:
    """Take out the chunks that are damaged; where only the indexes are, count anew."""
    buffer, intact = bytearray(), []
    for chunk in layout.chunks:
        try:
            records = load(source, chunk, buffer)
        except DamagedBagError as error:
            count = sum(chunk.counts.values())
            layout.warn(f"{error}; its {count} messages are lost")
            layout.lost += [(id_, chunk.counts[id_], span) for id_, span in chunk.spans.items()]
            continue
        try:
            raws = messages_of(source, chunk, records)
            if chunk.index_length:
                _compare(source, chunk, raws)
        except DamagedBagError as error:
            layout.warn(f"{error}; its messages are taken as they stand")
            if not _count_anew(source, layout, chunk):
                continue
        intact.append(chunk)
    layout.chunks = intact


def _count_anew(source: Source, layout: Layout, chunk: Chunk) -> bool:
    told = list(chunk.spans.items()), dict(chunk.counts)
    try:
        count_by_content(source, layout, chunk)
    except DamagedBagError as error:
        layout.warn(f"{error}; its messages are lost")
        layout.lost += [(id_, told[1][id_], span) for id_, span in told[0]]
        return False
    return bool(chunk.counts)


def _compare(source: Source, chunk: Chunk, raws: list[Raw]) -> None:
    """Raise if a chunk's indexes are not exactly of its messages."""
    there = sorted((raw.channel_id, raw.log_ns, raw.start) for raw in raws)
    told = []
    try:
        for id_, _, pairs in message_indexes(source, chunk):
            told += [(id_, log_ns, offset) for log_ns, offset in pairs.tolist()]
    except r.CutOffError as error:
        msg = f"{source.path}: chunk at byte {chunk.offset}: {error}"
        raise DamagedBagError(msg) from None
    if sorted(told) != there:
        msg = (
            f"{source.path}: chunk at byte {chunk.offset}: its indexes point to other messages "
            "than it holds"
        )
        raise DamagedBagError(msg)
