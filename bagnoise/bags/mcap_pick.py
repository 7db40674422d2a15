"""Pick messages out of a chunk that is not compressed, and leave the rest of it unread.

Such a chunk has to be copied, not decompressed: reading and checking all of it for a few messages
would cost as much again. Each message that is picked must be where its index says; a checksum
covers whole chunks only, so it is not checked here (``--verify`` checks them all).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_content import Raw, damaged, message_at, message_indexes, read_head

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from bagnoise.bags.mcap_chunk import Chunk
    from bagnoise.bags.mcap_source import Source

_LEAST_BYTES = 1 << 15  # of a chunk that is worth it
_MOST_SHARE = 0.25  # of a chunk; more of it is read as a whole


def pick(
    source: Source, chunk: Chunk, channel_ids: Collection[int]
) -> tuple[memoryview, list[Raw]] | None:
    """Read the messages of some channels, in the order they stand in.

    Returns:
        Their records one after the other, and where each is in these; None where the chunk has to
        be read as a whole.

    Raises:
        DamagedBagError: an index points to what is no such message, or beyond the chunk.
    """
    if not chunk.is_sound or chunk.compression or chunk.uncompressed_bytes < _LEAST_BYTES:
        return None
    if source.takes_advice:
        return None  # it fetches chunks
    try:
        head = read_head(source, chunk.offset, chunk.length)
        if head.compression or not head.size == head.packed_size <= chunk.end - head.records_at:
            return None
        wanted, ends = _spans(source, chunk, channel_ids, head.size)
        if (ends - wanted["at"]).sum() > _MOST_SHARE * head.size:
            return None
        return _read(source, head.records_at, wanted, ends)
    except r.CutOffError as error:
        raise damaged(source, chunk, error) from None


_WANTED = np.dtype([("at", "<u8"), ("log_ns", "<u8"), ("id", "<u2")])


def _spans(
    source: Source, chunk: Chunk, channel_ids: Collection[int], size: int
) -> tuple[NDArray[np.void], NDArray[np.uint64]]:
    """Return the wanted messages by offset, (n,), and where what follows each begins, (n,)."""
    every, wanted = [], []
    for id_, _, pairs in message_indexes(source, chunk):
        every.append(pairs[:, 1])
        if id_ in channel_ids:
            rows = np.empty(len(pairs), _WANTED)
            rows["log_ns"], rows["at"], rows["id"] = pairs[:, 0], pairs[:, 1], id_
            wanted.append(rows)
    starts = np.sort(np.concatenate([*every, np.array([size], "<u8")]))
    if starts[-1] != size:
        msg = f"a message index points to byte {starts[-1]}, beyond its {size} bytes"
        raise r.CutOffError(msg)
    chosen = np.sort(np.concatenate([np.empty(0, _WANTED), *wanted]), order="at")
    return chosen, starts[
        np.searchsorted(starts, chosen["at"], side="right").clip(max=len(starts) - 1)
    ]


def _read(
    source: Source, records_at: int, wanted: NDArray[np.void], ends: NDArray[np.uint64]
) -> tuple[memoryview, list[Raw]]:
    parts: list[memoryview] = []
    raws: list[Raw] = []
    start = 0
    for (at, log_ns, id_), end in zip(wanted.tolist(), ends.tolist(), strict=True):
        record = source.read(records_at + at, end - at)
        raw = message_at(record, 0, id_, log_ns, told=at)
        parts.append(record[: raw.end])
        raws.append(_moved(raw, start))
        start += raw.end
    return memoryview(b"".join(parts)), raws


def _moved(raw: Raw, start: int) -> Raw:
    return raw._replace(start=start, data_start=start + raw.data_start, end=start + raw.end)
