"""Cones for RViz and Foxglove, and markers of others read as cones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from message_samples import codec_named, sample_cones

from bagnoise.bags.model import Schema
from bagnoise.messages.definitions import shipped_definition
from bagnoise.messages.payload import ConeClass
from bagnoise.messages.registry import cone_codec
from bagnoise.messages.typestore import blank_message, decode, encode

NAME = "visualization_msgs/msg/MarkerArray"
MARKER = "visualization_msgs/msg/Marker"


def schema() -> Schema:
    found = shipped_definition(NAME)
    assert found is not None
    return found


def marker(**values: Any) -> Any:
    made = blank_message(schema(), MARKER)
    made.scale.z = values.pop("height_m", 0.3)
    made.pose.position.x = values.pop("x", 1.0)
    for name, value in zip("rgba", values.pop("rgba", (0.0, 0.0, 1.0, 1.0)), strict=True):
        setattr(made.color, name, value)
    return replace(made, type=values.pop("type", 1), **values)


def test_the_first_marker_deletes_the_old_ones_and_cylinders_stand_on_the_ground() -> None:
    cones = sample_cones(5, "base")
    message = decode(schema(), codec_named(NAME).encode(cones))
    first, *cylinders = message.markers
    assert (first.action, first.header.frame_id) == (3, "base")
    assert [one.type for one in cylinders] == [3] * 5
    assert [one.action for one in cylinders] == [0] * 5
    assert [one.ns for one in cylinders] == [
        "blue", "yellow", "small_orange", "big_orange", "unknown",
    ]  # fmt: skip
    assert [one.scale.z for one in cylinders] == [0.325, 0.325, 0.325, 0.505, 0.325]
    assert len({one.id for one in cylinders}) == 5
    assert {one.color.a for one in cylinders} == {1.0}
    for one, xyz in zip(cylinders, cones.xyz, strict=True):
        assert one.pose.position.x == xyz[0]
        assert one.pose.position.z == xyz[2] + one.scale.z / 2
        assert one.pose.orientation.w == 1.0


def test_bytes_are_the_same_as_through_objects() -> None:
    """Another distribution has the fields in another order, and takes the slow way."""
    text = schema().data.replace(b"string ns\nint32 id\n", b"int32 id\nstring ns\n")
    other = Schema(NAME, "ros2msg", text)
    cones = sample_cones(7)
    fast = decode(schema(), codec_named(NAME).encode(cones)).markers
    slow = decode(other, cone_codec(other).encode(cones)).markers
    for one, two in zip(fast, slow, strict=True):
        assert {name: repr(value) for name, value in vars(one).items()} == {
            name: repr(value) for name, value in vars(two).items()
        }


def test_markers_of_others_are_read_by_their_color_and_kept() -> None:
    message = blank_message(schema())
    message.markers = [
        marker(action=3),
        marker(x=1.0, rgba=(0.0, 0.0, 0.9, 1.0), text="cone"),
        marker(x=2.0, rgba=(1.0, 1.0, 0.0, 0.5)),
        marker(type=9, text="a label"),
        marker(x=3.0, rgba=(1.0, 0.4, 0.0, 1.0), height_m=0.5),
        marker(x=4.0, rgba=(1.0, 0.5, 0.0, 1.0), height_m=0.3),
        marker(type=4, text="a line"),
    ]
    data = encode(schema(), message)
    codec = codec_named(NAME)
    cones = codec.decode(data)
    assert cones.xyz[:, 0].tolist() == [1, 2, 3, 4]
    assert cones.color.tolist() == [
        ConeClass.BLUE,
        ConeClass.YELLOW,
        ConeClass.BIG_ORANGE,
        ConeClass.SMALL_ORANGE,
    ]
    assert codec.encode(cones) == data
    moved = replace(cones, xyz=cones.xyz + np.array([10.0, 0, 0])).take(np.array([0, 3]))
    back = decode(schema(), codec.encode(moved)).markers
    assert [one.pose.position.x for one in back if one.type == 1 and one.action == 0] == [11, 14]
    assert [one.text for one in back if one.text] == ["cone", "a label", "a line"]
