"""Whether an MCAP file's summary names all that the file holds."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source

_NAMES_AND_ENDS = frozenset({r.SCHEMA, r.CHANNEL, r.DATA_END})


def counts_agree(layout: Layout, statistics: r.StatisticsRecord) -> bool:
    """Whether every channel has as many messages as the statistics say, where they say it."""
    found = count_messages(layout)
    return all(count == found[id_] for id_, count in statistics.counts.items())


def count_messages(layout: Layout) -> Counter[int]:
    """Count the messages of every channel."""
    found: Counter[int] = Counter()
    for chunk in layout.chunks:
        found.update(chunk.counts)
    return found


def covers(source: Source, layout: Layout, data_start: int) -> bool:
    """Whether the summary names every chunk, attachment and metadata record of the file.

    Looks only at what lies between those it names: in most files the header and the end.
    """
    named = [(chunk.offset, chunk.end + chunk.index_length) for chunk in layout.chunks]
    for opcode, places in ((r.ATTACHMENT, layout.attachments), (r.METADATA, layout.metadata)):
        for offset, length in places:
            if not _is_record(source, layout, opcode, offset, length):
                return False
            named.append((offset, offset + length))
    at = data_start
    for start, end in [*sorted(named), (layout.data_end, layout.data_end)]:
        if start < at or not _is_free(source, at, start):
            return False
        at = end
    return True


def _is_record(source: Source, layout: Layout, opcode: int, offset: int, length: int) -> bool:
    head = r.RECORD_HEAD.size
    if length < head or offset + length > layout.data_end:
        return False
    return r.RECORD_HEAD.unpack(source.peek(offset, head)) == (opcode, length - head)


def _is_free(source: Source, start: int, end: int) -> bool:
    """Whether a stretch holds no message, attachment or metadata record, and nothing unknown."""
    try:
        return all(opcode in _NAMES_AND_ENDS for opcode, *_ in source.records(start, end))
    except DamagedBagError:
        return False
