"""What holds for every cone message type and layout, with rosbags' coder as the oracle."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcap_ros2._dynamic import generate_dynamic, serialize_dynamic
from message_samples import codec_for, every_definition, expected_back, sample_cones

from bagnoise.errors import MessageError
from bagnoise.messages.msg_text import full_type_name
from bagnoise.messages.payload import FALSE_POSITIVE
from bagnoise.messages.typestore import _typestore, decode, encode

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema

FRAMES = ["", "a", "ab", "abc", "base_footprint"]


@pytest.mark.parametrize("frame_id", FRAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_what_we_write_is_what_rosbags_writes(schema: Schema, count: int, frame_id: str) -> None:
    data = codec_for(schema).encode(sample_cones(count, frame_id))
    assert encode(schema, decode(schema, data)) == data


@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_a_second_reader_agrees(schema: Schema, count: int) -> None:
    data = codec_for(schema).encode(sample_cones(count))
    short = schema.name.replace("/msg/", "/")
    text = schema.data.decode()
    read = generate_dynamic(short, text)[short](data)
    assert serialize_dynamic(short, text)[short](read) == data


@pytest.mark.parametrize("frame_id", FRAMES)
@pytest.mark.parametrize("count", [0, 1, 2, 31])
def test_an_untouched_payload_gives_the_same_bytes(
    schema: Schema, count: int, frame_id: str
) -> None:
    codec = codec_for(schema)
    data = codec.encode(sample_cones(count, frame_id))
    assert codec.encode(codec.decode(data)) == data


def test_a_view_of_the_bytes_may_go_away(schema: Schema) -> None:
    codec = codec_for(schema)
    data = codec.encode(sample_cones())
    buffer = bytearray(data)
    cones = codec.decode(memoryview(buffer))
    buffer[:] = bytes(len(buffer))
    assert codec.encode(cones) == data


def test_values_come_back(schema: Schema) -> None:
    codec = codec_for(schema)
    lost = codec.losses(sample_cones())
    back = codec.decode(codec.encode(sample_cones()))
    cones = expected_back(codec, sample_cones())
    np.testing.assert_allclose(back.xyz[:, :2], cones.xyz[:, :2], rtol=1e-6)
    if "z" not in lost:
        np.testing.assert_allclose(back.xyz[:, 2], cones.xyz[:, 2], rtol=1e-6, atol=1e-6)
    if not any(loss.endswith(" cones") for loss in lost):
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
    codec = codec_for(schema)
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
    codec = codec_for(schema)
    cones = codec.decode(codec.encode(sample_cones(5)))
    rows = np.append(np.arange(len(cones)), len(cones) - 1)
    index = np.append(cones.index, np.int32(FALSE_POSITIVE))
    more = replace(cones.take(rows), index=index)
    more = replace(more, xyz=np.vstack((cones.xyz, [[9.0, 8.0, 0.0]])))
    back = codec.decode(codec.encode(more))
    np.testing.assert_allclose(back.xyz, more.xyz, rtol=1e-6, atol=1e-6)
    assert back.color.tolist() == more.color.tolist()


def test_nan_is_kept(schema: Schema) -> None:
    codec = codec_for(schema)
    cones = sample_cones(4)
    xyz = cones.xyz.copy()
    xyz[1] = np.nan
    data = codec.encode(replace(cones, xyz=xyz))
    back = codec.decode(data)
    assert np.isnan(back.xyz[:, 0]).tolist() == [False, True, False, False]
    assert codec.encode(back) == data


def test_arrays_of_the_payload_are_not_changed(schema: Schema) -> None:
    codec = codec_for(schema)
    cones = sample_cones()
    for column in (cones.xyz, cones.color, cones.index, cones.covariance, cones.ids):
        assert column is not None
        column.flags.writeable = False
    codec.encode(cones)
    np.testing.assert_array_equal(cones.xyz, sample_cones().xyz)


def test_every_filler_byte_of_a_message_survives(schema: Schema) -> None:
    """Some writers leave rubbish between values: bytes that no decoder looks at."""
    codec = codec_for(schema)
    data = codec.encode(sample_cones(3, "ab"))
    filler = 0
    for at in range(4, len(data)):
        altered = bytearray(data)
        altered[at] ^= 0x5A
        try:
            is_filler = encode(schema, decode(schema, bytes(altered))) == data
        except MessageError:
            continue
        if is_filler:
            filler += 1
            assert codec.encode(codec.decode(bytes(altered))) == altered
    assert filler or schema.name == "sensor_msgs/msg/PointCloud2"


@pytest.mark.parametrize("tail", [1, 2, 3])
def test_filler_behind_the_last_value_survives(schema: Schema, tail: int) -> None:
    codec = codec_for(schema)
    data = codec.encode(sample_cones(3)) + bytes(range(1, tail + 1))
    assert codec.encode(codec.decode(data)) == data


def test_big_endian_messages_are_read_and_written(schema: Schema) -> None:
    codec = codec_for(schema)
    little = codec.encode(sample_cones(4, "ab"))
    store = _typestore(schema)
    big = bytes(
        store.serialize_cdr(
            decode(schema, little), full_type_name(schema.name), little_endian=False
        )
    )
    cones = codec.decode(big)
    reference = codec.decode(little)
    np.testing.assert_array_equal(cones.xyz, reference.xyz)
    assert cones.color.tolist() == reference.color.tolist()
    assert cones.stamp_ns == reference.stamp_ns
    assert codec.encode(cones) == big


def test_conversion_between_any_two_types(schema: Schema) -> None:
    """From every type to this one."""
    target = codec_for(schema)
    for other in every_definition():
        source = codec_for(other)
        cones = source.decode(source.encode(sample_cones(7)))
        lost = target.losses(cones)
        back = target.decode(target.encode(cones))
        cones = expected_back(target, cones)
        np.testing.assert_allclose(back.xyz[:, :2], cones.xyz[:, :2], rtol=1e-6, atol=1e-6)
        if not any(loss.endswith(" cones") for loss in lost):
            assert back.color.tolist() == cones.color.tolist()


def test_regrouping_by_color_is_stable(schema: Schema) -> None:
    codec = codec_for(schema)
    cones = sample_cones(20)
    mixed = cones.take(np.random.default_rng(3).permutation(20))
    back = codec.decode(codec.encode(mixed))
    kept = expected_back(codec, mixed)
    by_class = np.argsort(kept.color, kind="stable")
    grouped = np.allclose(back.xyz[:, :2], kept.xyz[by_class, :2], rtol=1e-6)
    in_order = np.allclose(back.xyz[:, :2], kept.xyz[:, :2], rtol=1e-6)
    assert grouped != in_order  # one or the other, never a mixture


@pytest.mark.parametrize("stamp_ns", [1 << 62, -(1 << 62)])
def test_a_stamp_that_no_header_holds_is_an_error(schema: Schema, stamp_ns: int) -> None:
    codec = codec_for(schema)
    if "header (stamp, frame)" in codec.losses(sample_cones()):
        return
    with pytest.raises(MessageError):
        codec.encode(replace(sample_cones(), stamp_ns=stamp_ns))


def test_every_cut_is_an_error(schema: Schema) -> None:
    codec = codec_for(schema)
    data = codec.encode(sample_cones(3))
    for size in range(len(data)):
        with pytest.raises(MessageError):
            codec.decode(data[:size])


def test_more_than_filler_behind_the_end_is_an_error(schema: Schema) -> None:
    codec = codec_for(schema)
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
    codec = codec_for(schema)
    data = bytearray(codec.encode(sample_cones(count)))
    for at, value in flips:
        data[at % len(data)] = value
    try:
        cones = codec.decode(bytes(data))
    except MessageError:
        return
    assert len(codec.decode(codec.encode(cones))) == len(cones)


def test_any_number_can_be_written_and_read(schema: Schema) -> None:
    """Warnings are errors here: nothing of numpy's may reach the user."""
    numbers = (np.nan, np.inf, -np.inf, 1.7e308, -1.7e308, 1e200, 5e-324, 0.0, 3.5)
    xyz = np.array(list(itertools.product(numbers, numbers, numbers[:3])))
    count = len(xyz)
    covariance = np.resize(np.array(numbers), (count, 3, 3))
    probabilities = np.resize(np.array((*numbers, 1.7e308, 1.7e308)), (count, 5))
    odd = replace(sample_cones(count), xyz=xyz, covariance=covariance, probabilities=probabilities)
    codec = codec_for(schema)
    data = codec.encode(odd)
    codec.losses(odd)
    assert codec.encode(codec.decode(data)) == data
