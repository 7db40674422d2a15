from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.rosbag2 import Reader
from ruamel.yaml import YAML
from sqlite_samples import QOS_INTS, T0, Topic, rows_of, write_db3

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.metadata import (
    ROOT_KEY,
    pack_records,
    parse_metadata,
    quote,
    render_metadata,
    unpack_records,
)
from bagnoise.bags.model import QOS_KEY, Channel, MetadataRecord, PassThrough, Schema, WriteOptions
from bagnoise.bags.stats import FileStats
from bagnoise.errors import BagError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
CRYSTAL = """rosbag2_bagfile_information:
  version: 1
  storage_identifier: sqlite3
  relative_file_paths:
    - bag.db3
  duration:
    nanoseconds: 42
  starting_time:
    nanoseconds_since_epoch: 1234567890123456789
  message_count: 3
  topics_with_message_count:
    - topic_and_type:
        name: /a
        type: std_msgs/String
      message_count: 3
"""


@pytest.fixture
def stats() -> FileStats:
    stats = FileStats("x_0.mcap")
    stats.add_channel(Channel(1, "/a", Schema("x/msg/T"), "cdr", {QOS_KEY: QOS_INTS}))
    stats.add_channel(Channel(2, "/b b\n", Schema("x/msg/T")))
    stats.add(1, T0 + 5)
    stats.add(1, T0)
    return stats


def test_reads_the_first_version() -> None:
    metadata = parse_metadata(CRYSTAL, "x")
    assert metadata.files == ["bag.db3"]
    assert (metadata.start_ns, metadata.duration_ns) == (1234567890123456789, 42)
    assert metadata.topic_counts == {"/a": 3}


@pytest.mark.parametrize("version", [8, 9])
def test_what_is_written_is_read(stats: FileStats, version: int) -> None:
    text = render_metadata([stats], "mcap", version, {"k: 1": "v\n'\"é"})
    metadata = parse_metadata(text, "x")
    assert metadata.version == version
    assert metadata.files == ["x_0.mcap"]
    assert (metadata.start_ns, metadata.duration_ns, metadata.message_count) == (T0, 5, 2)
    assert metadata.topic_counts == {"/a": 2, "/b b\n": 0}
    assert metadata.custom_data == {"k: 1": "v\n'\"é"}


def test_qos_takes_the_form_of_the_version(stats: FileStats) -> None:
    for version, kind in ((8, str), (9, list)):
        value = YAML(typ="safe").load(render_metadata([stats], "mcap", version, {}))[ROOT_KEY]
        topics = value["topics_with_message_count"]
        assert [type(topic["topic_metadata"]["offered_qos_profiles"]) for topic in topics] == [
            kind
        ] * 2


def test_version_8_has_every_field_humble_asks_for(stats: FileStats) -> None:
    value = YAML(typ="safe").load(render_metadata([stats], "mcap", 8, {}))[ROOT_KEY]
    assert set(value) == {
        "version",
        "storage_identifier",
        "duration",
        "starting_time",
        "message_count",
        "topics_with_message_count",
        "compression_format",
        "compression_mode",
        "relative_file_paths",
        "files",
        "custom_data",
        "ros_distro",
    }
    assert value["custom_data"] == {}
    assert value["files"][0] == {
        "path": "x_0.mcap",
        "duration": {"nanoseconds": 5},
        "starting_time": {"nanoseconds_since_epoch": T0},
        "message_count": 2,
    }


def test_times_of_an_empty_bag_are_sane() -> None:
    metadata = parse_metadata(render_metadata([FileStats("x")], "mcap", 8, {}), "x")
    assert (metadata.start_ns, metadata.duration_ns, metadata.message_count) == (0, 0, 0)


def test_unknown_version_is_refused() -> None:
    with pytest.raises(UsageError, match="version 7 cannot be written"):
        render_metadata([], "mcap", 7, {})


@given(TEXTS)
def test_any_text_survives_quoting(text: str) -> None:
    assert YAML(typ="safe").load(f"{{a: {quote(text)}}}") == {"a": text}


@given(st.lists(st.tuples(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3)), max_size=12))
def test_records_survive_packing(items: list[tuple[str, dict[str, str]]]) -> None:
    records = tuple(MetadataRecord(name, values) for name, values in items)
    packed = pack_records({"mine": "1"}, records)
    assert unpack_records(packed) == ({"mine": "1"}, records)


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1}', "null"])
def test_what_only_looks_like_a_record_stays(text: str) -> None:
    data = {"bagnoise.record.0001.x": text}
    assert unpack_records(data) == (data, ())


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "a: 1\na: 2",
        "!!python/object/apply:os.system [ls]",
        "- 1",
        "",
    ],
)
def test_hostile_text_is_a_clear_error(text: str) -> None:
    with pytest.raises(BagError, match=r"^place"):
        parse_metadata(text, "place")


def test_hostile_values_are_no_values() -> None:
    doubling = "a: &a [x, x]\n" + "".join(
        f"b{i}: &b{i} [{', '.join([f'*b{i - 1}' if i else '*a'] * 9)}]\n" for i in range(25)
    )
    text = (
        f"{doubling}relative_file_paths: [*b24]\nversion: {'9' * 1000}\ncustom_data: {{1: *b24}}\n"
    )
    metadata = parse_metadata(text, "x")
    assert metadata.files == [""]
    assert metadata.version is None
    assert metadata.custom_data == {"1": ""}


@pytest.mark.parametrize("format_", ["mcap", "sqlite3"])
@pytest.mark.parametrize("version", [8, 9])
def test_a_second_reader_agrees(tmp_path: Path, format_: str, version: int) -> None:
    hash_ = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    topics = [Topic("/a", qos=QOS_INTS, type_hash=hash_)]
    source = write_db3(tmp_path / "in.db3", topics, rows_of("/a", [T0, T0 + 7]))
    options = WriteOptions(
        format="mcap" if format_ == "mcap" else "sqlite3", metadata_version=version
    )
    with open_bag(source) as bag:
        rewrite(bag, tmp_path / "out", PassThrough(), options=options)
    with Reader(tmp_path / "out") as reader:
        assert reader.message_count == 2
        assert (reader.start_time, reader.duration) == (T0, 8)
        (connection,) = reader.connections
        assert connection.ext.offered_qos_profiles[0].durability.name == "TRANSIENT_LOCAL"  # type: ignore[union-attr]
        assert connection.digest == hash_
        assert [t for _, t, _ in reader.messages()] == [T0, T0 + 7]
