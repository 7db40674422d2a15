"""Take from a damaged MCAP file what is intact, and nothing else.

Where a record makes no sense, go on at the next place that the summary knows, or that looks like
records again. A chunk counts as intact only if it decompresses to what its checksum says; it is
found also where its record's own head is damaged, for its inner head tells how long it is.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_chunk import Chunk, message_indexes, read_head
from bagnoise.bags.mcap_compression import KNOWN
from bagnoise.bags.mcap_layout import count_by_content
from bagnoise.bags.mcap_scan import DATA_END_BYTES, IN_DATA, take_record
from bagnoise.bags.model import Span
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source

_HEAD = r.RECORD_HEAD.size
_WINDOW_BYTES = 1 << 20
_WITHIN_CHUNKS = frozenset({r.SCHEMA, r.CHANNEL, r.MESSAGE})
_IN_A_ROW = 3  # records that must make sense before they are believed
# a kind that may stand in the data section, and a length below 2^40
_LIKELY_HEAD = re.compile(rb"[\x03-\x07\x09\x0c\x0f].{5}\x00\x00\x00", re.DOTALL)


class Salvage:
    """One walk over a damaged file."""

    def __init__(self, source: Source, layout: Layout, summary: Layout) -> None:
        """Take the file, where to put what is found, and what its summary says (if anything)."""
        self._source = source
        self._layout = layout
        self._end = source.size
        self._known = {chunk.offset: chunk for chunk in summary.chunks}
        extras = [offset for offset, _ in (*summary.attachments, *summary.metadata)]
        # of messages outside of chunks a summary knows no places
        is_map = summary.is_checked and bool(self._known)
        self._targets = sorted({*self._known, *extras} if is_map else ())
        self._is_chunked = bool(self._known)
        self._channels = {**summary.channels, **layout.channels}

    def run(self) -> None:
        """Walk from the header to the end of the data, or of the file."""
        at = len(r.MAGIC)
        while at < self._end:
            length = self._take(at)
            if length is None:
                break
            if length:
                at += length
                continue
            if at in self._known:
                self._note_lost(self._known[at])
            after = self._next_sane(at + 1)
            self._layout.warn(f"{self._source.path}: {self._describe(at, after)}")
            at = after
        self._layout.data_end = min(at, self._end)

    def _take(self, at: int) -> int | None:
        """Take the record here; return its length, 0 if it makes no sense, None at the end."""
        opcode, length = self._head(at)
        self._is_chunked = self._is_chunked or opcode == r.CHUNK
        taken = self._take_chunk(at, opcode, length)
        if taken or opcode == r.CHUNK or at in self._known:
            return taken
        if (opcode, length) == (r.DATA_END, _HEAD + DATA_END_BYTES):
            return None
        if not length:
            return 0
        if not self._is_head(at + length) and self._next_sane(at + _HEAD) < at + length:
            return 0  # its length leads over what makes sense
        self._take_other(opcode, at, length)
        return length

    def _take_other(self, opcode: int, at: int, length: int) -> None:
        if opcode == r.HEADER and at == len(r.MAGIC):
            return
        if opcode == r.MESSAGE and self._is_chunked and self._is_index(at, length):
            return  # an index whose kind is damaged, and no message
        try:
            if opcode != r.MESSAGE_INDEX:
                take_record(self._source, self._layout, opcode, at, length)
        except (DamagedBagError, r.CutOffError) as error:
            self._layout.warn(f"{self._source.path}: record at byte {at}: {error}; it is left out")
        self._channels.update(self._layout.channels)

    def _take_chunk(self, at: int, opcode: int, length: int) -> int:
        """Take a chunk, if one is here; return its length if so, also if its content is lost."""
        size = self._chunk_size(at)
        is_consistent = (opcode, length) == (r.CHUNK, size)
        if not size or not (is_consistent or at in self._known or self._is_head(at + size)):
            return 0
        chunk = Chunk(at, size)
        try:
            head = read_head(self._source, at, size)
            if not is_consistent and not head.crc:
                return 0  # nothing says that this is what it looks like
            count_by_content(self._source, self._layout, chunk)
        except (DamagedBagError, r.CutOffError) as error:
            if not is_consistent:
                return 0
            self._layout.warn(f"{error}; its messages are lost")
            self._note_lost(chunk)
            return size
        if chunk.counts:
            self._layout.chunks.append(chunk)
        return size

    def _is_index(self, at: int, length: int) -> bool:
        try:
            r.read_message_index(self._source.body(at, length))
        except r.CutOffError:
            return False
        return True

    def _note_lost(self, chunk: Chunk) -> None:
        """Learn from a lost chunk's indexes how many messages it had."""
        at = chunk.end
        while True:
            opcode, length = self._head(at)
            if opcode != r.MESSAGE_INDEX:
                break
            at += length
        chunk.index_length = at - chunk.end
        try:
            for id_, _, pairs in message_indexes(self._source, chunk):
                times = pairs[:, 0].tolist()
                if times:
                    span = Span(min(times), max(times))
                    self._layout.lost.append((id_, len(times), span))
        except r.CutOffError:
            return

    def _describe(self, at: int, after: int) -> str:
        text = f"bytes {at} to {after} make no sense and are lost"
        if self._source.peek(at, 1) != bytes((r.CHUNK,)):
            return text
        try:
            head = read_head(self._source, at, self._end - at)
        except (DamagedBagError, r.CutOffError):
            return text
        span = f"with messages between {head.start_ns} and {head.end_ns} ns"
        return f"the chunk at byte {at}, {span}, is cut off or damaged, and lost to byte {after}"

    # what a place looks like

    def _head(self, at: int) -> tuple[int, int]:
        """Return kind and length of the record here; length 0 if it does not fit the file."""
        raw = self._source.peek(at, _HEAD) if 0 <= at <= self._end - _HEAD else b""
        if len(raw) < _HEAD:
            return 0, 0
        opcode, length = r.RECORD_HEAD.unpack(raw)
        return (opcode, _HEAD + length) if at + _HEAD + length <= self._end else (0, 0)

    def _chunk_size(self, at: int) -> int:
        """Return how long a chunk here would be by its inner head; 0 if there is none."""
        try:
            head = read_head(self._source, at, self._end - at)
        except (DamagedBagError, r.CutOffError):
            return 0
        size = head.records_at + head.packed_size - at
        fits = at + size <= self._end and head.start_ns <= head.end_ns
        return size if fits and head.compression in KNOWN else 0

    def _is_head(self, at: int) -> bool:
        """Whether records can go on here; so they can where the file ends."""
        if at >= self._end:
            return at == self._end
        opcode, length = self._head(at)
        if not length:
            return False
        if opcode == r.MESSAGE:
            raw = self._source.peek(at + _HEAD, 2)
            return length >= _HEAD + r.MESSAGE_HEAD.size and self._is_channel(bytes(raw))
        if opcode == r.CHUNK:
            return self._chunk_size(at) == length
        if opcode in {r.DATA_END, r.FOOTER}:
            return length == _HEAD + (
                DATA_END_BYTES if opcode == r.DATA_END else r.FOOTER_BODY.size
            )
        return opcode in IN_DATA

    def _is_channel(self, raw: bytes) -> bool:
        return int.from_bytes(raw, "little") in self._channels

    def _next_sane(self, start: int) -> int:
        """Return the next place where records go on: as the summary says, or by their look."""
        index = bisect_right(self._targets, start - 1)
        if index < len(self._targets):
            return self._targets[index]
        for at in range(start, self._end, _WINDOW_BYTES):
            window = self._source.read(at, min(_WINDOW_BYTES + _HEAD - 1, self._end - at))
            for match in _overlapping(window):
                if at <= at + match < at + _WINDOW_BYTES and self._is_row(at + match):
                    return at + match
        return self._end

    def _is_row(self, at: int) -> bool:
        """Whether records that make sense follow each other from here.

        In a file of chunks they must not be such as lie within one: no checksum would cover them.
        """
        if self._is_chunked and self._head(at)[0] in _WITHIN_CHUNKS:
            return False
        for _ in range(_IN_A_ROW):
            if at >= self._end or not self._is_head(at):
                return at == self._end
            opcode, length = self._head(at)
            if opcode in {r.CHUNK, r.DATA_END}:
                return True
            at += length
        return True


def _overlapping(window: memoryview) -> list[int]:
    """Find every place in a window that looks like the head of a record."""
    found, at = [], 0
    while (match := _LIKELY_HEAD.search(window, at)) is not None:
        found.append(match.start())
        at = match.start() + 1
    return found
