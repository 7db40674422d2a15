"""Whatever an MCAP file looks like: read whole and in order, and copied without loss."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType, IndexType
from mcap_samples import (
    CHANNELS,
    T0,
    Got,
    Sent,
    Shape,
    extras,
    plain_messages,
    read_by_index,
    read_in_order,
    write_mcap,
)

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.generic import rewrite_generic
from bagnoise.bags.mcap_bag import McapBag
from bagnoise.bags.mcap_rewrite import can_copy_chunks
from bagnoise.bags.mcap_writer import McapWriter
from bagnoise.bags.model import (
    Channel,
    Message,
    Output,
    PassThrough,
    Schema,
    Selection,
    WriteOptions,
)

NEW = Channel(99, "/new", Schema("std_msgs/msg/String", "ros2msg", b"string data\n"))

shapes = st.builds(
    Shape,
    compression=st.sampled_from(list(CompressionType)),
    chunk_size=st.sampled_from([1, 200, 1000, 100_000]),
    chunking=st.booleans(),
    index=st.sampled_from(
        [IndexType.ALL, IndexType.NONE, IndexType.CHUNK, IndexType.MESSAGE, IndexType.ATTACHMENT]
    ),
    statistics=st.booleans(),
    repeat=st.booleans(),
    offsets=st.booleans(),
    crcs=st.booleans(),
)
message = st.builds(
    Sent,
    channel=st.integers(0, len(CHANNELS) - 2),
    log_ns=st.integers(0, 40).map(lambda n: T0 + n * 100_000_000),  # ties and disorder
    data=st.binary(max_size=60),
    publish_ns=st.integers(0, 2**62),
    sequence=st.integers(0, 2**32 - 1),
)
LIGHT = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def as_read(bag: McapBag) -> list[Got]:
    def schema(channel: Channel) -> tuple[str, str, bytes] | None:
        s = channel.schema
        return (s.name, s.encoding, s.data) if s.name else None

    return [
        Got(
            m.channel.topic,
            schema(m.channel),
            m.channel.message_encoding,
            tuple(sorted(m.channel.metadata.items())),
            m.log_ns,
            m.publish_ns,
            m.sequence,
            bytes(m.data),
        )
        for m in bag.messages()
    ]


@LIGHT
@given(shape=shapes, messages=st.lists(message, max_size=40), reverse=st.booleans())
def test_reading_and_copying_keep_everything(
    shape: Shape, messages: list[Sent], reverse: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = write_mcap(Path(name) / "in.mcap", messages, shape, reverse_ids=reverse)
        wanted = read_in_order(path)
        with McapBag([path]) as bag:
            assert as_read(bag) == wanted
            assert sum(bag.counts.values()) == len(wanted)
            span = bag.span()
            times = [got.log_ns for got in wanted]
            assert (span and tuple(span)) == ((times[0], times[-1]) if times else None)
            rewrite(bag, Path(name) / "out.mcap", PassThrough())
        out = Path(name) / "out.mcap"
        assert read_in_order(out) == wanted
        assert read_by_index(out.read_bytes()) == [(g.topic, g.log_ns, g.data) for g in wanted]
        assert extras(out) == ([("track.csv", b"x,y")], [("drive", {"driver": "none"})])
        with out.open("rb") as stream:
            summary = make_reader(stream).get_summary()
        assert summary is not None
        assert summary.statistics is not None
        assert summary.statistics.message_count == len(wanted)
        topics = sorted(channel.topic for channel in summary.channels.values())
        if shape.repeat or messages:  # a silent channel of an unrepeated file is in its chunks
            assert topics == sorted(channel.topic for channel in CHANNELS)


@pytest.mark.parametrize("compression", list(CompressionType))
def test_rosbags_reads_the_copy(tmp_path: Path, compression: CompressionType) -> None:
    from rosbags.rosbag2 import Reader

    channels = CHANNELS[:2]
    sent = [m._replace(channel=m.channel % 2) for m in plain_messages(50)]
    path = write_mcap(tmp_path / "in.mcap", sent, Shape(compression=compression), channels)
    with open_bag(path) as bag:
        rewrite(bag, tmp_path / "copy", PassThrough())
    with Reader(tmp_path / "copy") as reader:
        got = [(c.topic, t, data) for c, t, data in reader.messages()]
    assert got == [(channels[m.channel].topic, m.log_ns, m.data) for m in sent]


class Job(PassThrough):
    """Replaces /a (in place, or moved by a time), reads /b and adds a message for each."""

    def __init__(self, bag: McapBag, moved_ns: int) -> None:
        a = [channel for channel in bag.channels if channel.topic == "/a"]
        b = [channel for channel in bag.channels if channel.topic == "/b"]
        self.replaces = frozenset(channel.id for channel in a)
        self.reads = self.replaces | {channel.id for channel in b}
        self.adds = (*a, NEW)
        self._moved_ns = moved_ns
        self._pending: list[tuple[int, bytes]] = []

    def process(self, message: Message) -> Iterable[Output]:
        data = bytes(message.data)
        if message.channel.id in self.replaces:
            changed = message._replace(data=data[::-1], log_ns=message.log_ns + self._moved_ns)
            return (Output(changed, in_place=self._moved_ns == 0),)
        self._pending.append((message.log_ns + 30_000_000, data))
        return ()

    def advance(self, log_ns: int) -> Iterable[Output]:
        due = [p for p in self._pending if p[0] < log_ns]
        self._pending = [p for p in self._pending if p[0] >= log_ns]
        return [Output(Message(NEW, t, t, 0, data)) for t, data in due]

    def finish(self) -> Iterable[Output]:
        return self.advance(1 << 63)


@LIGHT
@given(
    messages=st.lists(message, max_size=60),
    chunk_size=st.sampled_from([1, 300, 5000]),
    moved_ns=st.sampled_from([0, 250_000_000, -130_000_000]),
    cut=st.sampled_from([(None, None), (T0 + 10**9, None), (T0 + 5 * 10**8, T0 + 2 * 10**9)]),
    ordered=st.booleans(),
)
def test_copying_chunks_gives_what_rewriting_every_message_gives(
    messages: list[Sent],
    chunk_size: int,
    moved_ns: int,
    cut: tuple[int | None, int | None],
    ordered: bool,
) -> None:
    if ordered:
        messages = sorted(messages, key=lambda m: m.log_ns)
    selection = Selection(None, *cut)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = write_mcap(folder / "in.mcap", messages, Shape(chunk_size=chunk_size))
        with McapBag([path]) as bag:
            writer = McapWriter(folder / "slow.mcap")
            rewrite_generic(bag, writer, Job(bag, moved_ns), selection=selection)
            for workers in (1, 3):
                rewrite(
                    bag,
                    folder / f"fast{workers}.mcap",
                    Job(bag, moved_ns),
                    selection=selection,
                    options=WriteOptions(workers=workers, chunk_bytes=700),
                )
        slow = [read_by_index((folder / "slow.mcap").read_bytes())]
        fast = [(folder / f"fast{workers}.mcap").read_bytes() for workers in (1, 3)]
        assert fast[0] == fast[1]
        assert [read_by_index(fast[0])] == slow


def chunk_bytes(path: Path) -> list[bytes]:
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    data = path.read_bytes()
    return [
        data[c.chunk_start_offset : c.chunk_start_offset + c.chunk_length]
        for c in sorted(summary.chunk_indexes, key=lambda c: c.chunk_start_offset)
    ]


def test_chunks_that_do_not_change_are_copied_as_they_are(tmp_path: Path) -> None:
    channels = (CHANNELS[0], CHANNELS[1], CHANNELS[3])
    # /a stands alone in the first part, /json in the last; /b everywhere between
    pattern = [0] * 40 + [1, 0] * 10 + [1] * 40 + [2] * 40
    sent = [Sent(c, T0 + n * 10_000_000, bytes([n]) * 50, T0, n) for n, c in enumerate(pattern)]
    path = write_mcap(tmp_path / "in.mcap", sent, Shape(chunk_size=1000), channels)
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "copy.mcap", PassThrough())
        rewrite(bag, tmp_path / "job.mcap", Job(bag, 0))
    source = chunk_bytes(path)
    assert chunk_bytes(tmp_path / "copy.mcap") == source
    with McapBag([path]) as bag:
        (a,) = (c.id for c in bag.channels if c.topic == "/a")
        layout = bag.files[0].layout
        changed = [a in {bag.files[0].channels[i].id for i in c.counts} for c in layout.chunks]
    kept = [chunk for chunk, change in zip(source, changed, strict=True) if not change]
    out = chunk_bytes(tmp_path / "job.mcap")
    assert 0 < len(kept) < len(source)
    assert [chunk for chunk in out if chunk in kept] == kept


def test_new_messages_have_chunks_of_their_own_of_bounded_span(tmp_path: Path) -> None:
    sent = [m._replace(channel=1) for m in plain_messages(300)]
    path = write_mcap(tmp_path / "in.mcap", sent, Shape(chunk_size=2000), CHANNELS[:2])
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "out.mcap", Job(bag, 0))
    with McapBag([tmp_path / "out.mcap"]) as bag:
        ids = {channel.topic: channel.id for channel in bag.channels}
        new = [
            chunk
            for chunk in bag.files[0].layout.chunks
            if {bag.files[0].channels[id_].id for id_ in chunk.counts} == {ids["/new"]}
        ]
        assert bag.counts[ids["/new"]] == sum(sum(c.counts.values()) for c in new) == 300
        assert all(c.end_ns - c.start_ns <= 500_000_000 for c in new)
        starts = [chunk.start_ns for chunk in bag.files[0].layout.chunks]
    assert max(earlier - later for earlier, later in itertools.pairwise(starts)) <= 500_000_000


class Greeting(PassThrough):
    """Makes one message at the first that it sees, and none after."""

    def __init__(self, bag: McapBag) -> None:
        self.adds = (NEW,)
        self.reads = frozenset(channel.id for channel in bag.channels)
        self.is_said = False

    def process(self, message: Message) -> list[Output]:
        if self.is_said:
            return []
        self.is_said = True
        return [Output(Message(NEW, message.log_ns + 5, message.log_ns, 0, b"hello"))]


def test_a_new_message_that_none_follows_does_not_wait_for_the_end(tmp_path: Path) -> None:
    times = [T0 + n * 100_000_000 for n in range(300)]
    sent = [Sent(0, log_ns, b"x" * 100, log_ns, 0) for log_ns in times]
    path = write_mcap(tmp_path / "in.mcap", sent, Shape(chunk_size=200), CHANNELS[:1])
    out = tmp_path / "out.mcap"
    with McapBag([path]) as bag:
        rewrite(bag, out, Greeting(bag))
    with McapBag([out]) as bag:
        starts = [chunk.start_ns for chunk in bag.files[0].layout.chunks]
        assert can_copy_chunks(bag, WriteOptions())
    assert T0 + 5 in starts
    # the chunk waits for 0.5 s, and for the source chunk that comes then
    assert max(earlier - later for earlier, later in itertools.pairwise(starts)) <= 700_000_000


def test_split_files_whose_ids_mean_different_things(tmp_path: Path) -> None:
    first, second = plain_messages(40), plain_messages(80)[40:]
    one = write_mcap(tmp_path / "x_0.mcap", first)
    two = write_mcap(tmp_path / "x_1.mcap", second, reverse_ids=True)
    wanted = read_in_order(one) + read_in_order(two)
    with McapBag([one, two]) as bag:
        assert as_read(bag) == wanted
        assert len(bag.channels) == len(CHANNELS)
        rewrite(bag, tmp_path / "out.mcap", PassThrough())
        rewrite(bag, tmp_path / "job.mcap", Job(bag, 0))
    assert read_in_order(tmp_path / "out.mcap") == wanted
    jobs = [got for got in read_in_order(tmp_path / "job.mcap") if got.topic not in {"/a", "/new"}]
    assert jobs == [got for got in wanted if got.topic != "/a"]


def test_a_latched_message_from_before_the_cut_moves_to_it(tmp_path: Path) -> None:
    sent = plain_messages(60)
    path = write_mcap(tmp_path / "in.mcap", sent)
    cut_ns = T0 + 300_000_000
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "out.mcap", PassThrough(), selection=Selection(None, cut_ns))
    got = [m for m in read_in_order(tmp_path / "out.mcap") if m.topic == "/latched"]
    latched = [m for m in sent if CHANNELS[m.channel].topic == "/latched"]
    before = [m for m in latched if m.log_ns < cut_ns]
    assert (got[0].log_ns, got[0].data) == (cut_ns, before[-1].data)
    assert [m.data for m in got[1:]] == [m.data for m in latched if m.log_ns >= cut_ns]


@pytest.mark.parametrize("text", ["zstd:1", "zstd:9", "lz4", "none"])
def test_the_compression_can_be_changed(tmp_path: Path, text: str) -> None:
    path = write_mcap(tmp_path / "in.mcap", plain_messages(100))
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "o.mcap", PassThrough(), options=WriteOptions(compression=text))
    assert read_in_order(tmp_path / "o.mcap") == read_in_order(path)
    with (tmp_path / "o.mcap").open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    name = text.partition(":")[0]
    assert {c.compression for c in summary.chunk_indexes} == {"" if name == "none" else name}


def test_sorted_puts_messages_into_file_order(tmp_path: Path) -> None:
    sent = plain_messages(60)[::-1]
    path = write_mcap(tmp_path / "in.mcap", sent)
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "o.mcap", PassThrough(), options=WriteOptions(sort_file=True))
    with (tmp_path / "o.mcap").open("rb") as stream:
        reader = make_reader(stream)
        times = [m.log_time for _, _, m in reader.iter_messages(log_time_order=False)]
    assert times == sorted(times)
