"""Edits of MCAP bags: copying chunks gives what rewriting every message gives, byte for byte.

Files are built by hand, so that chunks with and without index, loose messages, lying headers and
files whose ids differ stand side by side.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_by_hand import T0, Note, Sample, channel, chunked, note, schema
from mcap_samples import LATCHED

from bagnoise.bags import rewrite
from bagnoise.bags.generic import rewrite_generic
from bagnoise.bags.mcap_bag import McapBag
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

STEP_NS = 100_000_000
NEW = Channel(99, "/new", Schema("x/msg/T", "ros2msg", b"int8 a\n"))
TOPICS = {1: "/a", 2: "/b", 3: "/c"}
Line = tuple[str, int, int, int, bytes]


def names(ids: dict[int, str]) -> list[bytes]:
    """Channels of one schema; /c is latched."""
    qos = {"/c": LATCHED}
    channels = (channel(id_, 7, topic, qos.get(topic, "")) for id_, topic in ids.items())
    return [schema(7, "std_msgs/msg/String"), *channels]


@dataclass
class Deeds(PassThrough):
    """What is done with each topic: keep, turn (in place), move, drop, twice, echo (to /new)."""

    bag: McapBag
    deeds: dict[str, str]
    shift_ns: int
    held: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        touched = [c for c in self.bag.channels if self.deeds[c.topic] != "keep"]
        self.reads = frozenset(c.id for c in touched)
        replaced = [c for c in touched if self.deeds[c.topic] != "echo"]
        self.replaces = frozenset(c.id for c in replaced)
        stay = [c for c in replaced if self.deeds[c.topic] != "drop"]
        self.adds = (*stay, NEW)

    def process(self, message: Message) -> Iterable[Output]:
        deed = self.deeds[message.channel.topic]
        data = bytes(message.data)
        late = message._replace(log_ns=message.log_ns + self.shift_ns, data=data)
        if deed == "turn":
            return [Output(message._replace(data=data[::-1]), in_place=True)]
        if deed == "move":
            return [Output(late)]
        if deed == "twice":
            return [Output(message, in_place=True), Output(late)]
        if deed == "echo":
            self.held.append(late._replace(channel=NEW, publish_ns=late.log_ns))
        return []

    def advance(self, log_ns: int) -> Iterable[Output]:
        due = [message for message in self.held if message.log_ns < log_ns]
        self.held = [message for message in self.held if message.log_ns >= log_ns]
        return [Output(message) for message in due]

    def finish(self) -> Iterable[Output]:
        return self.advance(1 << 65)


def by_package(path: Path) -> list[Line]:
    with path.open("rb") as stream:
        return [
            (c.topic, m.log_time, m.publish_time, m.sequence, m.data)
            for _, c, m in make_reader(stream, validate_crcs=True).iter_messages()
        ]


def by_us(path: Path) -> list[Line]:
    with McapBag([path], verify=True) as bag:
        assert bag.warnings == []
        return [
            (m.channel.topic, m.log_ns, m.publish_ns, m.sequence, bytes(m.data))
            for m in bag.messages()
        ]


@st.composite
def samples(draw: st.DrawFn, ids: dict[int, str]) -> Sample:
    """Chunks in rough order, with ties, disorder, and one of them odd."""
    count = draw(st.integers(0, 4))
    drift = draw(st.sampled_from([0, 2, 7]))
    one = st.builds(
        Note,
        channel=st.sampled_from(sorted(ids)),
        log_ns=st.integers(0, 3),
        data=st.binary(max_size=12).map(lambda data: b"\0\1\0\0" + data),
    )
    chunks = [
        [
            m._replace(log_ns=T0 + (m.log_ns + number * drift) * STEP_NS)
            for m in draw(st.lists(one, min_size=1, max_size=6))
        ]
        for number in range(count)
    ]
    sample = Sample(chunks, draw(st.sampled_from(["zstd", "lz4", ""])), names(ids))
    odd = draw(st.sampled_from(["nothing", "header", "no index", "loose", "no summary"]))
    if odd == "header":
        sample.head_lie = lambda number, times: (0, times[1]) if number == 0 else times
    elif odd == "no index":
        sample.pairs_lie = lambda number, pairs: {} if number == 1 else pairs
    elif odd == "loose":
        sample.between = {0: [note(Note(min(ids), T0 + STEP_NS), 5)]}
    elif odd == "no summary":
        sample.summary = False
    return sample


cuts = st.one_of(
    st.just((None, None)),
    st.tuples(st.integers(0, 4), st.integers(5, 9)).map(
        lambda pair: (T0 + pair[0] * STEP_NS, T0 + pair[1] * STEP_NS)
    ),
)
deeds = st.fixed_dictionaries(
    dict.fromkeys(
        TOPICS.values(), st.sampled_from(["keep", "turn", "move", "drop", "twice", "echo"])
    )
)
OTHER = {3: "/a", 1: "/b", 2: "/c"}  # the same ids, meaning something else


@settings(max_examples=200, deadline=None)
@given(
    files=st.one_of(
        st.tuples(samples(TOPICS)),
        st.tuples(samples(TOPICS), samples(TOPICS)),
        st.tuples(samples(TOPICS), samples(OTHER)),
    ),
    what=deeds,
    shift=st.sampled_from([-1, 1, 4]),
    cut=cuts,
    left_out=st.sampled_from([None, "/a", "/c"]),
    chunk_bytes=st.sampled_from([1, 60, 1 << 20]),
)
def test_the_fast_way_gives_what_the_slow_way_gives(
    files: tuple[Sample, ...],
    what: dict[str, str],
    shift: int,
    cut: tuple[int | None, int | None],
    left_out: str | None,
    chunk_bytes: int,
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [f.write(folder / f"in_{number}.mcap") for number, f in enumerate(files)]
        with McapBag(paths) as bag:
            chosen = frozenset(c.id for c in bag.channels if c.topic != left_out)
            selection = Selection(None if left_out is None else chosen, *cut)
            slow = rewrite_generic(
                bag,
                McapWriter(folder / "slow.mcap"),
                Deeds(bag, what, shift * STEP_NS),
                selection=selection,
            )
            for workers in (1, 2, 4):
                fast = rewrite(
                    bag,
                    folder / f"fast{workers}.mcap",
                    Deeds(bag, what, shift * STEP_NS),
                    selection=selection,
                    options=WriteOptions(workers=workers, chunk_bytes=chunk_bytes),
                )
                assert (fast.copied, fast.written, fast.span) == (
                    slow.copied,
                    slow.written,
                    slow.span,
                )
        right = by_package(folder / "slow.mcap")
        assert by_us(folder / "slow.mcap") == right
        assert by_us(folder / "fast1.mcap") == right
        assert by_package(folder / "fast1.mcap") == right
        data = (folder / "fast1.mcap").read_bytes()
        assert (folder / "fast2.mcap").read_bytes() == data
        assert (folder / "fast4.mcap").read_bytes() == data


def test_one_odd_chunk_does_not_keep_the_others_from_being_copied(tmp_path: Path) -> None:
    sample = Sample(chunked(), "zstd", crc=False)  # one made anew has a checksum
    sample.head_lie = lambda number, times: (0, times[1]) if number == 1 else times
    path = sample.write(tmp_path / "x.mcap")
    with McapBag([path]) as bag:
        rewrite(bag, tmp_path / "out.mcap", PassThrough())
    source, out = chunk_records(path), chunk_records(tmp_path / "out.mcap")
    assert [out[0], out[2]] == [source[0], source[2]]
    assert out[1] != source[1]
    assert by_us(tmp_path / "out.mcap") == by_package(path)


def chunk_records(path: Path) -> list[bytes]:
    data = path.read_bytes()
    with McapBag([path]) as bag:
        return [data[chunk.offset : chunk.end] for chunk in bag.files[0].layout.chunks]


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_a_new_message_follows_every_source_message_of_its_time(
    tmp_path: Path, chunk_bytes: int
) -> None:
    """Over three chunks and two files that all hold messages of one time."""
    tie = T0 + 5 * STEP_NS
    chunks = [
        [Note(1, T0), Note(1, T0), Note(2, tie)],
        [Note(3, tie), Note(2, tie)],
        [Note(1, tie + STEP_NS)],
    ]
    one = Sample(chunks, names=names(TOPICS)).write(tmp_path / "in_0.mcap")
    two = Sample([[Note(2, tie), Note(3, tie)]], names=names(OTHER)).write(tmp_path / "in_1.mcap")
    what = {"/a": "echo", "/b": "keep", "/c": "turn"}
    with McapBag([one, two]) as bag:
        options = WriteOptions(chunk_bytes=chunk_bytes)
        rewrite(bag, tmp_path / "out.mcap", Deeds(bag, what, 5 * STEP_NS), options=options)
    found = [topic for topic, log_ns, *_ in by_package(tmp_path / "out.mcap") if log_ns == tie]
    assert found == ["/b", "/c", "/b", "/c", "/a", "/new", "/new"]


@pytest.mark.parametrize("chunk_bytes", [1, 500, 1 << 20])
def test_new_chunks_close_at_their_size_and_span(tmp_path: Path, chunk_bytes: int) -> None:
    notes = [Note(1, T0 + n * STEP_NS, b"\0\1\0\0" + bytes(40)) for n in range(30)]
    path = Sample([notes[:15], notes[15:]], names=names(TOPICS)).write(tmp_path / "x.mcap")
    options = WriteOptions(chunk_bytes=chunk_bytes)
    with McapBag([path]) as bag:
        what = {"/a": "echo", "/b": "keep", "/c": "keep"}
        rewrite(bag, tmp_path / "out.mcap", Deeds(bag, what, STEP_NS // 2), options=options)
    with McapBag([tmp_path / "out.mcap"]) as bag:
        (new,) = (id_ for id_, c in bag.files[0].channels.items() if c.topic == "/new")
        made = [c for c in bag.files[0].layout.chunks if new in c.counts]
    assert all(set(chunk.counts) == {new} for chunk in made)
    assert all(chunk.end_ns - chunk.start_ns <= 500_000_000 for chunk in made)
    message_bytes = 9 + 22 + 44
    assert all(chunk.uncompressed_bytes < chunk_bytes + message_bytes for chunk in made)
    per_chunk = min(6, -(-chunk_bytes // message_bytes))
    assert len(made) == -(-30 // per_chunk)


def test_a_cut_is_exact_at_both_ends_of_every_chunk(tmp_path: Path) -> None:
    sample = Sample(chunked(9, 3))
    path = sample.write(tmp_path / "x.mcap")
    right = by_package(path)
    times = [line[1] for line in right]
    out = tmp_path / "out.mcap"
    with McapBag([path]) as bag:
        for first in range(9):
            for end in range(first + 1, 9):
                selection = Selection(None, times[first], times[end])
                rewrite(bag, out, PassThrough(), selection=selection)
                assert by_package(out) == right[first:end]
                out.unlink()
