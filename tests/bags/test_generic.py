from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING

import pytest
from sqlite_samples import T0, Row, Topic, write_db3

from bagnoise.bags import open_bag
from bagnoise.bags.generic import Reorder, rewrite_generic
from bagnoise.bags.model import Channel, Message, Output, PassThrough, Schema
from bagnoise.bags.writer import LARGEST_NS
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from bagnoise.bags.model import Attachment, MetadataRecord

CHANNEL = Channel(1, "/a", Schema("x"))


class Recorder:
    """A writer that remembers times and copies what is only lent."""

    largest_ns = LARGEST_NS

    def __init__(self) -> None:
        self.channels: list[str] = []
        self.written: list[tuple[str, int]] = []
        self.ended = ""

    def add_channel(self, channel: Channel) -> None:
        self.channels.append(channel.topic)

    def write(self, message: Message) -> None:
        self.written.append((message.channel.topic, message.log_ns - T0))

    def add_attachment(self, attachment: Attachment) -> None:
        raise AssertionError(attachment)

    def add_metadata(self, record: MetadataRecord) -> None:
        raise AssertionError(record)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


class Late(PassThrough):
    """Moves everything of /a by 50 ns."""

    reads = replaces = frozenset({1})

    def __init__(self, channel: Channel) -> None:
        self.adds = (channel,)

    def process(self, message: Message) -> Iterable[Output]:
        yield Output(message._replace(log_ns=message.log_ns + 50))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rows = [Row("/a", T0 + n, bytes(1000)) for n in range(0, 100, 10)]
    rows += [Row("/b", T0 + n, bytes(1000)) for n in range(5, 100, 10)]
    return write_db3(tmp_path / "x.db3", [Topic("/a"), Topic("/b")], rows)


def test_the_file_itself_is_in_time_order(source: Path) -> None:
    writer = Recorder()
    with open_bag(source) as bag:
        rewrite_generic(bag, writer, Late(bag.channels[0]))
    assert writer.ended == "closed"
    assert writer.channels == ["/a", "/b"]
    times = [t for _, t in writer.written]
    assert times == sorted(times)
    assert len(times) == 20


def test_reorder_lets_go_early_rather_than_hold_too_much() -> None:
    held = Reorder(held_bytes=2500)
    for n in (5, 3, 4):
        held.push(Message(CHANNEL, n, n, 0, bytes(1000)))
    assert [message.log_ns for message in held.due(0)] == [3]
    assert [message.log_ns for message in held.due(5)] == [4]
    assert [message.log_ns for message in held.due(None)] == [5]


def test_reorder_copies_what_is_only_lent() -> None:
    buffer = bytearray(b"old")
    held = Reorder()
    held.push(Message(CHANNEL, 1, 1, 0, memoryview(buffer)))
    buffer[:] = b"new"
    assert [message.data for message in held.due(None)] == [b"old"]


def test_fewer_messages_than_counted_is_an_error(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def one_more(self: object) -> Mapping[int, int]:
        return {1: 11, 2: 10}

    writer = Recorder()
    with open_bag(source) as bag:
        monkeypatch.setattr(type(bag), "counts", property(one_more))
        with pytest.raises(BagError, match="topic /a counts 11 messages, but 10 could be read"):
            rewrite_generic(bag, writer, PassThrough())
    assert writer.ended == "aborted"


@pytest.mark.parametrize("index", [True, False])
def test_memory_does_not_grow_with_the_bag(tmp_path: Path, index: bool) -> None:
    peaks = []
    for count in (40, 160):
        rows = (Row("/a", T0 + (n ^ 1), bytes(100_000)) for n in range(count))
        path = write_db3(tmp_path / f"{count}.db3", [Topic("/a")], list(rows), index=index)
        with open_bag(path) as bag:
            tracemalloc.start()
            rewrite_generic(bag, Recorder(), Late(bag.channels[0]))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 8_000_000


def test_progress_comes_to_its_end(source: Path) -> None:
    seen: list[tuple[int, int]] = []
    with open_bag(source) as bag:
        rewrite_generic(
            bag,
            Recorder(),
            PassThrough(),
            progress=lambda done_bytes, total_bytes: seen.append((done_bytes, total_bytes)),
            total_bytes=77,
        )
    assert seen[-1] == (77, 77)
