"""What holds for every cone message type and layout, with rosbags' coder as the oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from conftest import sample_cones
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap_ros2._dynamic import generate_dynamic, serialize_dynamic

from bagnoise.errors import MessageError
from bagnoise.messages.payload import FALSE_POSITIVE
from bagnoise.messages.registry import cone_codec
from bagnoise.messages.typestore import decode, encode

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema

FRAMES = ["", "a", "ab", "abc", "base_footprint"]


@pytest.mark.parametrize("frame_id", FRAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_what_we_write_is_what_rosbags_writes(schema: Schema, count: int, frame_id: str) -> None:
    data = cone_codec(schema).encode(sample_cones(count, frame_id))
    assert encode(schema, decode(schema, data)) == data


@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_a_second_reader_agrees(schema: Schema, count: int) -> None:
    data = cone_codec(schema).encode(sample_cones(count))
    short = schema.name.replace("/msg/", "/")
    text = schema.data.decode()
    read = generate_dynamic(short, text)[short](data)
    assert serialize_dynamic(short, text)[short](read) == data


@pytest.mark.parametrize("frame_id", FRAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_an_untouched_payload_gives_the_same_bytes(
    schema: Schema, count: int, frame_id: str
) -> None:
    codec = cone_codec(schema)
    data = codec.encode(sample_cones(count, frame_id))
    assert codec.encode(codec.decode(data)) == data


def test_a_view_of_the_bytes_may_go_away(schema: Schema) -> None:
    codec = cone_codec(schema)
    data = codec.encode(sample_cones())
    buffer = bytearray(data)
    cones = codec.decode(memoryview(buffer))
    buffer[:] = bytes(len(buffer))
    assert codec.encode(cones) == data


def test_values_come_back(schema: Schema) -> None:
    codec = cone_codec(schema)
    cones = sample_cones()
    back = codec.decode(codec.encode(cones))
    lost = codec.losses(cones)
    np.testing.assert_allclose(back.xyz[:, :2], cones.xyz[:, :2], rtol=1e-6)
    if "z" not in lost:
        np.testing.assert_allclose(back.xyz[:, 2], cones.xyz[:, 2], rtol=1e-6, atol=1e-6)
    if not any("cones" in loss for loss in lost):
        assert back.color.tolist() == cones.color.tolist()
    if "header (stamp, frame)" not in lost:
        assert (back.stamp_ns, back.frame_id) == (cones.stamp_ns, cones.frame_id)
    if "id" not in lost:
        assert back.ids is not None
        assert cones.ids is not None
        assert back.ids.tolist() == cones.ids.tolist()
    if not any("covariance" in loss for loss in lost):
        np.testing.assert_array_equal(back.covariance, cones.covariance)


def test_rows_can_go_and_others_move(schema: Schema) -> None:
    codec = cone_codec(schema)
    cones = codec.decode(codec.encode(sample_cones()))
    kept = cones.take(np.arange(len(cones)) % 3 == 1)
    moved = replace(kept, xyz=kept.xyz + np.array([1.0, 2.0, 0.0]), stamp_ns=7, frame_id="other")
    back = codec.decode(codec.encode(moved))
    assert len(back) == len(kept)
    np.testing.assert_allclose(back.xyz, moved.xyz, rtol=1e-6, atol=1e-6)
    assert back.color.tolist() == moved.color.tolist()
    if cones.frame_id:
        assert (back.stamp_ns, back.frame_id) == (7, "other")


def test_a_row_without_source_can_be_written(schema: Schema) -> None:
    codec = cone_codec(schema)
    cones = codec.decode(codec.encode(sample_cones(5)))
    rows = np.array([0, 1, 2, 3, 4, 4])
    index = np.array([0, 1, 2, 3, 4, FALSE_POSITIVE], np.int32)
    more = replace(cones.take(rows), index=index)
    more = replace(more, xyz=np.vstack((cones.xyz, [[9.0, 8.0, 0.0]])))
    back = codec.decode(codec.encode(more))
    np.testing.assert_allclose(back.xyz, more.xyz, rtol=1e-6, atol=1e-6)
    assert back.color.tolist() == more.color.tolist()


def test_nan_is_kept(schema: Schema) -> None:
    codec = cone_codec(schema)
    cones = sample_cones(4)
    xyz = cones.xyz.copy()
    xyz[1] = np.nan
    data = codec.encode(replace(cones, xyz=xyz))
    back = codec.decode(data)
    assert np.isnan(back.xyz[:, 0]).tolist() == [False, True, False, False]
    assert codec.encode(back) == data


def test_arrays_of_the_payload_are_not_changed(schema: Schema) -> None:
    codec = cone_codec(schema)
    cones = sample_cones()
    for column in (cones.xyz, cones.color, cones.index, cones.covariance, cones.ids):
        assert column is not None
        column.flags.writeable = False
    codec.encode(cones)
    np.testing.assert_array_equal(cones.xyz, sample_cones().xyz)


@pytest.mark.parametrize("stamp_ns", [1 << 62, -(1 << 62)])
def test_a_stamp_that_no_header_holds_is_an_error(schema: Schema, stamp_ns: int) -> None:
    codec = cone_codec(schema)
    if "header (stamp, frame)" in codec.losses(sample_cones()):
        return
    with pytest.raises(MessageError):
        codec.encode(replace(sample_cones(), stamp_ns=stamp_ns))


def test_every_cut_is_an_error(schema: Schema) -> None:
    codec = cone_codec(schema)
    data = codec.encode(sample_cones(3))
    for size in range(len(data)):
        with pytest.raises(MessageError):
            codec.decode(data[:size])


def test_more_than_filler_behind_the_end_is_an_error(schema: Schema) -> None:
    codec = cone_codec(schema)
    data = codec.encode(sample_cones(3))
    with pytest.raises(MessageError):
        codec.decode(data + bytes(8))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    flips=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6),
    count=st.integers(0, 4),
)
def test_altered_bytes_give_cones_or_a_message_error(
    schema: Schema, flips: list[tuple[int, int]], count: int
) -> None:
    codec = cone_codec(schema)
    data = bytearray(codec.encode(sample_cones(count)))
    for at, value in flips:
        data[at % len(data)] = value
    try:
        cones = codec.decode(bytes(data))
    except MessageError:
        return
    assert len(codec.decode(codec.encode(cones))) == len(cones)
