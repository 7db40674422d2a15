"""A stretch of an MCAP file that holds messages: a chunk, or records outside of chunks."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from bagnoise.bags.model import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping


_INDEX_ROW = struct.Struct("<HQ")  # channel id, where its index is
_HELD_ROW = struct.Struct("<HQQQ")  # channel id, count, first and last log time


@dataclass(slots=True)
class Chunk:
    """Where it is and which messages are in it, by the file's own channel ids.

    Files have thousands of chunks, and what is known of each is kept: ``index_offsets``, ``counts``
    and ``spans`` are packed, and each look at them makes a new dict.

    Attributes:
        offset, length: the record (with its head) in the file; of loose records, their range.
        start_ns, end_ns: of its messages, as indexed.
        index_length: of its message indexes, which follow it.
        is_loose: records that stand in the file outside of any chunk.
        is_sound: its message indexes exist, know their channels and agree with its header, so that
            it may be copied unread.
        is_whole: every message of it counts; else those of channels in ``counts`` do.
    """

    offset: int
    length: int
    start_ns: int = 0
    end_ns: int = 0
    index_length: int = 0
    compression: str = ""
    compressed_bytes: int = 0
    uncompressed_bytes: int = 0
    is_loose: bool = False
    is_sound: bool = False
    is_whole: bool = True
    _indexes: bytes | bytearray = b""
    _held: bytes = b""
    _tally: dict[int, tuple[int, int, int]] | None = None  # of `note`, until somebody looks

    @property
    def end(self) -> int:
        """Where the record ends."""
        return self.offset + self.length

    @property
    def index_offsets(self) -> dict[int, int]:
        """Where its message indexes are, by channel id; empty where there are none."""
        return dict(_INDEX_ROW.iter_unpack(self._indexes))

    @index_offsets.setter
    def index_offsets(self, offsets: Mapping[int, int]) -> None:
        self._indexes = b"".join(_INDEX_ROW.pack(*item) for item in offsets.items())

    def add_index(self, channel_id: int, offset: int) -> None:
        """Note that a message index follows the last one."""
        if not isinstance(self._indexes, bytearray):
            self._indexes = bytearray(self._indexes)
        self._indexes += _INDEX_ROW.pack(channel_id, offset)

    @property
    def counts(self) -> dict[int, int]:
        """How many messages it holds, by channel id."""
        return {id_: count for id_, count, _, _ in self._rows()}

    @property
    def spans(self) -> dict[int, Span]:
        """First and last log time by channel id."""
        return {id_: Span(start_ns, end_ns) for id_, _, start_ns, end_ns in self._rows()}

    def hold(self, rows: Iterable[tuple[int, int, int, int]]) -> None:
        """Take (channel id, count, first and last log time) of each channel."""
        self._held = b"".join(_HELD_ROW.pack(*row) for row in rows)
        self._tally = None

    def forget(self, channel_ids: Collection[int]) -> None:
        """Leave out the messages of some channels."""
        self.hold([row for row in self._rows() if row[0] not in channel_ids])

    def note(self, channel_id: int, log_ns: int) -> None:
        """Count a message."""
        if self._tally is None:
            self._tally = {row[0]: row[1:] for row in self._rows()}
        count, start_ns, end_ns = self._tally.get(channel_id, (0, log_ns, log_ns))
        self._tally[channel_id] = count + 1, min(start_ns, log_ns), max(end_ns, log_ns)

    def settle(self) -> None:
        """Take start and end from the messages."""
        if self._tally is None:
            spans = [row[2:] for row in self._rows()]
        else:
            spans = [told[1:] for told in self._tally.values()]
        if spans:
            self.start_ns = min(start_ns for start_ns, _ in spans)
            self.end_ns = max(end_ns for _, end_ns in spans)

    def _rows(self) -> Iterator[tuple[int, int, int, int]]:
        if self._tally is not None:
            self.hold((id_, *told) for id_, told in self._tally.items())
        return cast("Iterator[tuple[int, int, int, int]]", _HELD_ROW.iter_unpack(self._held))
