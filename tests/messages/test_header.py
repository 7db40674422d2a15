"""Stamps read and moved in the bytes of any type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.header import header_access, header_kind

T_NS = 1_700_000_000_123_456_789
STORE = get_typestore(Stores.ROS2_HUMBLE)
TYPES: Any = STORE.types


def header(stamp_ns: int, frame_id: str) -> Any:
    sec, nanosec = divmod(stamp_ns, 10**9)
    stamp = TYPES["builtin_interfaces/msg/Time"](sec=sec, nanosec=nanosec)
    return TYPES["std_msgs/msg/Header"](stamp=stamp, frame_id=frame_id)


def transforms(*stamps_ns: int, little_endian: bool = True) -> bytes:
    zero = TYPES["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0)
    unit = TYPES["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
    pose = TYPES["geometry_msgs/msg/Transform"](translation=zero, rotation=unit)
    listed = [
        TYPES["geometry_msgs/msg/TransformStamped"](
            header=header(stamp_ns, "map" * row), child_frame_id="odom"[:row], transform=pose
        )
        for row, stamp_ns in enumerate(stamps_ns)
    ]
    message = TYPES["tf2_msgs/msg/TFMessage"](transforms=listed)
    raw = STORE.serialize_cdr(message, "tf2_msgs/msg/TFMessage", little_endian=little_endian)
    return bytes(raw)


def point(stamp_ns: int, *, little_endian: bool = True) -> bytes:
    name = "geometry_msgs/msg/PointStamped"
    at = TYPES["geometry_msgs/msg/Point"](x=1.0, y=2.0, z=3.0)
    message = TYPES[name](header=header(stamp_ns, "map"), point=at)
    return bytes(STORE.serialize_cdr(message, name, little_endian=little_endian))


def access(name: str) -> Any:
    schema = shipped_definition(name)
    assert schema is not None
    found = header_access(schema)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("geometry_msgs/msg/PointStamped", "first"),
        ("sensor_msgs/msg/PointCloud2", "first"),
        ("eufs_msgs/msg/ConeArrayWithCovariance", "first"),
        ("tf2_msgs/msg/TFMessage", "list"),
        ("visualization_msgs/msg/MarkerArray", "list"),
        ("std_msgs/msg/Header", None),
        ("std_msgs/msg/String", None),
        ("fs_msgs/msg/Track", None),
        ("std_msgs/msg/Empty", None),
    ],
)
def test_where_a_type_has_its_header(name: str, kind: str | None) -> None:
    schema = shipped_definition(name)
    assert schema is not None
    assert header_kind(schema) == kind


def test_a_broken_or_missing_definition_has_no_header() -> None:
    assert header_kind(Schema("team/msg/A", "ros2msg", b"?")) is None
    assert header_kind(Schema("", "", b"")) is None
    assert header_kind(Schema("foxglove.Log", "jsonschema", b"{}")) is None


@pytest.mark.parametrize("little_endian", [True, False])
def test_a_stamp_is_read_and_moved_exactly(little_endian: bool) -> None:
    stamped = access("geometry_msgs/msg/PointStamped")
    data = point(T_NS, little_endian=little_endian)
    assert stamped.read_stamp_ns(data) == T_NS
    assert stamped.read_frame_id(data) == "map"
    moved = stamped.shift_stamps(data, -1_123_456_791)
    assert moved == (point(T_NS - 1_123_456_791, little_endian=little_endian), 0, 0)


@pytest.mark.parametrize("little_endian", [True, False])
def test_every_stamp_of_a_list_moves_but_zero(little_endian: bool) -> None:
    tf = access("tf2_msgs/msg/TFMessage")
    data = transforms(T_NS, 0, T_NS + 1, 5, little_endian=little_endian)
    moved = tf.shift_stamps(data, -6)
    expected = transforms(T_NS - 6, 0, T_NS - 5, 5, little_endian=little_endian)
    assert moved == (expected, 1, 1)
    assert tf.read_stamp_ns(data) == T_NS
    assert tf.read_frame_id(transforms()) is None
    assert tf.read_stamp_ns(transforms()) is None


def test_zero_stays_whatever_the_shift() -> None:
    stamped = access("geometry_msgs/msg/PointStamped")
    assert stamped.shift_stamps(point(0), 200_000_000) == (point(0), 1, 0)


def test_a_shift_below_zero_leaves_the_stamp_and_counts_it() -> None:
    stamped = access("geometry_msgs/msg/PointStamped")
    assert stamped.shift_stamps(point(50_000_000), -100_000_000) == (point(50_000_000), 0, 1)
    assert stamped.shift_stamps(point(50_000_000), -50_000_000) == (point(0), 0, 0)


def test_a_stamp_beyond_32_bits_is_an_error() -> None:
    stamped = access("geometry_msgs/msg/PointStamped")
    with pytest.raises(MessageError, match="32 bits of seconds"):
        stamped.shift_stamps(point(T_NS), 10**18)


def test_all_stamps_can_be_set() -> None:
    tf = access("tf2_msgs/msg/TFMessage")
    assert tf.set_stamps(transforms(T_NS, 0), 77) == transforms(77, 77)


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, 300), at=st.integers(4, 300), value=st.integers(0, 255))
def test_altered_bytes_give_an_answer_or_a_message_error(cut: int, at: int, value: int) -> None:
    data = bytearray(transforms(T_NS, 0, 1))
    data[at % len(data)] = value
    for stamps in (access("tf2_msgs/msg/TFMessage"), access("geometry_msgs/msg/PointStamped")):
        for raw in (bytes(data), bytes(data[:cut])):
            try:
                stamps.read_stamp_ns(raw)
                stamps.read_frame_id(raw)
                moved = stamps.shift_stamps(raw, 1)
            except MessageError:
                continue
            assert len(moved.data) == len(raw)
