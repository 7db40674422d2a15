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
from bagnoise.errors import BagnoiseError, DamagedBagError

Line = tuple[str, int, bytes]
HOWS: list[dict[str, Any]] = [{}, {"verify": True}, {"recover": True}]


def truth(sample: Sample) -> list[Line]:
    topics = {1: "/a", 2: "/b"}
    found = [(topics[m.channel], m.log_ns, m.data) for chunk in sample.chunks for m in chunk]
    return sorted(found, key=lambda line: line[1])


def lines(path: Path, **how: Any) -> list[Line]:
    with open_bag(path, **how) as bag:
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
        at = index.chunk_start_offset
        assert data[at] == 6
        assert struct.unpack_from("<QQ", data, at + 9) == (
            index.message_start_time,
            index.message_end_time,
        )
        for id_, offset in index.message_index_offsets.items():
            opcode, _, channel_id, size = struct.unpack_from("<BQHI", data, offset)
            assert (opcode, channel_id) == (7, id_)
            found[id_] += size // 16
    assert {k: v for k, v in summary.statistics.channel_message_counts.items() if v} == {
        k: v for k, v in found.items() if v
    }


def drop_first(pairs: Pairs) -> Pairs:
    return {id_: entries[1:] for id_, entries in pairs.items()}


def drop_middle(pairs: Pairs) -> Pairs:
    return {id_: [entries[0], entries[-1]] for id_, entries in pairs.items()}


def twice_the_first_place(pairs: Pairs) -> Pairs:
    return {id_: [(t, entries[0][1]) for t, _ in entries] for id_, entries in pairs.items()}


def swapped_places(pairs: Pairs) -> Pairs:
    return {
        id_: [(t, at) for (t, _), (_, at) in zip(e, e[::-1], strict=True)]
        for id_, e in pairs.items()
    }


def wrong_channel(pairs: Pairs) -> Pairs:
    return {1: pairs[2], 2: pairs[1]}


def all_on_one(pairs: Pairs) -> Pairs:
    return {1: sorted(pairs[1] + pairs[2])}


def unknown_channel(pairs: Pairs) -> Pairs:
    return {1: pairs[1], 9: pairs[2]}


def other_times(pairs: Pairs) -> Pairs:
    return {id_: [(t + 5, at) for t, at in entries] for id_, entries in pairs.items()}


def other_middle_time(pairs: Pairs) -> Pairs:
    return {id_: [e[0], *((t + 5, at) for t, at in e[1:-1]), e[-1]] for id_, e in pairs.items()}


def far_places(pairs: Pairs) -> Pairs:
    return {id_: [(t, at + 9999) for t, at in entries] for id_, entries in pairs.items()}


def between_messages(pairs: Pairs) -> Pairs:
    return {id_: [(t, at + 3) for t, at in entries] for id_, entries in pairs.items()}


PAIR_LIES = [
    drop_first,
    drop_middle,
    twice_the_first_place,
    swapped_places,
    wrong_channel,
    all_on_one,
    unknown_channel,
    other_times,
    other_middle_time,
    far_places,
    between_messages,
]


def lying_sample(lie: Callable[[Pairs], Pairs], compression: str, *, agreed: bool) -> Sample:
    """Let the middle of three chunks lie; the statistics agree with the lie, or do not."""
    sample = Sample(chunked(18, 6), compression)
    sample.pairs_lie = lambda number, pairs: lie(pairs) if number == 1 else pairs
    told: dict[int, int] = {}
    true = {1: list(range(3)), 2: list(range(3))}
    for number in range(3):
        pairs = {id_: [(n, n) for n in of] for id_, of in true.items()}
        for id_, entries in sample.pairs_lie(number, pairs).items():
            told[id_] = told.get(id_, 0) + len(entries)
    if agreed:
        sample.counts = told
        sample.count_lie = lambda what, n: sum(told.values()) if what == 0 else n
    return sample


@pytest.mark.parametrize("agreed", [True, False])
@pytest.mark.parametrize("lie", PAIR_LIES)
@pytest.mark.parametrize("compression", ["", "zstd"])
def test_message_indexes_that_lie(
    tmp_path: Path, lie: Callable[[Pairs], Pairs], compression: str, agreed: bool
) -> None:
    """Once looked at, a lie comes out: the messages as they are, or an error."""
    sample = lying_sample(lie, compression, agreed=agreed)
    path = sample.write(tmp_path / "x.mcap")
    right = truth(sample)
    assert _try(lambda: lines(path)) in (None, right)
    assert _try(lambda: lines(path, verify=True)) in (None, right)
    assert lines(path, recover=True) == right
    out = tmp_path / "out.mcap"
    assert _try(lambda: _copied(path, out, ReplaceA(path))) in (None, right)
    with open_bag(path, recover=True) as bag:
        out.unlink(missing_ok=True)
        rewrite(bag, out, PassThrough())
    assert by_index(out) == right


@pytest.mark.parametrize("lie", PAIR_LIES)
@pytest.mark.parametrize("edit", [PassThrough, ReplaceA])
def test_a_copy_of_lying_indexes_is_an_error_or_right(
    tmp_path: Path, lie: Callable[[Pairs], Pairs], edit: Any
) -> None:
    """What is copied unread is believed where statistics agree with it; else it is looked at."""
    sample = lying_sample(lie, "zstd", agreed=False)
    path = sample.write(tmp_path / "x.mcap")
    made = edit(path) if edit is ReplaceA else edit()
    if edit is PassThrough and lie in BELIEVED:
        with pytest.raises(DamagedBagError, match="indexes"):
            open_bag(path, verify=True)
    else:
        assert _try(lambda: _copied(path, tmp_path / "out.mcap", made)) in (None, truth(sample))


BELIEVED = [swapped_places, wrong_channel, other_middle_time, between_messages]


@pytest.mark.parametrize("lie", PAIR_LIES)
@pytest.mark.parametrize("topic", ["/a", "/b"])
def test_reading_one_topic_through_a_lying_index(
    tmp_path: Path, lie: Callable[[Pairs], Pairs], topic: str
) -> None:
    sample = lying_sample(lie, "zstd", agreed=False)
    path = sample.write(tmp_path / "x.mcap")
    right = [line for line in truth(sample) if line[0] == topic]

    def read() -> list[Line]:
        with McapBag([path]) as bag:
            ids = [channel.id for channel in bag.channels if channel.topic == topic]
            return [(m.channel.topic, m.log_ns, bytes(m.data)) for m in bag.messages(ids)]

    assert _try(read) in (None, right)


HEAD_LIES: list[Callable[[int, tuple[int, int]], tuple[int, int]]] = [
    lambda *_: (0, 0),
    lambda _, times: (times[0] - 10**9, times[1]),
    lambda number, times: (times[0], times[1] + 5 * 10**9) if number == 1 else times,
    lambda _, times: (times[0] + 1, times[1] - 1),
    lambda *_: ((1 << 64) - 1, 0),
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
        lambda *_: None,
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
        lambda *_: None,
        lambda _, place: (place[0], 3),
        lambda _, place: (place[0], 0),
        lambda _, place: (place[0], (1 << 64) - 1),
        lambda _, place: ((1 << 64) - 1, place[1]),
        lambda _, place: (place[0] + 4, place[1]),
        lambda *_: (0, 8),
    ],
)
def test_attachments_and_records_are_found_whatever_their_index_says(
    tmp_path: Path, lie: Callable[[int, tuple[int, int]], tuple[int, int] | None]
) -> None:
    extras = [attachment("one", b"1"), metadata("drive"), attachment("two", b"22")]
    sample = Sample(chunked(), extras=extras, place_lie=lie)
    path = sample.write(tmp_path / "x.mcap")
    for how in HOWS:
        with open_bag(path, **how) as bag:
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


def test_schema_0_is_no_schema(tmp_path: Path) -> None:
    names = [schema(0, "not/a/Schema"), schema(1, "x/msg/T"), channel(1, 1, "/a")]
    sample = Sample(chunked(), names=[*names, channel(2, 0, "/b")])
    path = sample.write(tmp_path / "x.mcap")
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")
    with open_bag(tmp_path / "out.mcap") as bag:
        assert [c.schema.name for c in bag.channels] == ["x/msg/T", ""]


def test_a_channel_whose_schema_is_missing_is_told(tmp_path: Path) -> None:
    sample = Sample(chunked(), names=[schema(1, "x/msg/T"), channel(1, 1, "/a")])
    sample.names.append(channel(2, 9, "/b"))
    path = sample.write(tmp_path / "x.mcap")
    with open_bag(path) as bag:
        assert any("/b" in text and "schema 9" in text for text in bag.warnings)
    assert right_or_error(path, truth(sample), tmp_path / "out.mcap")


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
    Sample([chunk], summary=False).write(path)
    assert _copied(path, tmp_path / "slow.mcap", PassThrough()) == right
    with open_bag(path) as bag, pytest.raises(BagnoiseError, match="log time"):
        rewrite(bag, tmp_path / "directory", PassThrough())


def test_the_profile_is_kept_whichever_way_a_file_goes(tmp_path: Path) -> None:
    for summary in (True, False):
        path = Sample(chunked(), summary=summary).write(tmp_path / "x.mcap")
        data = path.read_bytes()
        path.write_bytes(data.replace(b"ros2", b"rosX", 1))
        with open_bag(path) as bag:
            out = tmp_path / f"out{summary}.mcap"
            rewrite(bag, out, PassThrough())
        with out.open("rb") as stream:
            assert make_reader(stream).get_header().profile == "rosX"


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
