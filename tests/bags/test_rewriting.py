from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from sqlite_samples import QOS_INTS, T0, Row, Topic, listing, payload, read_rows, rows_of, write_db3

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.metadata import read_metadata
from bagnoise.bags.model import (
    Channel,
    Message,
    MetadataRecord,
    Output,
    PassThrough,
    Schema,
    Selection,
    WriteOptions,
)
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

TOPICS = [Topic("/a", qos=QOS_INTS, type_hash="RIHS01_ab"), Topic("/b"), Topic("/empty")]
ROWS = [*rows_of("/a", [T0, T0 + 100, T0 + 200]), *rows_of("/b", [T0 + 100, T0 + 150])]
NEW = Channel(9, "/new", Schema("x/msg/T", "ros2msg", b"int8 a\n"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    return write_db3(folder / "in.db3", TOPICS, ROWS).parent


@dataclass
class Shift:
    """Moves /a by a time; in place where the shift is 0."""

    shift_ns: int

    reads = frozenset({1})
    replaces = frozenset({1})
    adds: tuple[Channel, ...] = ()

    def __post_init__(self) -> None:
        self.adds = (Channel(9, "/a", Schema("std_msgs/msg/String", "ros2msg", b"string data\n")),)

    def process(self, message: Message) -> Iterable[Output]:
        moved = message._replace(channel=self.adds[0], log_ns=message.log_ns + self.shift_ns)
        yield Output(moved, in_place=self.shift_ns == 0)

    def advance(self, log_ns: int) -> Iterable[Output]:
        assert log_ns >= T0
        return ()

    def finish(self) -> Iterable[Output]:
        return ()


class Echo(PassThrough):
    """Adds a message to /new for each of /a, when time has come to it; one at the end."""

    reads = frozenset({1})
    adds = (NEW,)

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.told: list[int] = []

    def process(self, message: Message) -> Iterable[Output]:
        self.seen.append(message.log_ns)
        yield Output(Message(NEW, message.log_ns, message.log_ns, 0, b"echo"))

    def advance(self, log_ns: int) -> Iterable[Output]:
        assert not self.seen or log_ns >= self.seen[-1]
        self.told.append(log_ns)
        return ()

    def finish(self) -> Iterable[Output]:
        yield Output(Message(NEW, T0 + 999, T0 + 999, 0, b"last"))


@pytest.mark.parametrize("format_", ["sqlite3", "mcap"])
def test_identity_keeps_everything(source: Path, tmp_path: Path, format_: str) -> None:
    options = WriteOptions(format="mcap" if format_ == "mcap" else "sqlite3")
    with open_bag(source) as bag:
        report = rewrite(bag, tmp_path / "out", PassThrough(), options=options)
        assert report.copied == {1: 3, 2: 2, 3: 0}
        with open_bag(tmp_path / "out") as copy:
            assert copy.format == format_
            assert copy.warnings == []
            assert [c.topic for c in copy.channels] == [c.topic for c in bag.channels]
            assert [c.schema for c in copy.channels] == [c.schema for c in bag.channels]
            assert [c.metadata for c in copy.channels] == [c.metadata for c in bag.channels]
    assert read_rows(tmp_path / "out") == read_rows(source)


def test_bare_mcap_by_name(source: Path, tmp_path: Path) -> None:
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out.mcap", PassThrough())
    assert (tmp_path / "out.mcap").is_file()
    assert read_rows(tmp_path / "out.mcap") == read_rows(source)


def test_metadata_yaml_is_true(source: Path, tmp_path: Path) -> None:
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", Shift(-50))
    metadata = read_metadata(tmp_path / "out" / "metadata.yaml")
    assert metadata.version == 8
    assert metadata.storage == "sqlite3"
    assert metadata.files == ["out_0.db3"]
    assert metadata.start_ns == T0 - 50
    assert metadata.duration_ns == 200
    assert metadata.message_count == 5
    assert metadata.topic_counts == {"/a": 3, "/b": 2, "/empty": 0}


def test_replaced_message_keeps_its_place_among_equals(source: Path, tmp_path: Path) -> None:
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", Shift(0))
    assert read_rows(tmp_path / "out") == read_rows(source)


def test_moved_messages_are_sorted_and_follow_source_messages(source: Path, tmp_path: Path) -> None:
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", Shift(50))
    found = [(row.topic, row.log_ns - T0) for row in read_rows(tmp_path / "out")]
    assert found == [("/a", 50), ("/b", 100), ("/b", 150), ("/a", 150), ("/a", 250)]


def test_new_messages_follow_every_source_message_of_their_time(
    source: Path, tmp_path: Path
) -> None:
    edit = Echo()
    with open_bag(source) as bag:
        report = rewrite(bag, tmp_path / "out", edit)
    found = [(row.topic, row.log_ns - T0) for row in read_rows(tmp_path / "out")]
    assert found == [
        ("/a", 0),
        ("/new", 0),
        ("/a", 100),
        ("/b", 100),
        ("/new", 100),
        ("/b", 150),
        ("/a", 200),
        ("/new", 200),
        ("/new", 999),
    ]
    assert edit.seen == [T0, T0 + 100, T0 + 200]
    assert report.written == {9: 4}
    assert report.span is not None
    assert report.span.end_ns == T0 + 999


@pytest.mark.parametrize("target", ["out", "out.mcap"])
@pytest.mark.parametrize("shift_ns", [-T0 - 1, 2**63 - T0])
def test_times_out_of_range_never_reach_a_file(
    source: Path, tmp_path: Path, target: str, shift_ns: int
) -> None:
    with open_bag(source) as bag, pytest.raises(BagError, match=r"topic /a: log time"):
        rewrite(bag, tmp_path / target, Shift(shift_ns))
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_cut_keeps_latched_messages_at_its_start(source: Path, tmp_path: Path) -> None:
    selection = Selection(start_ns=T0 + 150, end_ns=T0 + 200)
    with open_bag(source) as bag:
        report = rewrite(bag, tmp_path / "out", PassThrough(), selection=selection)
    assert read_rows(tmp_path / "out") == [
        Row("/a", T0 + 150, payload(1)),
        Row("/b", T0 + 150, payload(1)),
    ]
    assert report.copied == {1: 1, 2: 1, 3: 0}


def test_channels_left_out_vanish(source: Path, tmp_path: Path) -> None:
    with open_bag(source) as bag:
        selection = Selection(channels=frozenset({2}))
        rewrite(bag, tmp_path / "out", PassThrough(), selection=selection)
    with open_bag(tmp_path / "out") as copy:
        assert [channel.topic for channel in copy.channels] == ["/b"]


@pytest.mark.parametrize(("split", "files"), [({"split_bytes": 20}, 3), ({"split_ns": 100}, 3)])
def test_split_directory(source: Path, tmp_path: Path, split: dict[str, int], files: int) -> None:
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", PassThrough(), options=WriteOptions(**split))  # type: ignore[arg-type]
    metadata = read_metadata(tmp_path / "out" / "metadata.yaml")
    assert metadata.files == [f"out_{number}.db3" for number in range(files)]
    assert read_rows(tmp_path / "out") == read_rows(source)


def test_records_survive_and_new_ones_follow(source: Path, tmp_path: Path) -> None:
    old, new = MetadataRecord("bagnoise", {"seed": "1"}), MetadataRecord("bagnoise", {"seed": "2"})
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "one", PassThrough(), records=[old])
    with open_bag(tmp_path / "one") as bag:
        rewrite(bag, tmp_path / "two", PassThrough(), records=[new])
        rewrite(bag, tmp_path / "two.mcap", PassThrough(), records=[new])
    for name in ("two", "two.mcap", "two/two_0.db3"):
        with open_bag(tmp_path / name) as bag:
            assert list(bag.metadata_records()) == [old, new]
            assert bag.custom_data == {}


def test_mcap_to_mcap_directory(source: Path, tmp_path: Path) -> None:
    record = MetadataRecord("bagnoise", {"seed": "1"})
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "one", PassThrough(), options=WriteOptions(format="mcap"))
    metadata = (tmp_path / "one" / "metadata.yaml").read_text()
    (tmp_path / "one" / "metadata.yaml").write_text(
        metadata.replace("custom_data: {}", "custom_data: {mine: yes}")
    )
    with open_bag(tmp_path / "one") as bag:
        assert bag.custom_data == {"mine": "yes"}
        rewrite(bag, tmp_path / "two", Shift(-10), records=[record])
        rewrite(bag, tmp_path / "two.mcap", PassThrough())
    metadata_two = read_metadata(tmp_path / "two" / "metadata.yaml")
    assert metadata_two.files == ["two_0.mcap"]
    assert metadata_two.start_ns == T0 - 10
    assert metadata_two.topic_counts == {"/a": 3, "/b": 2, "/empty": 0}
    with open_bag(tmp_path / "two") as bag:
        assert bag.custom_data == {"mine": "yes"}
        assert list(bag.metadata_records()) == [record]
        assert bag.warnings == []
    with open_bag(tmp_path / "two.mcap") as bag:
        assert list(bag.metadata_records()) == [MetadataRecord("custom_data", {"mine": "yes"})]


def test_existing_output_is_refused_before_any_work(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with open_bag(source) as bag, pytest.raises(UsageError, match="exists already"):
        rewrite(bag, tmp_path / "out", PassThrough())
    assert list((tmp_path / "out").iterdir()) == []


def test_overwrite_replaces_a_bag_and_leaves_the_input(source: Path, tmp_path: Path) -> None:
    before = listing(source)
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", PassThrough(), options=WriteOptions(format="mcap"))
        rewrite(bag, tmp_path / "out", Shift(7), options=WriteOptions(overwrite=True))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "metadata.yaml",
        "out_0.db3",
    ]
    assert listing(source) == before
