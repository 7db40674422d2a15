from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import zstandard
from sqlite_samples import T0, Row, Topic, found_rows, payload, read_rows, rows_of, write_db3

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import PassThrough, WriteOptions
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from pathlib import Path

TOPICS = [Topic("/a"), Topic("/b")]


def split_bag(folder: Path, count: int = 12) -> list[Row]:
    """Files that overlap in time; file 10 must come after file 2."""
    folder.mkdir()
    rows = []
    for number in range(count):
        part = [Row("/a", T0 + 2 * number + k, payload(100 * number + k)) for k in range(5)]
        write_db3(folder / f"part_{number}.db3", TOPICS, part)
        rows += part
    return sorted(rows, key=lambda row: row.log_ns)


def metadata(**changes: object) -> str:
    values: dict[str, object] = {
        "version": 5,
        "storage_identifier": "sqlite3",
        "relative_file_paths": ["x.db3"],
        "starting_time": {"nanoseconds_since_epoch": T0},
        "duration": {"nanoseconds": 1},
        "message_count": 2,
        "topics_with_message_count": [],
        "compression_format": "",
        "compression_mode": "",
    }
    import json

    return json.dumps({"rosbag2_bagfile_information": values | changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "bag"
    path.mkdir()
    write_db3(path / "x.db3", TOPICS, rows_of("/a", [T0, T0 + 1]))
    (path / "metadata.yaml").write_text(metadata())
    return path


def test_split_files_are_merged_by_time_ties_in_natural_order(tmp_path: Path) -> None:
    rows = split_bag(tmp_path / "bag")
    with open_bag(tmp_path / "bag") as bag:
        assert [c.topic for c in bag.channels] == ["/a", "/b"]
        assert found_rows(bag) == rows
        assert [row.data for row in found_rows(bag)] == [row.data for row in rows]
        assert bag.counts == {1: 60, 2: 0}
        assert bag.warnings == []


def test_true_metadata_gives_no_warning(folder: Path) -> None:
    with open_bag(folder) as bag:
        assert bag.warnings == []
        assert bag.path == folder


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"message_count": 3}, "3 messages, there are 2"),
        ({"starting_time": {"nanoseconds_since_epoch": 5}}, "start 5"),
        ({"duration": {"nanoseconds": 7}}, "duration 7"),
        (
            {
                "topics_with_message_count": [
                    {"topic_metadata": {"name": "/a"}, "message_count": 1},
                    {"topic_metadata": {"name": "/gone"}, "message_count": 4},
                ]
            },
            "/a 1, not 2, /gone 4, not 0",
        ),
    ],
)
def test_wrong_metadata_is_named_once(folder: Path, changes: dict[str, object], text: str) -> None:
    (folder / "metadata.yaml").write_text(metadata(**changes))
    with open_bag(folder) as bag:
        assert len(found_rows(bag)) == 2
        assert len(bag.warnings) == 1
        assert text in bag.warnings[0]


@pytest.mark.parametrize(
    "text", ["", "[1, 2", "just text", "rosbag2_bagfile_information: 3", "\x00", "{a: *b}"]
)
def test_unreadable_metadata_does_not_matter(folder: Path, text: str) -> None:
    (folder / "metadata.yaml").write_text(text)
    with open_bag(folder) as bag:
        assert len(found_rows(bag)) == 2
        assert len(bag.warnings) == 1


@pytest.mark.parametrize("storage", ["", "mcap", "rosbag_v2"])
def test_wrong_storage_identifier(folder: Path, storage: str) -> None:
    (folder / "metadata.yaml").write_text(metadata(storage_identifier=storage))
    assert len(read_rows(folder)) == 2


@pytest.mark.parametrize(
    "name", ["bag/x.db3", "/home/me/bag/x.db3", "x.db3.zstd", "..\\bag\\x.db3"]
)
def test_listed_names_of_early_versions(folder: Path, name: str) -> None:
    (folder / "metadata.yaml").write_text(metadata(relative_file_paths=[name]))
    with open_bag(folder) as bag:
        assert len(found_rows(bag)) == 2
        assert bag.warnings == []


def test_a_listed_name_never_leads_out_of_the_folder(folder: Path, tmp_path: Path) -> None:
    write_db3(tmp_path / "other.db3", TOPICS, [])
    (folder / "metadata.yaml").write_text(metadata(relative_file_paths=["../other.db3"]))
    with open_bag(folder) as bag:
        assert len(found_rows(bag)) == 2


def test_renamed_files_are_found(folder: Path) -> None:
    (folder / "x.db3").rename(folder / "y.db3")
    with open_bag(folder) as bag:
        assert len(found_rows(bag)) == 2
        assert "renamed" in bag.warnings[0]


def test_missing_split_file_is_an_error_unless_recovering(folder: Path) -> None:
    (folder / "metadata.yaml").write_text(metadata(relative_file_paths=["x.db3", "y.db3"]))
    with pytest.raises(BagError, match=r"lists 'y\.db3', which is not there"):
        open_bag(folder)
    with open_bag(folder, recover=True) as bag:
        assert len(found_rows(bag)) == 2
        assert "its messages are lost" in bag.warnings[0]


def test_unlisted_file_is_reported(folder: Path) -> None:
    write_db3(folder / "z.db3", TOPICS, [])
    with open_bag(folder) as bag:
        assert "does not list z.db3" in bag.warnings[0]


def test_folder_named_like_a_ros1_bag(tmp_path: Path) -> None:
    split_bag(tmp_path / "x.bag", 2)
    assert len(read_rows(tmp_path / "x.bag")) == 10


@pytest.mark.parametrize("name", ["x", "x.mcap", "x.bag"])
def test_content_counts_not_the_name(tmp_path: Path, name: str) -> None:
    write_db3(tmp_path / name, TOPICS, rows_of("/a", [T0]))
    assert len(read_rows(tmp_path / name)) == 1


@pytest.mark.parametrize("kind", ["sqlite3", "mcap"])
def test_file_compression(tmp_path: Path, kind: str) -> None:
    rows = split_bag(tmp_path / "plain", 3)
    with open_bag(tmp_path / "plain") as bag:
        rewrite(
            bag,
            tmp_path / "bag",
            PassThrough(),
            options=WriteOptions(format="mcap" if kind == "mcap" else "sqlite3", split_bytes=60),
        )
    for path in (tmp_path / "bag").iterdir():
        if path.suffix != ".yaml":
            packed = zstandard.compress(path.read_bytes())
            path.with_name(f"{path.name}.zstd").write_bytes(packed)
            path.unlink()
    assert read_rows(tmp_path / "bag") == rows
    (tmp_path / "bag" / "metadata.yaml").unlink()
    with open_bag(tmp_path / "bag") as bag:
        assert found_rows(bag) == rows
        assert bag.path == tmp_path / "bag"
    first = min((tmp_path / "bag").iterdir())
    assert 0 < len(read_rows(first)) < len(rows)


def test_two_frames_and_a_plain_neighbour(tmp_path: Path) -> None:
    rows = split_bag(tmp_path / "bag", 2)
    first = tmp_path / "bag" / "part_0.db3"
    raw = first.read_bytes()
    packed = zstandard.compress(raw[:5000]) + zstandard.compress(raw[5000:])
    first.with_name("part_0.db3.zstd").write_bytes(packed)
    first.unlink()
    assert read_rows(tmp_path / "bag") == rows


def test_cut_zstd_file(tmp_path: Path) -> None:
    path = write_db3(tmp_path / "x.db3", TOPICS, rows_of("/a", range(T0, T0 + 99), 4000))
    raw = path.read_bytes()
    packed = zstandard.compress(raw[: len(raw) // 2]) + zstandard.compress(raw[len(raw) // 2 :])
    (tmp_path / "x.db3.zstd").write_bytes(packed[:-40])
    with pytest.raises(DamagedBagError, match="cut at byte"):
        open_bag(tmp_path / "x.db3.zstd")
    with open_bag(tmp_path / "x.db3.zstd", recover=True) as bag:
        assert 20 < len(found_rows(bag)) < 99
        assert any("cut at byte" in text for text in bag.warnings)


def test_message_compression_is_seen_in_the_payload(tmp_path: Path) -> None:
    rows = rows_of("/a", [T0, T0 + 1])
    packed = [row._replace(data=zstandard.compress(row.data)) for row in rows]
    assert read_rows(write_db3(tmp_path / "x.db3", TOPICS, packed)) == rows


def test_message_compression_in_mcap(tmp_path: Path) -> None:
    rows = rows_of("/a", [T0, T0 + 1])
    packed = [row._replace(data=zstandard.compress(row.data)) for row in rows]
    source = write_db3(tmp_path / "x.db3", [Topic("/a")], packed)
    with open_bag(source) as bag, pytest.MonkeyPatch.context() as patch:
        patch.setattr("bagnoise.bags.sqlite_bag.decompressor", lambda _: bytes)
        rewrite(bag, tmp_path / "x.mcap", PassThrough())
    with open_bag(tmp_path / "x.mcap") as bag:
        assert found_rows(bag) == rows
        rewrite(bag, tmp_path / "y.mcap", PassThrough())
    assert read_rows(tmp_path / "y.mcap") == rows


def test_cut_compressed_message_is_an_error(tmp_path: Path) -> None:
    row = Row("/a", T0, zstandard.compress(payload(1))[:-3])
    path = write_db3(tmp_path / "x.db3", TOPICS, [row])
    with open_bag(path) as bag, pytest.raises(DamagedBagError, match="compressed message"):
        found_rows(bag)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        (b"\x89MCAP0\n\x01rest", "line-ending conversion"),
        (b"\x89MCAP0\r\r\n\x01", "line-ending conversion"),
        (b"\xef\xbf\xbdMCAP0\r\n", "UTF-8"),
        (b"#ROSBAG V1.2\n", "version 1"),
        (b"\x37\x7f\x06\x82", "write-ahead log"),
        (b"rosbag2_bagfile_information:\n", "folder"),
        (b"\x00" * 100, "zeros"),
        (b"hello world", "neither MCAP"),
        (zstandard.compress(b"hello"), "neither MCAP nor sqlite3"),
        (b"\x28\xb5\x2f\xfd\xff\xff", "cannot be decompressed|neither MCAP"),
    ],
)
def test_what_is_no_bag_says_so(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "x.mcap"
    path.write_bytes(content)
    with pytest.raises(BagError, match=text) as error:
        open_bag(path)
    assert str(path) in str(error.value)


def test_a_pipe_is_no_bag(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.mcap")
    with pytest.raises(BagError, match="neither a file nor a folder"):
        open_bag(tmp_path / "x.mcap")


def test_a_link_to_a_bag(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "link.db3").symlink_to(folder / "x.db3")
    assert len(read_rows(tmp_path / "link")) == len(read_rows(tmp_path / "link.db3")) == 2


def test_missing_and_empty_places(tmp_path: Path) -> None:
    with pytest.raises(BagError, match="no such file"):
        open_bag(tmp_path / "none")
    with pytest.raises(BagError, match=r"without \.mcap or \.db3"):
        open_bag(tmp_path)
    split_bag(tmp_path / "inner", 1)
    (tmp_path / "inner" / "metadata.yaml").write_text(metadata())
    with pytest.raises(BagError, match="holds bags, but is none"):
        open_bag(tmp_path)
