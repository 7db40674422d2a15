"""Few messages of an uncompressed chunk are read by themselves, and are the same ones."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType
from mcap_samples import T0, Channel, Sent, Shape, write_mcap

from bagnoise.bags import mcap_pick, rewrite
from bagnoise.bags.mcap_bag import McapBag
from bagnoise.bags.model import Message, Output, PassThrough, WriteOptions
from bagnoise.errors import DamagedBagError

CHANNELS = (Channel("/small"), Channel("/big"), Channel("/other"))
BIG_BYTES = 5000
Line = tuple[str, int, int, int, bytes]


def sent(count: int = 200) -> list[Sent]:
    """One big message in two, the small ones 20 ms apart; some times equal, some out of order."""
    draw = random.Random(6)
    return [
        Sent(
            (1, 0, 1, 2)[n % 4],
            T0 + (n - n % 3) * 10_000_000,
            draw.randbytes(BIG_BYTES if n % 2 == 0 else 40),
            T0 + n,
            n,
        )
        for n in range(count)
    ]


def sample(folder: Path, compression: CompressionType = CompressionType.NONE) -> Path:
    shape = Shape(compression=compression, chunk_size=100_000)
    return write_mcap(folder / "in.mcap", sent(), shape, CHANNELS)


def lines(path: Path, topics: Iterable[str], *, verify: bool = False) -> list[Line]:
    with McapBag([path], verify=verify) as bag:
        ids = [channel.id for channel in bag.channels if channel.topic in topics]
        return [
            (m.channel.topic, m.log_ns, m.publish_ns, m.sequence, bytes(m.data))
            for m in bag.messages(ids)
        ]


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counts: list[int] = []
    pread, preadv = os.pread, os.preadv

    def one(fd: int, count: int, offset: int) -> bytes:
        data = pread(fd, count, offset)
        counts.append(len(data))
        return data

    def some(fd: int, buffers: list[memoryview], offset: int) -> int:
        count = preadv(fd, buffers, offset)
        counts.append(count)
        return count

    monkeypatch.setattr("os.pread", one)
    monkeypatch.setattr("os.preadv", some)
    return counts


@pytest.mark.parametrize("topics", [{"/small"}, {"/small", "/other"}, {"/big"}, {"/big", "/other"}])
def test_the_same_messages_in_the_same_order(
    tmp_path: Path, topics: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample(tmp_path)
    picked = lines(path, topics)
    monkeypatch.setattr("bagnoise.bags.mcap_reading.pick", lambda *_: None)
    assert picked == lines(path, topics)
    assert len(picked) == sum(CHANNELS[m.channel].topic in topics for m in sent())


def test_little_is_read_for_little(tmp_path: Path, read_bytes: list[int]) -> None:
    path = sample(tmp_path)
    lines(path, {"/small"})
    small = sum(read_bytes)
    assert small < path.stat().st_size / 5
    read_bytes.clear()
    lines(path, {"/big"})
    assert sum(read_bytes) > path.stat().st_size


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50), st.binary(max_size=60)), max_size=40),
    st.sets(st.sampled_from(["/small", "/big", "/other"])),
    st.sampled_from([50, 400, 10_000]),
)
@settings(max_examples=60, deadline=None)
def test_any_file_gives_the_same_either_way(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[tuple[int, int, bytes]],
    topics: set[str],
    chunk_size: int,
) -> None:
    path = tmp_path_factory.mktemp("any") / "in.mcap"
    made = [Sent(id_, T0 + at, data, T0, n) for n, (id_, at, data) in enumerate(messages)]
    write_mcap(path, made, Shape(CompressionType.NONE, chunk_size), CHANNELS)
    whole = lines(path, topics)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mcap_pick, "_LEAST_BYTES", 0)
        patch.setattr(mcap_pick, "_MOST_SHARE", 1.0)
        assert lines(path, topics) == whole
    wanted = [CHANNELS[m.channel].topic for m in made if CHANNELS[m.channel].topic in topics]
    assert sorted(line[0] for line in whole) == sorted(wanted)


class _Echo(PassThrough):
    """Reads a topic and says it again half a second later; replaces another in some chunks."""

    def __init__(self, bag: McapBag) -> None:
        by_topic = {channel.topic: channel for channel in bag.channels}
        self._small, self._other = by_topic["/small"], by_topic["/other"]
        self.reads = frozenset({self._small.id})
        self.replaces = frozenset[int]()
        self.adds = (self._small,)

    def process(self, message: Message) -> Iterable[Output]:
        again = message._replace(log_ns=message.log_ns + 500_000_000, data=bytes(message.data))
        return [Output(message, in_place=True), Output(again)]


@pytest.mark.parametrize("replaces", [False, True])
def test_a_rewrite_gives_the_same_bytes_either_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, replaces: bool
) -> None:
    path = sample(tmp_path)
    made = []
    for name in ("picked", "whole"):
        with McapBag([path]) as bag:
            edit = _Echo(bag)
            if replaces:
                edit.replaces = edit.reads
            rewrite(bag, tmp_path / f"{name}.mcap", edit, options=WriteOptions())
        made.append((tmp_path / f"{name}.mcap").read_bytes())
        monkeypatch.setattr("bagnoise.bags.mcap_reading.pick", lambda *_: None)
    assert made[0] == made[1]


def at_of(path: Path, wanted: bytes) -> int:
    place = path.read_bytes().find(wanted)
    assert place > 0
    return place


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def test_an_index_that_points_elsewhere_is_named(tmp_path: Path) -> None:
    path = sample(tmp_path)
    first = next(m for m in sent() if m.channel == 0)
    flip(path, at_of(path, first.data) - 12)  # in the record's log time
    with pytest.raises(DamagedBagError, match=r"a message index points to byte \d+, where its"):
        lines(path, {"/small"})


def test_what_a_checksum_is_for(tmp_path: Path) -> None:
    """Of an uncompressed chunk the checksum is looked at when it is read whole, or verified."""
    path = sample(tmp_path)
    before = lines(path, {"/small"})
    big = next(m for m in sent() if m.channel == 1)
    flip(path, at_of(path, big.data) + 7)
    assert lines(path, {"/small"}) == before
    for topics, verify in (({"/big"}, False), ({"/small"}, True)):
        with pytest.raises(DamagedBagError, match="its checksum is wrong"):
            lines(path, topics, verify=verify)


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.LZ4])
def test_compressed_chunks_are_checked_whole(tmp_path: Path, compression: CompressionType) -> None:
    path = sample(tmp_path, compression)
    big = next(m for m in sent() if m.channel == 1)
    flip(path, at_of(path, big.data[100:140]) + 7)
    with pytest.raises(DamagedBagError):
        lines(path, {"/small"})


def test_chunks_are_copied_in_runs_of_bounded_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = sample(tmp_path)
    made = []
    for run_bytes in (1 << 24, 1, 250_000):
        monkeypatch.setattr("bagnoise.bags.mcap_output._RUN_BYTES", run_bytes)
        with McapBag([path]) as bag:
            rewrite(bag, tmp_path / f"{run_bytes}.mcap", _Echo(bag), options=WriteOptions())
        made.append((tmp_path / f"{run_bytes}.mcap").read_bytes())
    assert made[0] == made[1] == made[2]
