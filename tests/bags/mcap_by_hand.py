"""MCAP files built record by record, for what the mcap package does not write: lies and oddities.

Independent of the code under test: the layout is typed in here once more, from the specification.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import lz4.frame
import zstandard

MAGIC = b"\x89MCAP0\r\n"
T0 = 1_700_000_000_123_456_789
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "zstd": zstandard.ZstdCompressor(level=3).compress,
    "lz4": lz4.frame.compress,
}
Pairs = dict[int, list[tuple[int, int]]]


class Note(NamedTuple):
    """A message; ``channel`` is its id in the file."""

    channel: int
    log_ns: int
    data: bytes = b"\0\1\0\0note"


class Index(NamedTuple):
    """A chunk index as it is written."""

    start_ns: int
    end_ns: int
    offset: int
    length: int
    index_offsets: dict[int, int]
    index_length: int


def same(_: int, value: Any) -> Any:
    """Tell the truth."""
    return value


def record(opcode: int, body: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(body)) + body


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<I", len(raw)) + raw


def table(values: dict[str, str]) -> bytes:
    raw = b"".join(text(key) + text(value) for key, value in values.items())
    return struct.pack("<I", len(raw)) + raw


def schema(id_: int, name: str, data: bytes = b"string data\n") -> bytes:
    body = struct.pack("<H", id_) + text(name) + text("ros2msg")
    return record(3, body + struct.pack("<I", len(data)) + data)


def channel(id_: int, schema_id: int, topic: str, qos: str = "") -> bytes:
    values = table({"offered_qos_profiles": qos} if qos else {})
    return record(4, struct.pack("<HH", id_, schema_id) + text(topic) + text("cdr") + values)


def note(message: Note, number: int) -> bytes:
    head = struct.pack("<HIQQ", message.channel, number, message.log_ns, number)
    return record(5, head + message.data)


def attachment(name: str, data: bytes) -> bytes:
    body = struct.pack("<QQ", T0, T0) + text(name) + text("text/plain")
    body += struct.pack("<Q", len(data)) + data
    return record(9, body + struct.pack("<I", zlib.crc32(body)))


def metadata(name: str) -> bytes:
    return record(12, text(name) + table({"a": "b"}))


@dataclass
class Sample:
    """A file; each lie is given the number of its chunk and the truth, and returns what is said.

    ``between`` are loose records after a chunk, by its number; -1: before the first.
    """

    chunks: list[list[Note]]
    compression: str = "zstd"
    names: list[bytes] = field(
        default_factory=lambda: [
            schema(1, "std_msgs/msg/String"),
            channel(1, 1, "/a"),
            channel(2, 1, "/b"),
        ]
    )
    names_in_chunk: bool = False
    names_again: bool = True
    named_again: int | None = None  # how many of the names the summary repeats; None: all
    crc: bool = True
    summary: bool = True
    summary_crc: bool = True
    between: dict[int, list[bytes]] = field(default_factory=dict)
    extras: list[bytes] = field(default_factory=list)
    head_lie: Callable[[int, tuple[int, int]], tuple[int, int]] = same
    pairs_lie: Callable[[int, Pairs], Pairs] = same
    index_lie: Callable[[int, Index], Index | None] = same
    place_lie: Callable[[int, tuple[int, int]], tuple[int, int] | None] = same
    count_lie: Callable[[int, int], int] = same  # statistics: 0 messages, 1 attachments, 2 chunks
    counts: dict[int, int] | None = None  # by channel, as statistics say it
    claimed_compression: str | None = None

    def write(self, path: Path) -> Path:
        """Write it."""
        self._out = bytearray(MAGIC + record(1, text("ros2") + text("by hand")))
        self._indexes: list[Index | None] = []
        self._sizes: list[tuple[int, int]] = []
        if not self.names_in_chunk:
            self._out += b"".join(self.names)
        self._out += b"".join(self.between.get(-1, []))
        for number, notes in enumerate(self.chunks):
            self._write_chunk(number, notes)
            self._out += b"".join(self.between.get(number, []))
        places = []
        for number, extra in enumerate(self.extras):
            places.append((extra, self.place_lie(number, (len(self._out), len(extra)))))
            self._out += extra
        self._out += record(15, bytes(4))
        self._finish(places)
        path.write_bytes(self._out)
        return path

    def _write_chunk(self, number: int, notes: list[Note]) -> None:
        content = bytearray(b"".join(self.names) if self.names_in_chunk and number == 0 else b"")
        pairs: Pairs = {}
        for position, message in enumerate(notes):
            pairs.setdefault(message.channel, []).append((message.log_ns, len(content)))
            content += note(message, 100 * number + position)
        times = [message.log_ns for message in notes] or [0]
        packed = PACK[self.compression](bytes(content))
        start, end = self.head_lie(number, (min(times), max(times)))
        body = struct.pack(
            "<QQQI", start, end, len(content), zlib.crc32(content) if self.crc else 0
        )
        name = self.compression if self.claimed_compression is None else self.claimed_compression
        whole = record(6, body + text(name) + struct.pack("<Q", len(packed)) + packed)
        offset = len(self._out)
        self._out += whole
        offsets = {}
        for id_, entries in self.pairs_lie(number, pairs).items():
            offsets[id_] = len(self._out)
            raw = b"".join(struct.pack("<QQ", *entry) for entry in entries)
            self._out += record(7, struct.pack("<HI", id_, len(raw)) + raw)
        length = len(self._out) - offset - len(whole)
        truth = Index(min(times), max(times), offset, len(whole), offsets, length)
        self._indexes.append(self.index_lie(number, truth))
        self._sizes.append((len(packed), len(content)))

    def _finish(self, places: list[tuple[bytes, tuple[int, int] | None]]) -> None:
        summary = b""
        if self.summary:
            summary = b"".join(self.names[: self.named_again]) if self.names_again else b""
            for index, sizes in zip(self._indexes, self._sizes, strict=True):
                summary += self._index_record(index, sizes) if index is not None else b""
            for extra, place in places:
                summary += b"" if place is None else place_record(extra, *place)
            summary += self._statistics(places)
        start = len(self._out) if summary else 0
        foot = struct.pack("<BQQQ", 2, 20, start, 0)
        crc = zlib.crc32(summary + foot) if self.summary_crc else 0
        self._out += summary + foot + struct.pack("<I", crc) + MAGIC

    def _index_record(self, index: Index, sizes: tuple[int, int]) -> bytes:
        offsets = b"".join(struct.pack("<HQ", *item) for item in index.index_offsets.items())
        name = self.compression if self.claimed_compression is None else self.claimed_compression
        return record(
            8,
            struct.pack("<QQQQI", *index[:4], len(offsets))
            + offsets
            + struct.pack("<Q", index.index_length)
            + text(name)
            + struct.pack("<QQ", *sizes),
        )

    def _statistics(self, places: list[tuple[bytes, tuple[int, int] | None]]) -> bytes:
        notes = [message for chunk in self.chunks for message in chunk]
        listed = [place[0][0] for place in places if place[1] is not None]
        counts: dict[int, int] = {}
        for message in notes:
            counts[message.channel] = counts.get(message.channel, 0) + 1
        counts = counts if self.counts is None else self.counts
        times = [message.log_ns for message in notes] or [0]
        body = struct.pack(
            "<QHIIIIQQ",
            self.count_lie(0, len(notes)),
            1,
            len(self.names) - 1,
            self.count_lie(1, listed.count(9)),
            listed.count(12),
            self.count_lie(2, sum(index is not None for index in self._indexes)),
            min(times),
            max(times),
        )
        pairs = b"".join(struct.pack("<HQ", *item) for item in counts.items())
        return record(11, body + struct.pack("<I", len(pairs)) + pairs)


def place_record(extra: bytes, offset: int, length: int) -> bytes:
    """Index an attachment or a metadata record."""
    if extra[0] == 12:
        return record(13, struct.pack("<QQ", offset, length) + text("m"))
    times = struct.pack("<QQ", T0, T0)
    size = struct.pack("<Q", 1)
    return record(10, struct.pack("<QQ", offset, length) + times + size + text("f") + text("t"))


def notes(count: int, step_ns: int = 10_000_000, start_ns: int = T0) -> list[Note]:
    """Messages in turn on channels 1 and 2."""
    return [
        Note(n % 2 + 1, start_ns + n * step_ns, b"\0\1\0\0" + bytes([n]) * 20) for n in range(count)
    ]


def chunked(count: int = 12, per_chunk: int = 4) -> list[list[Note]]:
    """Put messages in turn into chunks."""
    all_ = notes(count)
    return [all_[at : at + per_chunk] for at in range(0, count, per_chunk)]
