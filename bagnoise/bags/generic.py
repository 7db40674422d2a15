"""Rewrite any bag message by message, in log-time order, with bounded memory."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from bagnoise.bags.model import Selection, Span, WriteReport
from bagnoise.bags.selection import selected_channels, selected_messages
from bagnoise.bags.writer import LARGEST_NS
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bagnoise.bags.model import Bag, Channel, Edit, Message, MetadataRecord, Output, Progress
    from bagnoise.bags.writer import BagWriter

_HELD_BYTES = 64 << 20
_PROGRESS_BYTES = 4 << 20


def check_times(message: Message, largest_ns: int = LARGEST_NS) -> None:
    """Refuse a time that containers would wrap.

    Raises:
        BagError: A time is below zero or beyond the largest, naming topic and value.
    """
    for name, value in (("log", message.log_ns), ("publish", message.publish_ns)):
        if not 0 <= value <= largest_ns:
            msg = (
                f"topic {message.channel.topic}: {name} time {value} ns is outside what a bag can"
                f" hold (0 to {largest_ns}); a smaller shift would be right"
            )
            raise BagError(msg)


def check_end(bag: Bag) -> None:
    """Refuse a recording whose end metadata.yaml cannot say.

    Raises:
        BagError: naming its last log time.
    """
    span = bag.span()
    if span is not None and span.end_ns > LARGEST_NS:
        msg = (
            f"{bag.path}: log time {span.end_ns} ns is outside what a rosbag2 directory can hold"
            f" (0 to {LARGEST_NS}); a bare .mcap can"
        )
        raise BagError(msg)


class Reorder:
    """Holds made messages back until their time has come, within a limit of bytes.

    Order: by log time; at equal times after every source message; then as they were made.
    Beyond the limit the earliest go out early: readers sort by the index anyway.
    """

    def __init__(self, held_bytes: int = _HELD_BYTES) -> None:
        self._limit = held_bytes
        self._heap: list[tuple[int, int, Message]] = []
        self._made = 0
        self._bytes = 0

    def push(self, message: Message) -> None:
        """Hold a message, its bytes copied where they are a view."""
        message = message._replace(data=bytes(message.data))
        heapq.heappush(self._heap, (message.log_ns, self._made, message))
        self._made += 1
        self._bytes += len(message.data)

    def due(self, before_ns: int | None) -> Iterable[Message]:
        """Release what lies before a time (all: None), and what exceeds the limit."""
        heap = self._heap
        while heap and (before_ns is None or heap[0][0] < before_ns or self._bytes > self._limit):
            message = heapq.heappop(heap)[2]
            self._bytes -= len(message.data)
            yield message


def remaining_channels(bag: Bag, edit: Edit, selection: Selection) -> list[Channel]:
    """Return the source channels that the output has: all but those replaced for good."""
    stay = {channel.id for channel in edit.adds}
    return [
        channel
        for channel in selected_channels(bag, selection)
        if channel.id not in edit.replaces or channel.id in stay
    ]


def takes_its_place(edit: Edit, message: Message, output: Output) -> bool:
    """Whether an output stands where the message it replaces stood, among equal times too."""
    replaced = message.channel.id in edit.replaces
    return output.in_place and replaced and output.message.log_ns == message.log_ns


class Rewrite:
    """One run: shows the source to the edit, and writes both in order."""

    def __init__(self, bag: Bag, writer: BagWriter, edit: Edit, selection: Selection) -> None:
        self.report = WriteReport()
        self._bag = bag
        self._writer = writer
        self._edit = edit
        self._selection = selection
        self._held = Reorder()
        self._start_ns: int | None = None
        self._end_ns: int | None = None
        self._announced: set[int] = set()
        self.read: dict[int, int] = {}

    def add_channels(self) -> None:
        """Announce what will be there: source channels, then those that the edit adds."""
        for channel in selected_channels(self._bag, self._selection):
            self.read[channel.id] = 0
        for channel in remaining_channels(self._bag, self._edit, self._selection):
            if channel.id not in self._edit.replaces:
                self.report.copied[channel.id] = 0
            self._announce(channel)
        for channel in self._edit.adds:
            self.report.written[channel.id] = 0
            if channel.id not in self._announced:
                self._announce(channel)

    def _announce(self, channel: Channel) -> None:
        self._announced.add(channel.id)
        self._writer.add_channel(channel)

    def run(self, progress: Progress | None, total_bytes: int) -> None:
        """Go through the source once."""
        edit, now_ns = self._edit, None
        done, shown = 0, 0
        for message in selected_messages(self._bag, self._selection):
            id_ = message.channel.id
            self.read[id_] += 1
            if message.log_ns != now_ns:
                now_ns = message.log_ns
                self._hold(edit.advance(now_ns))
                self._write_due(now_ns)
            if id_ not in edit.replaces:
                self._write(message, self.report.copied)
            if id_ in edit.reads:
                self._process(message)
            done += len(message.data)
            if progress is not None and done - shown >= _PROGRESS_BYTES:
                shown = done
                progress(min(done, total_bytes), total_bytes)
        self._hold(edit.finish())
        self._write_due(None)
        if self._start_ns is not None and self._end_ns is not None:
            self.report.span = Span(self._start_ns, self._end_ns)
        if progress is not None:
            progress(total_bytes, total_bytes)

    def _process(self, message: Message) -> None:
        for output in self._edit.process(message):
            if takes_its_place(self._edit, message, output):
                self._write(output.message, self.report.written)
            else:
                self._held.push(output.message)

    def _hold(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self._held.push(output.message)

    def _write_due(self, before_ns: int | None) -> None:
        for message in self._held.due(before_ns):
            self._write(message, self.report.written)

    def _write(self, message: Message, counts: dict[int, int]) -> None:
        is_copy = counts is self.report.copied
        check_times(message, self._writer.largest_ns if is_copy else LARGEST_NS)
        self._writer.write(message)
        counts[message.channel.id] += 1
        log_ns = message.log_ns
        if self._start_ns is None or log_ns < self._start_ns:
            self._start_ns = log_ns
        if self._end_ns is None or log_ns > self._end_ns:
            self._end_ns = log_ns


def rewrite_generic(
    bag: Bag,
    writer: BagWriter,
    edit: Edit,
    *,
    selection: Selection = Selection(),  # noqa: B008 - frozen
    records: Iterable[MetadataRecord] = (),
    progress: Progress | None = None,
    total_bytes: int = 0,
) -> WriteReport:
    """Rewrite a bag into a writer, which is closed, or let go of after an error.

    Raises:
        BagError: A time is out of range, or fewer messages could be read than the bag counts.
    """
    rewrite = Rewrite(bag, writer, edit, selection)
    try:
        rewrite.add_channels()
        for attachment in bag.attachments():
            writer.add_attachment(attachment)
        for record in (*bag.metadata_records(), *records):
            writer.add_metadata(record)
        rewrite.run(progress, total_bytes)
        if selection.start_ns is None and selection.end_ns is None:
            _check_counts(bag, rewrite.read)
        writer.close()
    except BaseException:
        writer.abort()
        raise
    rewrite.report.warnings += list(getattr(writer, "warnings", ()))
    return rewrite.report


def _check_counts(bag: Bag, read: dict[int, int]) -> None:
    counts: dict[int, int] = dict(bag.counts)
    names: dict[int, Channel] = {channel.id: channel for channel in bag.channels}
    for id_, count in read.items():
        if count != counts[id_]:
            msg = (
                f"{bag.path}: topic {names[id_].topic} counts {counts[id_]} messages,"
                f" but {count} could be read"
            )
            raise BagError(msg)
