"""Transforms and poses read straight from the bytes, of which bags have very many."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from bagnoise.messages.cones.wire import Reader
from bagnoise.messages.msg_text import full_type_name

if TYPE_CHECKING:
    from collections.abc import Iterator

TF_TYPE = "tf2_msgs/msg/TFMessage"
# type -> whether a child_frame_id follows the header; the pose comes next in all of them
POSE_TYPES = {
    "nav_msgs/msg/Odometry": True,
    "eufs_msgs/msg/CarState": True,
    "geometry_msgs/msg/PoseStamped": False,
    "geometry_msgs/msg/PoseWithCovarianceStamped": False,
}
_SEVEN = struct.Struct("<7d")


class Pose(NamedTuple):
    """One pose: of ``child`` in ``frame``; position in m, quaternion x y z w."""

    stamp_ns: int
    frame: str
    child: str
    numbers: tuple[float, float, float, float, float, float, float]


def read_pose(type_name: str, data: bytes | memoryview) -> Pose:
    """Read the pose of a message; ``child`` is empty where the type does not name it.

    Raises:
        MessageError: the bytes do not fit the type.
    """
    reader = Reader(data, type_name)
    stamp_ns, frame = reader.header()
    child = reader.string() if POSE_TYPES[full_type_name(type_name)] else ""
    return _pose(reader, stamp_ns, frame, child)


def read_transforms(data: bytes | memoryview) -> Iterator[Pose]:
    """Yield the transforms of a tf2_msgs/TFMessage.

    Raises:
        MessageError: the bytes do not fit the type.
    """
    reader = Reader(data, TF_TYPE)
    for _ in range(reader.count()):
        stamp_ns, frame = reader.header()
        yield _pose(reader, stamp_ns, frame, reader.string())


def _pose(reader: Reader, stamp_ns: int, frame: str, child: str) -> Pose:
    x, y, z, qx, qy, qz, qw = reader.numbers(_SEVEN, 8)
    return Pose(stamp_ns, frame, child, (x, y, z, qx, qy, qz, qw))
