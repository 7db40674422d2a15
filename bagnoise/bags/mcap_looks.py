"""What a place in a damaged MCAP file looks like, and where records go on to make sense."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_compression import KNOWN
from bagnoise.bags.mcap_content import read_head
from bagnoise.bags.mcap_scan import DATA_END_BYTES, IN_DATA
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source

_HEAD = r.RECORD_HEAD.size
_WINDOW_BYTES = 1 << 20
# the shortest body of each kind
_LEAST = {
    r.SCHEMA: 14,
    r.CHANNEL: 16,
    r.MESSAGE: r.MESSAGE_HEAD.size,
    r.CHUNK: r.CHUNK_HEAD.size + 12,
    r.MESSAGE_INDEX: 6,
    r.ATTACHMENT: 36,
    r.METADATA: 8,
}
_WITHIN_CHUNKS = frozenset({r.SCHEMA, r.CHANNEL, r.MESSAGE})
_IN_A_ROW = 3  # records that must make sense before they are believed
# a kind that may stand in the data section, and a length below 2^40
_LIKELY_HEAD = re.compile(rb"[\x03-\x07\x09\x0c\x0f].{5}\x00\x00\x00", re.DOTALL)


class Looks:
    """Judges places by what the summary says (if anything) and by what was found so far."""

    def __init__(self, source: Source, summary: Layout) -> None:
        """Take the places that the summary knows."""
        self._source = source
        self.end = source.size
        self.is_chunked = bool(summary.chunks)
        chunks = [chunk.offset for chunk in summary.chunks]
        extras = [offset for offset, _ in (*summary.attachments, *summary.metadata)]
        # of messages outside of chunks a summary knows no places
        is_map = summary.is_checked and bool(chunks)
        self._targets = sorted({*chunks, *extras} if is_map else ())
        self._channels = set(summary.channels)
        self._searched = (0, -1)  # nothing makes sense from here up to there

    def learn(self, layout: Layout) -> None:
        """Take in the channels that were found: their messages make sense from now on."""
        if not self._channels.issuperset(layout.channels):
            self._channels.update(layout.channels)
            self._searched = (0, -1)

    def expect_chunks(self) -> None:
        """Learn that messages are in chunks, and elsewhere not to be believed so easily."""
        if not self.is_chunked:
            self.is_chunked = True
            self._searched = (0, -1)

    def head(self, at: int) -> tuple[int, int]:
        """Return kind and length of the record here; length 0 if it does not fit the file."""
        raw = self._source.peek(at, _HEAD) if 0 <= at <= self.end - _HEAD else b""
        if len(raw) < _HEAD:
            return 0, 0
        opcode, length = r.RECORD_HEAD.unpack(raw)
        fits = _LEAST.get(opcode, 0) <= length <= self.end - at - _HEAD
        return (opcode, _HEAD + length) if fits else (0, 0)

    def chunk_size(self, at: int) -> int:
        """Return how long a chunk here would be by its inner head; 0 if there is none."""
        try:
            head = read_head(self._source, at, self.end - at)
        except (DamagedBagError, r.CutOffError):
            return 0
        size = head.records_at + head.packed_size - at
        fits = at + size <= self.end
        return size if fits and head.compression in KNOWN else 0

    def is_head(self, at: int) -> bool:
        """Whether records can go on here; so they can where the file ends."""
        if at >= self.end:
            return at == self.end
        opcode, length = self.head(at)
        if not length:
            return False
        if opcode == r.MESSAGE:
            raw = self._source.peek(at + _HEAD, 2)
            return length >= _HEAD + r.MESSAGE_HEAD.size and self._is_channel(bytes(raw))
        if opcode == r.CHUNK:
            return self.chunk_size(at) == length
        if opcode in {r.DATA_END, r.FOOTER}:
            return length == _HEAD + (
                DATA_END_BYTES if opcode == r.DATA_END else r.FOOTER_BODY.size
            )
        return opcode in IN_DATA

    def _is_channel(self, raw: bytes) -> bool:
        return int.from_bytes(raw, "little") in self._channels

    def next_sane(self, start: int) -> int:
        """Return the next place where records go on: as the summary says, or by their look."""
        index = bisect_right(self._targets, start - 1)
        if index < len(self._targets):
            return self._targets[index]
        searched, found = self._searched
        if not searched <= start <= found:
            found = self._search(start)
            self._searched = start, found
        return found

    def _search(self, start: int) -> int:
        for at in range(start, self.end, _WINDOW_BYTES):
            window = self._source.read(at, min(_WINDOW_BYTES + _HEAD - 1, self.end - at))
            for match in _overlapping(window):
                if match < _WINDOW_BYTES and self._is_row(at + match):
                    return at + match
        return self.end

    def _is_row(self, at: int) -> bool:
        """Whether records that make sense follow each other from here.

        In a file of chunks they must not be such as lie within one: no checksum would cover them.
        """
        if self.is_chunked and self.head(at)[0] in _WITHIN_CHUNKS:
            return False
        for _ in range(_IN_A_ROW):
            if at >= self.end or not self.is_head(at):
                return at == self.end
            opcode, length = self.head(at)
            if opcode in {r.CHUNK, r.DATA_END}:
                return True
            at += length
        return True


def _overlapping(window: memoryview) -> Iterator[int]:
    """Find every place in a window that looks like the head of a record."""
    at = 0
    while (match := _LIKELY_HEAD.search(window, at)) is not None:
        yield match.start()
        at = match.start() + 1
