"""What a storage file holds: how many messages of which channel, from when to when."""

from __future__ import annotations

from dataclasses import dataclass, field

from bagnoise.bags.model import Bag, Channel, Span


@dataclass
class FileStats:
    """Running account of one storage file."""

    name: str  # relative to its bag's folder
    channels: dict[int, Channel] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    start_ns: int | None = None
    end_ns: int | None = None

    def add_channel(self, channel: Channel) -> None:
        """Note a channel, which may stay empty."""
        self.channels[channel.id] = channel
        self.counts.setdefault(channel.id, 0)

    def add(self, channel_id: int, log_ns: int) -> None:
        """Count a message."""
        self.counts[channel_id] += 1
        if self.start_ns is None or log_ns < self.start_ns:
            self.start_ns = log_ns
        if self.end_ns is None or log_ns > self.end_ns:
            self.end_ns = log_ns

    @property
    def message_count(self) -> int:
        """Messages of all channels."""
        return sum(self.counts.values())

    @property
    def span(self) -> Span | None:
        """First and last log time."""
        return join_spans([self])


def describe(bag: Bag, name: str) -> FileStats:
    """Return the account of a storage file that is open as a bag."""
    span = bag.span()
    channels = {channel.id: channel for channel in bag.channels}
    start_ns, end_ns = span if span is not None else (None, None)
    return FileStats(name, channels, dict(bag.counts), start_ns, end_ns)


def join_spans(files: list[FileStats]) -> Span | None:
    """Return first and last log time over files, None if there is no message."""
    starts = [file.start_ns for file in files if file.start_ns is not None]
    ends = [file.end_ns for file in files if file.end_ns is not None]
    return Span(min(starts), max(ends)) if starts else None
