from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from rosbags.rosbag1 import Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from sqlite_samples import T0, found_rows, read_rows

from bagnoise.bags import open_bag, rewrite
from bagnoise.bags.model import PassThrough, Selection, Span
from bagnoise.bags.qos import is_latched
from bagnoise.errors import BagError, DamagedBagError

if TYPE_CHECKING:
    from pathlib import Path

SEPARATOR = "=" * 80 + "\n"
STAMPED = (
    "Header header\nfloat64 K\nuint8 b\ntime when\n"
    f"{SEPARATOR}MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
)
STRING_MD5 = "992ce8a1687cec8c8bd883ec73ca41d1"


def string(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode()


def write_bag(path: Path, compression: str = "none", chunk: int = 1 << 16) -> Path:
    with_compression = None if compression == "none" else Writer.CompressionFormat[compression]
    writer = Writer(path)
    writer.chunk_threshold = chunk
    if with_compression is not None:
        writer.set_compression(with_compression)
    with writer:
        plain = writer.add_connection(
            "/text", "std_msgs/msg/String", msgdef="string data\n", md5sum=STRING_MD5
        )
        stamped = writer.add_connection(
            "/stamped", "my_msgs/msg/Stamped", msgdef=STAMPED, md5sum="0" * 32
        )
        for number in range(20):
            writer.write(plain, T0 + 10 * number, string(f"hello {number}"))
            raw = struct.pack("<III", 7, 100 + number, 5) + string("map")
            raw += struct.pack("<dBII", 0.5 * number, number, 8, 9)
            writer.write(stamped, T0 + 10 * number, raw)
    return path


@pytest.mark.parametrize("compression", ["none", "BZ2", "LZ4"])
def test_converted_with_definitions(tmp_path: Path, compression: str) -> None:
    path = write_bag(tmp_path / "x.bag", compression, 200)
    with open_bag(path) as bag:
        assert bag.format == "ros1"
        assert bag.counts == {1: 20, 2: 20}
        assert bag.span() == Span(T0, T0 + 190)
        assert [c.type_name for c in bag.channels] == ["std_msgs/msg/String", "my_msgs/msg/Stamped"]
        definition = bag.channels[1].schema.data.decode()
        assert "seq" not in definition
        store = get_typestore(Stores.ROS2_HUMBLE)
        types = get_types_from_msg(definition, "my_msgs/msg/Stamped")
        store.register({"my_msgs/msg/Stamped": types["my_msgs/msg/Stamped"]})
        messages = [m for m in bag.messages() if m.channel.topic == "/stamped"]
        decoded = store.deserialize_cdr(bytes(messages[7].data), "my_msgs/msg/Stamped")
        assert decoded.header.stamp.sec == 107  # type: ignore[attr-defined]
        assert decoded.header.frame_id == "map"  # type: ignore[attr-defined]
        assert decoded.K == 3.5  # type: ignore[attr-defined]
        assert decoded.when.nanosec == 9  # type: ignore[attr-defined]
        text = next(m for m in bag.messages() if m.channel.topic == "/text")
        assert bytes(text.data) == b"\x00\x01\x00\x00\x08\x00\x00\x00hello 0\x00"


def test_equal_times_keep_file_order_and_cuts_hold(tmp_path: Path) -> None:
    with open_bag(write_bag(tmp_path / "x.bag", chunk=300)) as bag:
        order = [(m.log_ns - T0, m.channel.topic) for m in bag.messages()]
        assert order[:4] == [(0, "/text"), (0, "/stamped"), (10, "/text"), (10, "/stamped")]
        assert len(list(bag.messages({1}, T0 + 10, T0 + 50))) == 4


def test_rewrite_to_mcap_and_sqlite3(tmp_path: Path) -> None:
    with open_bag(write_bag(tmp_path / "x.bag")) as bag:
        rewrite(bag, tmp_path / "out", PassThrough())
        rewrite(bag, tmp_path / "out.mcap", PassThrough())
        expected = found_rows(bag)
    with open_bag(tmp_path / "out") as copy:
        assert copy.format == "mcap"
        assert found_rows(copy) == expected
    assert read_rows(tmp_path / "out.mcap") == expected


def test_latched_publishers_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "x.bag"
    with Writer(path) as writer:
        connections = [
            writer.add_connection(
                "/tf_static",
                "std_msgs/msg/String",
                msgdef="string data\n",
                md5sum=STRING_MD5,
                callerid=f"/node{number}",
                latching=1,
            )
            for number in range(2)
        ]
        for number, connection in enumerate(connections):
            writer.write(connection, T0 + number, string(f"from {number}"))
    with open_bag(path) as bag:
        assert [is_latched(channel) for channel in bag.channels] == [True, True]
        assert bag.counts == {1: 1, 2: 1}
        cut = Selection(start_ns=T0 + 100)
        rewrite(bag, tmp_path / "out.mcap", PassThrough(), selection=cut)
    found = read_rows(tmp_path / "out.mcap")
    assert [row.log_ns for row in found] == [T0 + 100] * 2
    assert [row.data[8:-1] for row in found] == [b"from 0", b"from 1"]


def test_type_without_usable_definition_passes_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.bag"
    with Writer(path) as writer:
        connection = writer.add_connection(
            "/odd", "my_msgs/msg/Odd", msgdef="no_such/Type x\n", md5sum="0" * 32
        )
        writer.write(connection, T0, b"raw")
    with open_bag(path) as bag:
        assert "topic /odd" in bag.warnings[0]
        assert bag.channels[0].message_encoding == "ros1"
        assert bag.channels[0].schema.encoding == "ros1msg"
        assert [bytes(m.data) for m in bag.messages()] == [b"raw"]


def test_type_that_ros2_has_otherwise_is_converted_field_by_field(tmp_path: Path) -> None:
    ros1 = get_typestore(Stores.ROS1_NOETIC)
    definition, md5 = ros1.generate_msgdef("visualization_msgs/msg/Marker")
    path = tmp_path / "x.bag"
    types = ros1.types
    marker = types["visualization_msgs/msg/Marker"]
    point, quaternion = types["geometry_msgs/msg/Point"], types["geometry_msgs/msg/Quaternion"]
    time = types["builtin_interfaces/msg/Time"](1, 2)
    message = marker(
        types["std_msgs/msg/Header"](0, time, "map"),
        "cones",
        5,
        1,
        0,
        types["geometry_msgs/msg/Pose"](point(1.0, 2.0, 3.0), quaternion(0.0, 0.0, 0.0, 1.0)),
        types["geometry_msgs/msg/Vector3"](1.0, 1.0, 1.0),
        types["std_msgs/msg/ColorRGBA"](1.0, 0.0, 0.0, 1.0),
        types["builtin_interfaces/msg/Duration"](3, 4),
        False,
        [],
        [],
        "text",
        "mesh",
        False,
    )
    with Writer(path) as writer:
        connection = writer.add_connection(
            "/marker", "visualization_msgs/msg/Marker", msgdef=definition, md5sum=md5
        )
        writer.write(connection, T0, ros1.serialize_ros1(message, "visualization_msgs/msg/Marker"))
    with open_bag(path) as bag:
        assert "field by field" in bag.warnings[0]
        data = next(bag.messages()).data
    decoded = get_typestore(Stores.ROS2_HUMBLE).deserialize_cdr(
        bytes(data), "visualization_msgs/msg/Marker"
    )
    assert decoded.pose.position.y == 2.0  # type: ignore[attr-defined]
    assert decoded.mesh_resource == "mesh"  # type: ignore[attr-defined]


def test_damage_is_ours_and_recover_keeps_the_rest(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "x.bag", "LZ4", 200)
    good = path.read_bytes()
    expected = read_rows(path)
    failures = 0
    for position in range(20, len(good), 61):
        altered = bytearray(good)
        altered[position] ^= 0xFF
        path.write_bytes(altered)
        try:
            read_rows(path)
        except BagError:
            failures += 1
        try:
            with open_bag(path, recover=True) as bag:
                rows = found_rows(bag)
                assert len(rows) == sum(bag.counts.values())
                assert len(rows) == len(expected) or bag.warnings
        except BagError:
            pass
    assert failures > 10


@pytest.mark.parametrize("compression", ["none", "LZ4"])
def test_cut_bag_is_an_error_and_recover_reads_its_whole_chunks(
    tmp_path: Path, compression: str
) -> None:
    path = write_bag(tmp_path / "x.bag", compression, 200)
    expected = read_rows(path)
    good = path.read_bytes()
    counts = []
    for cut in range(5000, len(good), 500):
        path.write_bytes(good[:cut])
        with pytest.raises(DamagedBagError, match="the index cannot be read"):
            open_bag(path)
        with open_bag(path, recover=True) as bag:
            rows = found_rows(bag)
            assert bag.warnings
        assert rows == expected[: len(rows)]
        counts.append(len(rows))
    assert counts == sorted(counts)
    assert counts[0] < counts[-1] == len(expected)


def test_bag_of_a_crash_names_the_cure(tmp_path: Path) -> None:
    path = write_bag(tmp_path / "x.bag")
    altered = bytearray(path.read_bytes())
    place = altered.index(b"index_pos=") + len("index_pos=")
    altered[place : place + 8] = bytes(8)
    path.write_bytes(altered)
    with pytest.raises(DamagedBagError, match="rosbag reindex"):
        open_bag(path)
    with open_bag(path, recover=True) as bag:
        assert len(found_rows(bag)) == 40
