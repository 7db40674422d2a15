from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from cloud_samples import STAMP_NS, VELODYNE, XYZ, XYZI, message, packed, reread
from hypothesis import given, settings
from hypothesis import strategies as st

from bagnoise.bags.model import Schema
from bagnoise.errors import MessageError
from bagnoise.messages.cloud_codec import PointCloud2Codec, point_cloud2_codec

CODEC = PointCloud2Codec()
GRID = {"x": np.tile(np.arange(4.0), 3), "y": np.repeat(np.arange(3.0), 4), "z": np.full(12, 5.0)}


def three_points(**options: object) -> bytes:
    columns = {"x": [1.0, 2.0, 3.0], "y": [4.0, 5.0, 6.0], "z": [7.0, 8.0, 9.0]}
    return message(packed(columns, XYZ, 12), width=3, **options)  # type: ignore[arg-type]


def test_untouched_cloud_keeps_its_bytes() -> None:
    data = three_points()
    cloud = CODEC.decode(data)
    assert CODEC.encode(cloud) == data
    assert (cloud.stamp_ns, cloud.frame_id, len(cloud)) == (STAMP_NS, "lidar", 3)
    assert cloud.xyz().tolist() == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    assert cloud.notes == ()


@pytest.mark.parametrize("frame", ["", "a", "ab", "abc", "velodyne_top"])
@pytest.mark.parametrize("big_cdr", [False, True])
def test_a_head_written_anew_equals_what_rosbags_writes(frame: str, *, big_cdr: bool) -> None:
    columns = {"x": [1.0], "y": [2.0], "z": [3.0], "intensity": [4.0], "ring": [5], "time": [0.1]}
    data = message(
        packed(columns, VELODYNE, 22), VELODYNE, width=1, step=22, frame=frame, big_cdr=big_cdr
    )
    cloud = CODEC.decode(data)
    assert CODEC.encode(replace(cloud, stamp_ns=7)) == message(
        packed(columns, VELODYNE, 22),
        VELODYNE,
        width=1,
        step=22,
        frame=frame,
        stamp_ns=7,
        big_cdr=big_cdr,
    )


def test_odd_padding_and_trailing_bytes_of_a_serializer_survive() -> None:
    data = bytearray(three_points(frame="ab")) + b"\0\0\0"
    at = data.index(b"ab\0") + 3
    assert data[at] == 0
    data[at] = 0xCD  # an alignment byte that the serializer never set
    assert CODEC.encode(CODEC.decode(bytes(data))) == bytes(data)


def test_fields_are_found_by_offset_and_keep_their_order() -> None:
    fields = (*XYZ, ("intensity", 32, "f4"), ("normal_x", 16, "f4"), ("normal_z", 24, "f4"))
    rows = np.arange(10.0)
    columns = {
        "x": rows,
        "y": 2 * rows,
        "z": 3 * rows,
        "intensity": 100 + rows,
        "normal_x": 0 * rows,
        "normal_z": 1 + 0 * rows,
    }
    data = message(packed(columns, fields, 48), fields, width=10, step=48)
    cloud = CODEC.decode(data)
    assert cloud.column("intensity").tolist() == (100 + rows).tolist()
    assert cloud.column("normal_z").tolist() == [1.0] * 10
    assert cloud.names == ("x", "y", "z", "intensity", "normal_x", "normal_z")
    again = reread(CODEC.encode(cloud.with_columns({"x": rows + 1})))
    assert [(f.name, f.offset) for f in again.fields] == [(f[0], f[1]) for f in fields]


def test_padded_rows_are_honoured_and_their_filler_kept() -> None:
    tight = np.frombuffer(packed(GRID, XYZ, 12), np.uint8).reshape(3, 48)
    padded = np.full((3, 64), 0xEE, np.uint8)
    padded[:, :48] = tight
    data = message(padded.tobytes(), width=4, height=3, row_step=64)
    cloud = CODEC.decode(data)
    assert cloud.notes == ()
    assert cloud.xyz().reshape(3, 4, 3)[2, 3].tolist() == [3, 2, 5]
    assert CODEC.encode(cloud) == data
    moved = reread(CODEC.encode(cloud.with_columns({"z": np.zeros(12)})))
    assert (moved.row_step, len(moved.data)) == (64, 192)
    kept = reread(CODEC.encode(cloud.take(np.arange(5))))
    assert (kept.row_step, len(kept.data), kept.height, kept.width) == (60, 60, 1, 5)


def test_last_row_may_lack_its_padding() -> None:
    tight = np.frombuffer(packed(GRID, XYZ, 12), np.uint8).reshape(3, 48)
    padded = np.full((3, 64), 0xEE, np.uint8)
    padded[:, :48] = tight
    data = message(padded.tobytes()[:-16], width=4, height=3, row_step=64)
    cloud = CODEC.decode(data)
    assert cloud.xyz().reshape(3, 4, 3)[2, 3].tolist() == [3, 2, 5]
    assert len(reread(CODEC.encode(cloud)).data) == 192


@pytest.mark.parametrize("row_step", [0, 1, 47, 144, 2**32 - 1])
def test_wrong_row_step_is_read_as_tight_and_repaired(row_step: int) -> None:
    tight = packed(GRID, XYZ, 12)
    cloud = CODEC.decode(message(tight, width=4, height=3, row_step=row_step))
    assert cloud.xyz().reshape(3, 4, 3)[2, 3].tolist() == [3, 2, 5]
    assert "row_step" in cloud.notes[0]
    assert CODEC.encode(cloud) == message(tight, width=4, height=3)


def test_big_endian_points_are_read_and_written_as_flagged() -> None:
    columns = {"x": [1, 2, 3], "y": [-1, -2, -3], "z": [0, 0, 0], "intensity": [5, 6, 7]}
    data = message(packed(columns, XYZI, 16, big=True), XYZI, width=3, step=16, big=True)
    cloud = CODEC.decode(data)
    assert cloud.column("x").tolist() == [1, 2, 3]
    assert cloud.notes == ()
    moved = CODEC.encode(cloud.with_columns({"x": np.array([9.0, 8.0, 7.0])}))
    wanted = {**columns, "x": [9, 8, 7]}
    assert moved == message(packed(wanted, XYZI, 16, big=True), XYZI, width=3, step=16, big=True)


@pytest.mark.parametrize("big", [False, True])
def test_a_lying_byte_order_flag_is_noted(*, big: bool) -> None:
    columns = {"x": [1, 2, 3], "y": [-1, -2, -3], "z": [0, 0.25, 0.5]}
    lie = message(packed(columns, XYZ, 12, big=not big), width=3, big=big)
    assert "is_bigendian" in CODEC.decode(lie).notes[0]
    truth = message(packed(columns, XYZ, 12, big=big), width=3, big=big)
    assert CODEC.decode(truth).notes == ()


def test_is_dense_is_computed_from_positions_only() -> None:
    fields = (*XYZ, ("rgb", 12, "f4"))
    columns = {"x": [1.0, np.inf], "y": [0.0, 0.0], "z": [0.0, 0.0], "rgb": [0.0, 0.0]}
    lying = message(packed(columns, fields, 16), fields, width=2, step=16, dense=True)
    out = CODEC.encode(CODEC.decode(lying))
    assert not reread(out).is_dense
    assert out[:-1] == lying[:-1]
    columns = {"x": [1.0, 2.0], "y": [0.0, 0.0], "z": [0.0, 0.0], "rgb": [np.nan, 0.0]}
    dense = message(packed(columns, fields, 16), fields, width=2, step=16, dense=True)
    assert CODEC.encode(CODEC.decode(dense)) == dense


EMPTY = [
    message(b"", width=0, step=12),
    message(b"", width=0, height=0, step=0),
    message(b"", (), width=0, height=0, step=0),
    message(b"", width=0, step=2**32 - 1),
    message(b"left over", width=0, step=12, dense=False),
]


@pytest.mark.parametrize("data", EMPTY)
def test_empty_clouds_pass(data: bytes) -> None:
    cloud = CODEC.decode(data)
    assert len(cloud) == 0
    assert CODEC.encode(cloud) == data
    moved = CODEC.encode(replace(cloud, stamp_ns=5))
    assert reread(moved).width == 0
    assert CODEC.encode(cloud.take(np.zeros(0, np.bool_)))


def test_bits_of_packed_colour_survive_a_change_of_position() -> None:
    bits = [0x78, 0xFF820000, 0xFF800001, 0x7FA00000, 0xFFFFFF, 0xFF3B5CA1]
    stored = (*XYZ, ("rgb", 16, "u4"))
    rows = np.arange(6.0)
    raw = packed({"x": rows, "y": rows, "z": rows, "rgb": bits}, stored, 32, filler=0xAB)
    data = message(raw, (*XYZ, ("rgb", 16, "f4")), width=6, step=32)
    cloud = CODEC.decode(data).with_xyz(np.ones((6, 3)))
    out = np.frombuffer(bytes(reread(CODEC.encode(cloud)).data), np.uint8).reshape(6, 32)
    before = np.frombuffer(raw, np.uint8).reshape(6, 32)
    assert (out[:, 12:] == before[:, 12:]).all()  # colour, and the padding around it
    picked = CODEC.encode(cloud.take(np.array([3, 1])))
    rgb = np.frombuffer(bytes(reread(picked).data), np.uint8).reshape(2, 32)[:, 16:20]
    assert rgb.copy().view("<u4").ravel().tolist() == [bits[3], bits[1]]


def test_repeated_empty_and_counted_fields() -> None:
    fields = (
        ("x", 0, "f4"),
        ("y", 4, "f4"),
        ("z", 8, "f4"),
        ("_", 12, "u1", 4),
        ("_", 16, "u1"),
        ("", 17, "u1"),
        ("x", 18, "f4"),
        ("hist", 22, "f4", 3),
        ("old", 34, "u2", 0),
    )
    raw = np.arange(2 * 36, dtype=np.uint8).tobytes()
    data = message(raw, fields, width=2, step=36)
    cloud = CODEC.decode(data)
    assert CODEC.encode(cloud) == data
    assert cloud.column("hist").shape == (2, 3)
    assert cloud.column("old").shape == (2,)
    assert cloud.column("x").tolist() == np.frombuffer(raw, "<f4").reshape(2, 9)[:, 0].tolist()


def test_decoded_points_are_read_only_and_steps_do_not_write_through() -> None:
    data = bytearray(three_points())
    before = bytes(data)
    cloud = CODEC.decode(memoryview(data))
    assert not cloud.points.flags.writeable
    assert not cloud.column("x").flags.writeable
    cloud.with_xyz(np.zeros((3, 3)))
    assert bytes(data) == before
    with pytest.raises(ValueError, match="read-only"):
        cloud.column("x")[0] = 1


def test_missing_field_is_named_with_what_there_is() -> None:
    cloud = CODEC.decode(three_points())
    with pytest.raises(MessageError, match=r"'intensity' or 'i'.*x, y, z"):
        cloud.need("intensity", "i", why="intensity noise")


HOSTILE = {
    "shorter than a head": b"",
    "no CDR": b"\x07\x07" + bytes(60),
    "too little data": message(bytes(24), width=3),
    "huge cloud": message(b"", width=2**32 - 1, height=2**32 - 1, row_step=5),
    "points without bytes": message(b"", (), width=5, step=0, row_step=0),
    "field beyond the point": message(bytes(12), (*XYZ, ("i", 9, "f4")), width=1),
    "field far beyond": message(bytes(12), (("x", 2**32 - 1, "f4"),), width=1),
    "field with a huge count": message(b"", (("x", 0, "f8", 2**32 - 1),), width=0),
    "unknown datatype": message(bytes(12), (("x", 0, 9),), width=1),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_messages_are_refused(data: bytes) -> None:
    with pytest.raises(MessageError):
        CODEC.decode(data)


def test_every_truncation_is_refused() -> None:
    data = three_points()
    for length in range(len(data)):
        with pytest.raises(MessageError):
            CODEC.decode(data[:length])


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_bytes_give_a_cloud_or_a_message_error(drawn: st.DataObject) -> None:
    data = bytearray(three_points())
    for _ in range(drawn.draw(st.integers(1, 4))):
        at = drawn.draw(st.integers(0, len(data) - 4))
        data[at : at + 4] = struct.pack("<I", drawn.draw(st.integers(0, 2**32 - 1)))
    try:
        cloud = CODEC.decode(bytes(data))
    except MessageError:
        return
    CODEC.encode(cloud)


def test_stamp_out_of_range_is_an_error() -> None:
    cloud = CODEC.decode(three_points())
    with pytest.raises(MessageError, match=r"header\.stamp\.sec"):
        CODEC.encode(replace(cloud, stamp_ns=2**31 * 10**9))


DEFINITION = b"""# a comment
std_msgs/Header header
uint32 height
uint32 width
PointField[] fields
bool    is_bigendian # x
uint32  point_step
uint32  row_step
uint8[] data
bool is_dense
================
MSG: std_msgs/Header
builtin_interfaces/Time stamp
"""


def test_factory_checks_type_and_definition() -> None:
    name = "sensor_msgs/msg/PointCloud2"
    point_cloud2_codec(Schema(name), {})
    point_cloud2_codec(Schema(name, "ros2msg", DEFINITION), {})
    with pytest.raises(MessageError, match="no point cloud"):
        point_cloud2_codec(Schema("sensor_msgs/msg/PointCloud"), {})
    other = DEFINITION.replace(b"uint32 width\n", b"")
    with pytest.raises(MessageError, match="differs"):
        point_cloud2_codec(Schema(name, "ros2msg", other), {})
    with pytest.raises(MessageError, match="no codec options"):
        point_cloud2_codec(Schema(name), {"layout": 1})


def test_signalling_nans_pass_without_a_warning() -> None:
    fields = (("x", 0, "f8"), ("y", 8, "f4"), ("z", 12, "f4"))
    raw = bytes(8) + b"\x01\x00\xa0\x7f" * 2
    data = message(raw * 20, fields, width=20, step=16, dense=False)
    cloud = CODEC.decode(data)
    assert not np.isfinite(cloud.xyz()[:, 1:]).any()
    assert CODEC.encode(cloud) == data
    assert CODEC.encode(cloud.with_xyz(cloud.xyz(), where=np.zeros(20, np.bool_))) == data


def test_a_coordinate_of_several_values_is_an_error_only_where_it_is_needed() -> None:
    fields = (("x", 0, "f4"), ("y", 4, "f4", 2), ("z", 12, "f4"))
    data = message(bytes(32), fields, width=2, step=16)
    cloud = CODEC.decode(data)
    assert CODEC.encode(cloud) == data
    with pytest.raises(MessageError, match="'y' holds 2 values"):
        cloud.xyz()
