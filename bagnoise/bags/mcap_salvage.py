"""Take from a damaged MCAP file what is intact, and nothing else.

Where a record makes no sense, go on at the next place that the summary knows, or that looks like
records again. A chunk counts as intact only if it decompresses to what its checksum says; it is
found also where its record's own head is damaged, for its inner head tells how long it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bagnoise.bags import mcap_records as r
from bagnoise.bags.mcap_chunk import Chunk
from bagnoise.bags.mcap_content import message_indexes, read_head
from bagnoise.bags.mcap_layout import count_by_content
from bagnoise.bags.mcap_looks import Looks
from bagnoise.bags.mcap_scan import DATA_END_BYTES, IN_DATA, take_record
from bagnoise.bags.model import Span
from bagnoise.errors import DamagedBagError

if TYPE_CHECKING:
    from bagnoise.bags.mcap_layout import Layout
    from bagnoise.bags.mcap_source import Source

_HEAD = r.RECORD_HEAD.size
_MAX_TOLD = 100  # damaged places that are named one by one


class Salvage:
    """One walk over a damaged file."""

    def __init__(self, source: Source, layout: Layout, summary: Layout) -> None:
        """Take the file, where to put what is found, and what its summary says (if anything)."""
        self._source = source
        self._layout = layout
        self._known = {chunk.offset: chunk for chunk in summary.chunks}
        self._looks = Looks(source, summary)
        self._looks.learn(layout)
        self._untold = 0

    def run(self) -> None:
        """Walk from the header to the end of the data, or of the file."""
        at = len(r.MAGIC)
        while at < self._looks.end:
            length = self._take(at)
            if length is None:
                break
            if length:
                at += length
                continue
            if at in self._known:
                self._note_lost(self._known[at])
            after = self._looks.next_sane(at + 1)
            self._tell(self._describe(at, after))
            at = after
        self._layout.data_end = min(at, self._looks.end)
        if self._untold:
            self._layout.warn(f"{self._source.path}: {self._untold} more damaged places")

    def _take(self, at: int) -> int | None:
        """Take the record here; return its length, 0 if it makes no sense, None at the end."""
        opcode, length = self._looks.head(at)
        if opcode == r.CHUNK:
            self._looks.expect_chunks()
        taken = self._take_chunk(at, opcode, length)
        if taken or opcode == r.CHUNK or at in self._known:
            return taken
        if (opcode, length) == (r.DATA_END, _HEAD + DATA_END_BYTES):
            return None
        known = opcode in IN_DATA or opcode >= r.PRIVATE or opcode == r.HEADER
        follows = self._looks.is_head(at + length)
        if not length or not (known or follows):
            return 0
        if not follows and self._looks.next_sane(at + _HEAD) < at + length:
            return 0  # its length leads over what makes sense
        self._take_other(opcode, at, length)
        return length

    def _take_other(self, opcode: int, at: int, length: int) -> None:
        if opcode == r.HEADER and at == len(r.MAGIC):
            return
        if opcode == r.MESSAGE and self._looks.is_chunked and self._is_index(at, length):
            return  # an index whose kind is damaged, and no message
        try:
            if opcode != r.MESSAGE_INDEX:
                take_record(self._source, self._layout, opcode, at, length)
        except (DamagedBagError, r.CutOffError) as error:
            self._tell(f"record at byte {at}: {error}; it is left out")
        self._looks.learn(self._layout)

    def _take_chunk(self, at: int, opcode: int, length: int) -> int:
        """Take a chunk, if one is here; return its length if so, also if its content is lost."""
        size = self._looks.chunk_size(at)
        is_consistent = (opcode, length) == (r.CHUNK, size)
        if not size or not (is_consistent or at in self._known or self._looks.is_head(at + size)):
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
        self._looks.learn(self._layout)
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
            opcode, length = self._looks.head(at)
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

    def _tell(self, text: str) -> None:
        if len(self._layout.warnings) < _MAX_TOLD:
            self._layout.warn(f"{self._source.path}: {text}")
        else:
            self._untold += 1

    def _describe(self, at: int, after: int) -> str:
        text = f"bytes {at} to {after} make no sense and are lost"
        if self._source.peek(at, 1) != bytes((r.CHUNK,)):
            return text
        try:
            head = read_head(self._source, at, self._looks.end - at)
        except (DamagedBagError, r.CutOffError):
            return text
        span = f"with messages between {head.start_ns} and {head.end_ns} ns"
        return f"the chunk at byte {at}, {span}, is cut off or damaged, and lost to byte {after}"
