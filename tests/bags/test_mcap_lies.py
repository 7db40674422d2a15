"""MCAP files whose numbers lie: the right result or a clear error, never a silent loss.

A right result here: every message that is in the file comes out once, in order, and a copy is
whole under a second reader, through its index too.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcap.reader import NonSeekingReader, make_reader
from mcap_by_hand import (
    T0,
    Index,
    Note,
    Pairs,
    Sample,
    attachment,
    channel,
    chunked,
    metadata,
    note,
    notes,
    schema,
)

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.mcap_bag import McapBag
from bagnoise.bags.model import Bag, Channel, Message, Output, PassThrough, Schema
from bagnoise.errors import DamagedBagError

Line = tuple[str, int, bytes]


def truth(sample: Sample) -> list[Line]:
    topics = {1: "/a", 2: "/b"}
    found = [(topics[m.channel], m.log_ns, m.data) for chunk in sample.chunks for m in chunk]
    return sorted(found, key=lambda line: line[1])


def lines(path: Path, *, verify: bool = False, recover: bool = False) -> list[Line]:
    with open_bag(path, verify=verify, recover=recover) as bag:
        found = [(m.channel.topic, m.log_ns, bytes(m.data)) for m in bag.messages()]
        assert len(found) == sum(bag.counts.values())
        names = [a.name for a in bag.attachments()] + [m.name for m in bag.metadata_records()]
        assert len(names) == len(set(names))
        return found


def by_index(path: Path) -> list[Line]:
    with path.open("rb") as stream:
        reader = make_reader(stream, validate_crcs=True)
        return [(c.topic, m.log_time, m.data) for _, c, m in reader.iter_messages()]


def right_or_error(path: Path, right: list[Line], out: Path) -> bool:
    """Read, copy, verify; return whether all of them took the file."""
    results = [
        _try(lambda: lines(path)),
        _try(lambda: lines(path, verify=True)),
        _try(lambda: _copied(path, out, PassThrough())),
        _try(lambda: _copied(path, out, ReplaceA(path))),
    ]
    assert all(found in (None, right) for found in results), results
    assert lines(path, recover=True) == right
    return None not in results


def _try(read: Callable[[], list[Line]]) -> list[Line] | None:
    try:
        return read()
    except DamagedBagError:
        return None


class ReplaceA(PassThrough):
    """Replaces /a by itself."""

    def __init__(self, path: Path) -> None:
        with open_bag(path) as bag:
            self.adds = tuple(channel for channel in bag.channels if channel.topic == "/a")
        self.replaces = self.reads = frozenset(channel.id for channel in self.adds)

    def process(self, message: Message) -> list[Output]:
        return [Output(message, in_place=True)]


def _copied(path: Path, out: Path, edit: Any) -> list[Line]:
    out.unlink(missing_ok=True)
    with open_bag(path) as bag:
        rewrite(bag, out, edit)
    assert lines(out, verify=True) == by_index(out)
    check_indexes(out)
    return by_index(out)


def check_indexes(path: Path) -> None:
    """Look up every message by hand, through every offset that the summary names."""
    data = path.read_bytes()
    with path.open("rb") as stream:
        summary = make_reader(stream).get_summary()
    assert summary is not None
    assert summary.statistics is not None
    found = dict.fromkeys(summary.channels, 0)
    for index in summary.chunk_indexes:
        assert data[index.chunk_start_offset] == 6
        for id_, offset in index.message_index_offsets.items():
            opcode, _, channel_id, size = struct.unpack_from("<BQHI", data, offset)
            assert (opcode, channel_id) == (7, id_)
            found[id_] += size // 16
    assert {k: v for k, v in summary.statistics.channel_message_counts.items() if v} == {
        k: v for k, v in found.items() if v
    }


def drop_first(number: int, pairs: Pairs) -> Pairs:
    return {id_: entries[1:] for id_, entries in pairs.items()} if number == 1 else pairs


def twice_first(number: int, pairs: Pairs) -> Pairs:
    if number != 1:
        return pairs
    return {id_: [entries[0]] * len(entries) for id_, entries in pairs.items()}


def wrong_channel(number: int, pairs: Pairs) -> Pairs:
    return {1: pairs[2], 2: pairs[1]} if number == 1 else pairs


def all_on_one(number: int, pairs: Pairs) -> Pairs:
    return {1: sorted(pairs[1] + pairs[2])} if number == 1 else pairs


def other_time(number: int, pairs: Pairs) -> Pairs:
    return {id_: [(t + 5, at) for t, at in e] for id_, e in pairs.items()} if number else pairs


def far_offset(number: int, pairs: Pairs) -> Pairs:
    return {id_: [(t, at + 9999) for t, at in e] for id_, e in pairs.items()} if number else pairs


PAIR_LIES = [drop_first, twice_first, wrong_channel, all_on_one, other_time, far_offset]


@pytest.mark.parametrize("lie", PAIR_LIES)
@pytest.mark.parametrize("compression", ["", "zstd"])
def test_message_indexes_that_lie(
    tmp_path: Path, lie: Callable[[int, Pairs], Pairs], compression: str
) -> None:
    """Whatever they say, a message comes out as it is in the file, or there is an error."""
    sample = Sample(chunked(), compression, pairs_lie=lie)
    if lie is drop_first:
        sample.count_lie = lambda what, n: n - 2 if what == 0 else n
    path = sample.write(tmp_path / "x.mcap")
    right = truth(sample)
    assert _try(lambda: lines(path)) in (None, right)
    assert _try(lambda: lines(path, verify=True)) in (None, right)
    assert lines(path, recover=True) == right
    out = tmp_path / "out.mcap"
    assert _try(lambda: _copied(path, out, ReplaceA(path))) in (None, right)


@pytest.mark.parametrize("lie", PAIR_LIES)
def test_lying_indexes_are_told_apart_by_topic(
    tmp_path: Path, lie: Callable[[int, Pairs], Pairs]
) -> None:
    """Reading one of the topics, through the index, gives all of it or an error."""
    sample = Sample(chunked(), pairs_lie=lie)
    path = sample.write(tmp_path / "x.mcap")
    right = [line for line in truth(sample) if line[0] == "/b"]

    def read_b() -> list[Line]:
        with McapBag([path]) as bag:
            ids = [channel.id for channel in bag.channels if channel.topic == "/b"]
            return [(m.channel.topic, m.log_ns, bytes(m.data)) for m in bag.messages(ids)]

    assert _try(read_b) in (None, right)


HEAD_LIES: list[Callable[[int, tuple[int, int]], tuple[int, int]]] = [
    lambda _, __: (0, 0),
    lambda _, times: (times[0] - 10**9, times[1]),
    lambda number, times: (times[0], times[1] + 5 * 10**9) if number == 1 else times,
    lambda _, times: (times[0] + 1, times[1] - 1),
    lambda _, __: ((1 << 64) - 1, 0),
]


@pytest.mark.parametrize("lie", HEAD_LIES)
def test_chunk_headers_that_lie_about_times(
    tmp_path: Path, lie: Callable[[int, tuple[int, int]], tuple[int, int]]
) -> None:
    sample = Sample(chunked(), head_lie=lie)
    path = sample.write(tmp_path / "x.mcap")
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")


@pytest.mark.parametrize(
    "lie",
    [
        lambda _, i: i._replace(start_ns=0, end_ns=0),
        lambda _, i: i._replace(start_ns=i.start_ns + 1),
        lambda _, i: i._replace(offset=i.offset + 1),
        lambda _, i: i._replace(offset=1 << 62),
        lambda _, i: i._replace(offset=(1 << 64) - 1),
        lambda _, i: i._replace(length=i.length + 1),
        lambda _, i: i._replace(length=0),
        lambda _, i: i._replace(length=(1 << 64) - 1),
        lambda _, i: i._replace(index_length=0),
        lambda _, i: i._replace(index_length=5),
        lambda _, i: i._replace(index_length=1 << 63),
        lambda _, i: i._replace(index_offsets={}),
        lambda _, i: i._replace(index_offsets={1: 3, 2: 1 << 60}),
        lambda _, i: i._replace(index_offsets=dict.fromkeys(i.index_offsets, i.offset)),
        lambda _, i: i._replace(index_offsets=i.index_offsets | {77: i.offset}),
        lambda number, i: i if number != 1 else None,
        lambda _, __: None,
    ],
)
@pytest.mark.parametrize("summary_crc", [True, False])
def test_chunk_indexes_that_lie(
    tmp_path: Path, lie: Callable[[int, Index], Index | None], summary_crc: bool
) -> None:
    sample = Sample(chunked(), index_lie=lie, summary_crc=summary_crc)
    path = sample.write(tmp_path / "x.mcap")
    right_or_error(path, truth(sample), tmp_path / "out.mcap")


def test_a_chunk_index_given_twice(tmp_path: Path) -> None:
    first: list[Index] = []

    def lie(_: int, index: Index) -> Index:
        first.append(index)
        return first[0]

    sample = Sample(chunked(8), index_lie=lie)
    right_or_error(sample.write(tmp_path / "x.mcap"), truth(sample), tmp_path / "out.mcap")


@pytest.mark.parametrize("count", [0, 1, 11, 13, 1 << 40, (1 << 64) - 1])
def test_statistics_that_lie(tmp_path: Path, count: int) -> None:
    sample = Sample(chunked(), count_lie=lambda what, n: count if what == 0 else n)
    path = sample.write(tmp_path / "x.mcap")
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")
    with McapBag([path]) as bag:
        assert any(f"count {count} messages, there are 12" in text for text in bag.warnings)


def test_statistics_that_lie_about_a_channel(tmp_path: Path) -> None:
    sample = Sample(chunked(), counts={1: 5, 2: 7})
    path = sample.write(tmp_path / "x.mcap")
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")
    with McapBag([path]) as bag:
        text = "\n".join(bag.warnings)
    assert "5 messages on /a, there are 6" in text
    assert "7 messages on /b, there are 6" in text


def test_a_loose_message_beside_indexed_chunks_is_not_lost(tmp_path: Path) -> None:
    extra = Note(2, T0 + 1, b"\0\1\0\0loose")
    sample = Sample(chunked(), between={0: [note(extra, 7)]})
    path = sample.write(tmp_path / "x.mcap")
    right = sorted([*truth(sample), ("/b", extra.log_ns, extra.data)], key=lambda line: line[1])
    assert right_or_error(path, right, tmp_path / "out.mcap")


def test_chunks_that_no_index_and_no_count_tells_of_are_not_lost(tmp_path: Path) -> None:
    sample = Sample(
        chunked(),
        index_lie=lambda number, index: None if number == 1 else index,
        count_lie=lambda what, n: n - 4 if what == 0 else n,
    )
    path = sample.write(tmp_path / "x.mcap")
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")


@pytest.mark.parametrize(
    "lie",
    [
        lambda _, place: place,
        lambda _, __: None,
        lambda _, place: (place[0], 3),
        lambda _, place: (place[0], 0),
        lambda _, place: (place[0], (1 << 64) - 1),
        lambda _, place: ((1 << 64) - 1, place[1]),
        lambda _, place: (place[0] + 4, place[1]),
        lambda _, __: (0, 8),
    ],
)
def test_attachments_and_records_are_found_whatever_their_index_says(
    tmp_path: Path, lie: Callable[[int, tuple[int, int]], tuple[int, int] | None]
) -> None:
    extras = [attachment("one", b"1"), metadata("drive"), attachment("two", b"22")]
    sample = Sample(chunked(), extras=extras, place_lie=lie)
    path = sample.write(tmp_path / "x.mcap")
    for verify, recover in ((False, False), (True, False), (False, True)):
        with open_bag(path, verify=verify, recover=recover) as bag:
            assert [a.name for a in bag.attachments()] == ["one", "two"]
            assert [m.name for m in bag.metadata_records()] == ["drive"]
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")


def test_an_attachment_indexed_twice_is_there_once(tmp_path: Path) -> None:
    first: list[tuple[int, int]] = []

    def lie(_: int, place: tuple[int, int]) -> tuple[int, int]:
        first.append(place)
        return first[0]

    sample = Sample(chunked(), extras=[attachment("one", b"1"), attachment("two", b"2")])
    sample.place_lie = lie
    with open_bag(sample.write(tmp_path / "x.mcap")) as bag:
        assert [a.name for a in bag.attachments()] == ["one", "two"]


def test_a_channel_that_stands_only_in_a_chunk(tmp_path: Path) -> None:
    for again in (True, False):
        sample = Sample(chunked(), names_in_chunk=True, names_again=again)
        path = sample.write(tmp_path / "x.mcap")
        assert right_or_error(path, truth(sample), tmp_path / "out.mcap")


class Echo(PassThrough):
    """Answers every message on a new topic."""

    new = Channel(99, "/new", Schema("x/msg/T", "ros2msg", b"int8 a\n"))
    adds = (new,)

    def __init__(self, bag: Bag) -> None:
        self.reads = frozenset(channel.id for channel in bag.channels)

    def process(self, message: Message) -> list[Output]:
        return [Output(Message(self.new, message.log_ns, message.log_ns, 0, b"echo"))]


def test_a_silent_channel_of_a_chunk_only_is_kept_and_its_id_not_given_to_another(
    tmp_path: Path,
) -> None:
    sent = [message._replace(channel=1) for message in notes(6)]
    sample = Sample([sent[:3], sent[3:]], names_in_chunk=True, named_again=2)  # /b is left out
    out = tmp_path / "out.mcap"
    with open_bag(sample.write(tmp_path / "in.mcap")) as bag:
        assert [channel.topic for channel in bag.channels] == ["/a", "/b"]
        rewrite(bag, out, Echo(bag))
    with out.open("rb") as stream:  # by the channels as they come in the file
        found = [(c.topic, m.data) for _, c, m in NonSeekingReader(stream).iter_messages()]
    assert Counter(found) == Counter(("/a", message.data) for message in sent) + Counter(
        {("/new", b"echo"): 6}
    )


def test_a_schema_of_an_encoding_and_nothing_else_is_kept(tmp_path: Path) -> None:
    empty = schema(1, "", b"")
    sample = Sample(chunked(), names=[empty, channel(1, 1, "/a"), channel(2, 0, "/b")])
    with open_bag(sample.write(tmp_path / "x.mcap")) as bag:
        rewrite(bag, tmp_path / "fast.mcap", PassThrough())
        rewrite(bag, tmp_path / "slow", PassThrough())
    for name in ("fast.mcap", "slow"):
        with open_bag(tmp_path / name) as bag:
            assert [c.schema for c in bag.channels] == [
                Schema("", "ros2msg", b""),
                Schema("", "", b""),
            ]


def test_a_compression_nobody_knows_is_copied_but_never_claimed_for_new_chunks(
    tmp_path: Path,
) -> None:
    sample = Sample(chunked(), "", claimed_compression="brotli")
    path = sample.write(tmp_path / "x.mcap")
    new = Channel(99, "/new", Schema("x/msg/T", "ros2msg", b""))

    class Add(PassThrough):
        adds = (new,)

        def finish(self) -> list[Output]:
            return [Output(Message(new, T0, T0, 0, b"new"))]

    with open_bag(path) as bag:
        rewrite(bag, tmp_path / "out.mcap", Add())
    with McapBag([tmp_path / "out.mcap"]) as bag:
        ids = [c.id for c in bag.channels if c.topic == "/new"]
        assert [bytes(m.data) for m in bag.messages(ids)] == [b"new"]
        with pytest.raises(DamagedBagError, match="unknown compression 'brotli'"):
            list(bag.messages())


def test_a_record_of_the_future_in_the_data_is_told(tmp_path: Path) -> None:
    sample = Sample(chunked(), between={1: [b"\x81" + bytes(8)]})
    with open_bag(sample.write(tmp_path / "x.mcap")) as bag:
        assert any("0x81" in text for text in bag.warnings)


def test_times_that_go_through_the_whole_of_64_bits(tmp_path: Path) -> None:
    chunk = [Note(1, 0), Note(2, (1 << 64) - 1), Note(1, (1 << 63) + 1)]
    sample = Sample([chunk])
    path = sample.write(tmp_path / "x.mcap")
    right = truth(sample)
    assert lines(path) == right
    assert _copied(path, tmp_path / "fast.mcap", PassThrough()) == right


def test_one_channel_indexed_twice_in_a_chunk(tmp_path: Path) -> None:
    """The dictionary of a chunk index can name only one of the two."""
    sample = Sample([notes(4)])
    path = sample.write(tmp_path / "x.mcap")
    with McapBag([path]) as bag:
        chunk = bag.files[0].layout.chunks[0]
    data = bytearray(path.read_bytes())
    at = chunk.index_offsets[2]
    struct.pack_into("<H", data, at + 9, 1)  # the index of /b says /a
    path.write_bytes(data)
    right_or_error(path, truth(sample), tmp_path / "out.mcap")
