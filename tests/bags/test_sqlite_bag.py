from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlite_samples import (
    QOS_INTS,
    STRING,
    T0,
    Row,
    Topic,
    found_rows,
    listing,
    payload,
    rows_of,
    write_db3,
)

from bagnoise.bags import open_bag
from bagnoise.bags.model import HASH_KEY, QOS_KEY, Schema, Span
from bagnoise.errors import BagError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_reads_every_schema_version(tmp_path: Path, version: int) -> None:
    rows = rows_of("/a", [T0, T0 + 10]) + rows_of("/b", [T0 + 5])
    path = write_db3(
        tmp_path / "x.db3", [Topic("/a", qos=QOS_INTS), Topic("/b")], rows, version=version
    )
    with open_bag(path) as bag:
        assert bag.format == "sqlite3"
        assert found_rows(bag) == [rows[0], rows[2], rows[1]]
        assert bag.counts == {1: 2, 2: 1}
        assert bag.span() == Span(T0, T0 + 10)
        assert bag.span({2}) == Span(T0 + 5, T0 + 5)
        assert bag.channels[0].metadata[QOS_KEY] == (QOS_INTS if version >= 2 else "")
        known = Schema(STRING, "ros2msg", b"string data\n")
        assert bag.channels[0].schema == (known if version >= 4 else Schema(STRING))


def test_equal_times_keep_the_order_of_their_rows(tmp_path: Path) -> None:
    rows = [Row("/a", T0, payload(n)) for n in range(50)]
    rows += [Row("/b", T0, payload(100)), Row("/a", T0 - 1, payload(101))]
    path = write_db3(tmp_path / "x.db3", [Topic("/a"), Topic("/b")], rows)
    with open_bag(path) as bag:
        assert found_rows(bag) == [rows[-1], *rows[:-1]]


def test_selects_channels_and_times(tmp_path: Path) -> None:
    rows = rows_of("/a", range(T0, T0 + 10)) + rows_of("/b", range(T0, T0 + 10))
    path = write_db3(tmp_path / "x.db3", [Topic("/a"), Topic("/b")], rows)
    with open_bag(path) as bag:
        found = list(bag.messages({2}, T0 + 3, T0 + 6))
        assert [m.log_ns - T0 for m in found] == [3, 4, 5]
        assert {m.channel.topic for m in found} == {"/b"}
        assert list(bag.messages(set())) == []
        assert len(list(bag.messages(None, -(2**70), 2**70))) == 20


def test_missing_definition_is_asked_for(tmp_path: Path) -> None:
    topics = [Topic("/a", definition=""), Topic("/b", type="x/msg/Unknown", definition="")]
    path = write_db3(tmp_path / "x.db3", topics, [])
    mine = Schema(STRING, "ros2msg", b"string data")
    with open_bag(path, definitions=lambda name: mine if name == STRING else None) as bag:
        assert [channel.schema for channel in bag.channels] == [mine, Schema("x/msg/Unknown")]


def test_definition_in_the_bag_wins_even_when_it_is_cut(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", [Topic("/a", definition="uint8 level")], [])
    with open_bag(path, definitions=lambda name: Schema(name, "ros2msg", b"better")) as bag:
        assert bag.channels[0].schema.data == b"uint8 level"


def test_two_definitions_of_a_type_are_told_apart_by_hash(tmp_path: Path) -> None:
    topics = [
        Topic("/a", "x/msg/T", definition="int8 a", type_hash="RIHS01_1"),
        Topic("/b", "x/msg/T", definition="int8 b", type_hash="RIHS01_2"),
    ]
    with open_bag(write_db3(tmp_path / "x.db3", topics, [])) as bag:
        assert [channel.schema.data for channel in bag.channels] == [b"int8 a", b"int8 b"]
        assert [channel.metadata[HASH_KEY] for channel in bag.channels] == ["RIHS01_1", "RIHS01_2"]


def test_publish_time_is_the_send_timestamp_where_there_is_one(tmp_path: Path) -> None:
    rows = rows_of("/a", [T0, T0 + 1])
    path = write_db3(tmp_path / "x.db3", [Topic("/a")], rows, send_times={1: T0 - 40})
    with open_bag(path) as bag:
        assert [m.publish_ns for m in bag.messages()] == [T0 - 40, T0 + 1]


def test_empty_recording_has_no_span(tmp_path: Path) -> None:
    with open_bag(write_db3(tmp_path / "x.db3", [Topic("/a")], [])) as bag:
        assert bag.span() is None
        assert bag.counts == {1: 0}
        assert list(bag.messages()) == []


def test_zero_length_message_is_kept(tmp_path: Path) -> None:
    with open_bag(write_db3(tmp_path / "x.db3", [Topic("/a")], [Row("/a", T0, b"")])) as bag:
        assert found_rows(bag) == [Row("/a", T0, b"")]


def test_a_database_that_is_no_recording(tmp_path: Path) -> None:
    import sqlite3

    con = sqlite3.connect(tmp_path / "x.db3")
    con.execute("CREATE TABLE topics(id, name)")
    con.commit()
    con.close()
    with pytest.raises(BagError, match=r"no rosbag2 recording: table 'messages'"):
        open_bag(tmp_path / "x.db3")


def test_reading_leaves_the_folder_as_it_is(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", [Topic("/a")], rows_of("/a", [T0]))
    before = listing(tmp_path)
    with open_bag(path) as bag:
        found_rows(bag)
    assert listing(tmp_path) == before


def test_without_time_index_rows_still_come_in_order(tmp_path: Path) -> None:
    rows = rows_of("/a", [T0 + 5, T0, T0 + 5, T0 + 2])
    path = write_db3(tmp_path / "x.db3", [Topic("/a")], rows, index=False)
    with open_bag(path) as bag:
        assert found_rows(bag) == [rows[1], rows[3], rows[0], rows[2]]
