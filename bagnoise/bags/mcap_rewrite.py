"""MCAP to MCAP at the speed of a copy: chunks that an edit does not change are copied unread.

A chunk none of whose messages is replaced, moved or cut off is copied as it is, still compressed.
If the edit reads one of its topics it is decompressed for reading, and still copied. Only a chunk
that holds replaced messages is made anew. Messages that the edit makes go into chunks of their own
between the others.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from bagnoise.bags.generic import Reorder, check_times, takes_its_place
from bagnoise.bags.mcap_content import messages_of
from bagnoise.bags.mcap_ids import FileIds
from bagnoise.bags.mcap_output import ChunkBuilder, McapOutput, message_parts
from bagnoise.bags.mcap_reading import Place, advise, borrow
from bagnoise.bags.mcap_writer import CHUNK_NS, LIBRARY
from bagnoise.bags.model import Message, WriteReport
from bagnoise.bags.selection import latched_before, selected_channels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from bagnoise.bags.mcap_bag import McapBag
    from bagnoise.bags.mcap_compression import Compression
    from bagnoise.bags.mcap_content import Raw
    from bagnoise.bags.mcap_reading import Found, Loan
    from bagnoise.bags.model import (
        Edit,
        MetadataRecord,
        Output,
        Progress,
        Selection,
        WriteOptions,
    )

MAX_DISORDER_NS = 2_000_000_000  # files whose chunks are further out of order are sorted instead
FAR_FUTURE_NS = 1 << 64
Key = tuple[int, int]  # file position, chunk offset


def can_copy_chunks(bag: McapBag, options: WriteOptions) -> bool:
    """Whether chunks can be copied: some are sound, all in rough order, of the same compression."""
    if options.sort_file:
        return False
    wanted = None if options.compression == "keep" else options.compression
    latest_ns = 0
    for file in bag.files:
        for chunk in file.layout.chunks:
            if wanted is not None and wanted != (chunk.compression or "none"):
                return False
            if chunk.start_ns < latest_ns - MAX_DISORDER_NS:
                return False
            latest_ns = max(latest_ns, chunk.end_ns)
    return any(chunk.is_sound for file in bag.files for chunk in file.layout.chunks)


class ChunkRewrite:
    """One rewrite by chunks; `run` does it."""

    def __init__(
        self,
        bag: McapBag,
        path: Path,
        edit: Edit,
        *,
        selection: Selection,
        options: WriteOptions,
        compression: Compression,
        records: Sequence[MetadataRecord],
    ) -> None:
        """Plan it and create the file."""
        self.report = WriteReport()
        self._bag = bag
        self._edit = edit
        self._selection = selection
        self._options = options
        self._compression = compression
        self._records = records
        self._chosen = {channel.id for channel in selected_channels(bag, selection)}
        self._passing = self._chosen - edit.replaces
        self._low_ns = selection.start_ns or 0
        self._high_ns = FAR_FUTURE_NS if selection.end_ns is None else selection.end_ns
        self._ids = FileIds(bag, self._passing, edit.adds)
        self._reader = _Shown()
        self._held = Reorder()
        self._new = ChunkBuilder()
        self._replaced: dict[Key, dict[int, list[Message]]] = {}
        profile = bag.files[0].layout.profile
        self._output = McapOutput(path, profile=profile, library=LIBRARY, workers=options.workers)

    def run(self, progress: Progress | None = None) -> WriteReport:
        """Write the file.

        For each source chunk in file order: read on until all messages before it (and all in it,
        if it is made anew) have been shown to the edit; write the new messages that no source
        message can still precede; then write the chunk.
        """
        try:
            self._start()
            with ThreadPoolExecutor(self._options.workers, "bagnoise-read") as executor:
                self._write_all(self._places(), executor, progress)
            for attachment in self._bag.attachments():
                self._output.add_attachment(attachment)
            for record in (*self._bag.metadata_records(), *self._records):
                self._output.add_metadata(record)
            self._output.finish()
        except BaseException:
            self._output.abort()
            raise
        self.report.span = self._output.span
        return self.report

    def _start(self) -> None:
        """Write schemas and channels, and what is latched from before a cut."""
        for schema in self._ids.schemas:
            self._output.add_schema(schema)
        for channel in self._ids.channels:
            self._output.add_channel(channel)
        self.report.copied = dict.fromkeys(self._passing, 0)
        self.report.written = {channel.id: 0 for channel in self._edit.adds}
        if self._selection.start_ns is None:
            return
        first = ChunkBuilder()
        for message in latched_before(self._bag, self._chosen, self._selection.start_ns):
            if message.channel.id in self._passing:
                self._add_made(first, message)
                self.report.copied[message.channel.id] += 1
            if message.channel.id in self._edit.reads:
                for output in self._edit.process(message):
                    if takes_its_place(self._edit, message, output):
                        self._add_made(first, output.message)
                        self.report.written[output.message.channel.id] += 1
                    else:
                        self._take([output])
        self._output.add_chunk(first, self._compression)

    def _places(self) -> list[Place]:
        """List the chunks that hold anything chosen, in file order."""
        return [
            Place(number, file.source, chunk)
            for number, file in enumerate(self._bag.files)
            for chunk in file.layout.chunks
            if chunk.start_ns < self._high_ns
            and chunk.end_ns >= self._low_ns
            and any(file.channels[id_].id in self._chosen for id_ in chunk.counts)
        ]

    def _write_all(
        self, places: list[Place], executor: ThreadPoolExecutor, progress: Progress | None
    ) -> None:
        reads = self._edit.reads & self._chosen
        reading = self._bag.reading(reads, self._selection.start_ns, self._selection.end_ns)
        reading.executor, reading.ahead = executor, 2 * self._options.workers
        reading.on_load = self._reader.note
        advise(places)
        reading.is_advised = True
        reading.needs_whole = lambda place: _key(place) in self._reader.remade
        self._reader.remade = {_key(p) for p in places if not self._is_verbatim(p)}
        self._reader.source = iter(reading)
        self._reader.pool = reading.pool
        here = map(_key, reading.places)
        self._reader.unread = dict.fromkeys(self._reader.remade.intersection(here), 1)
        total = sum(place.chunk.length for place in places)
        done = 0
        for place, safe_ns in zip(places, _earliest_to_come(places), strict=True):
            self._show_up_to(place)
            self._emit_before(safe_ns)
            if self._new.pairs and safe_ns - self._new.start_ns > CHUNK_NS:
                self._close_new()  # no message may come for long, or none at all
            self._write_place(place)
            done += place.chunk.length
            if progress is not None:
                progress(done, total)
        for found in self._reader.rest():
            self._show(found)
        self._take(self._edit.finish())
        self._emit_before(None)
        self._close_new()

    def _is_verbatim(self, place: Place) -> bool:
        file, chunk = self._bag.files[place.file], place.chunk
        return (
            self._ids.is_kept[place.file]
            and chunk.is_sound
            and self._low_ns <= chunk.start_ns
            and chunk.end_ns < self._high_ns
            and all(file.channels[id_].id in self._passing for id_ in chunk.counts)
        )

    # showing messages to the edit

    def _show_up_to(self, place: Place) -> None:
        """Show all messages before a chunk, and all in it if it is made anew."""
        key, start_ns = _key(place), place.chunk.start_ns
        while (found := self._reader.next()) is not None:
            if found.log_ns >= start_ns and not self._reader.waits_for(key):
                break
            self._show(found)
        self._take(self._edit.advance(start_ns))

    def _show(self, found: Found) -> None:
        raw, loan = found.raw, found.loan
        message = Message(
            self._bag.files[found.file].channels[raw.channel_id],
            raw.log_ns,
            raw.publish_ns,
            raw.sequence,
            loan.records[raw.data_start : raw.end],
        )
        key = _key(loan.place)
        for output in self._edit.process(message):
            if takes_its_place(self._edit, message, output):
                check_times(output.message)
                places = self._replaced.setdefault(key, {})
                places.setdefault(raw.start, []).append(output.message)
                self.report.written[output.message.channel.id] += 1
            else:
                self._take([output])
        self._reader.done(found)

    def _take(self, outputs: Iterable[Output]) -> None:
        """Hold new messages until their time."""
        for message, _ in outputs:
            check_times(message)
            self.report.written[message.channel.id] += 1
            self._held.push(message)

    # writing

    def _emit_before(self, log_ns: int | None) -> None:
        """Put the held messages before a time into chunks, which are written as they fill."""
        for message in self._held.due(log_ns):
            new, time_ns = self._new, message.log_ns
            spread_ns = max(time_ns, new.end_ns) - min(time_ns, new.start_ns)
            if new.pairs and (new.size >= self._options.chunk_bytes or spread_ns > CHUNK_NS):
                self._close_new()
            self._add_made(self._new, message)

    def _close_new(self) -> None:
        """Write the chunk of new messages, and begin another."""
        self._output.add_chunk(self._new, self._compression)
        self._new = ChunkBuilder()

    def _add_made(self, builder: ChunkBuilder, message: Message) -> None:
        """Add a message with the id that its channel has in the output."""
        channel, log_ns, publish_ns, sequence, data = message
        id_ = self._ids.of[channel.id]
        builder.add(id_, log_ns, *message_parts(id_, sequence, log_ns, publish_ns, data))

    def _write_place(self, place: Place) -> None:
        file, chunk = self._bag.files[place.file], place.chunk
        if _key(place) not in self._reader.remade:
            self._output.copy_chunk(place.source, chunk)
            for id_, count in chunk.counts.items():
                self.report.copied[file.channels[id_].id] += count
            return
        loan = self._reader.loans.pop(_key(place), None) or borrow(place, self._reader.pool)
        records = loan.records
        builder = ChunkBuilder()
        replaced = self._replaced.pop(_key(place), {})
        for raw in messages_of(place.source, chunk, records):
            self._add(builder, place.file, records, raw, replaced.get(raw.start, ()))
        self._output.add_chunk(builder, self._compression, loan.release)

    def _add(
        self,
        builder: ChunkBuilder,
        file: int,
        records: memoryview,
        raw: Raw,
        replaced: Sequence[Message],
    ) -> None:
        """Add what becomes of a message: its replacements, itself, or nothing."""
        for message in replaced:
            self._add_made(builder, message)
        bag_id = self._bag.files[file].channels[raw.channel_id].id
        if bag_id not in self._passing or not self._low_ns <= raw.log_ns < self._high_ns:
            return
        self.report.copied[bag_id] += 1
        id_ = self._ids.of[bag_id]
        if id_ == raw.channel_id:
            builder.add(id_, raw.log_ns, records[raw.start : raw.end])
            return
        data = records[raw.data_start : raw.end]
        parts = message_parts(id_, raw.sequence, raw.log_ns, raw.publish_ns, data)
        builder.add(id_, raw.log_ns, *parts)


class _Shown:
    """The messages that the edit reads, one ahead.

    Of chunks that are made anew it keeps account: messages ``unread``, 1 until they are counted.
    """

    def __init__(self) -> None:
        self.source: Iterator[Found] = iter(())
        self.remade: set[Key] = set()
        self.loans: dict[Key, Loan] = {}
        self.unread: dict[Key, int] = {}
        self.pool: list[bytearray] = []
        self._ahead: Found | None = None

    def note(self, loan: Loan, selected: int) -> None:
        """Learn how many messages of a chunk will be shown; keep it if it is made anew."""
        key = _key(loan.place)
        if key in self.remade:
            self.unread[key] = selected
            loan.hold()
            self.loans[key] = loan

    def next(self) -> Found | None:
        """Look at the next message, without going past it."""
        if self._ahead is None:
            self._ahead = next(self.source, None)
        return self._ahead

    def done(self, found: Found) -> None:
        """Go past it."""
        key = _key(found.loan.place)
        if key in self.unread:
            self.unread[key] -= 1
        self._ahead = None

    def rest(self) -> Iterator[Found]:
        """Give all that is left."""
        while (found := self.next()) is not None:
            yield found

    def waits_for(self, key: Key) -> bool:
        """Whether a chunk that is made anew has messages that were not shown."""
        return self.unread.get(key, 0) > 0


def _key(place: Place) -> Key:
    return place.file, place.chunk.offset


def _earliest_to_come(places: list[Place]) -> list[int]:
    """Return for each chunk the earliest start of it and all after it."""
    earliest, times = FAR_FUTURE_NS, []
    for place in reversed(places):
        earliest = min(earliest, place.chunk.start_ns)
        times.append(earliest)
    return times[::-1]
