"""Clouds written into small bags, and read back out of augmented ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from small_bags import EPOCH, TYPES, Sent, header
from small_bags import STORE as ROS

from bagnoise.bags import open_bag
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_codec import PointCloud2Codec

CLOUD, INFO, TF = (
    "sensor_msgs/msg/PointCloud2",
    "sensor_msgs/msg/CameraInfo",
    "tf2_msgs/msg/TFMessage",
)
CODES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
OPTICAL = (-0.5, 0.5, -0.5, 0.5)


def cloud_at(  # noqa: PLR0913 - a cloud can be odd in many ways
    log_ns: int,
    columns: dict[str, tuple[int, str, Any]],
    *,
    step: int,
    shape: tuple[int, int] | None = None,
    frame: str = "lidar",
    topic: str = "/points",
    stamp_ns: int | None = None,
    big: bool = False,
    dense: bool = True,
    pad: int = 0,
    row_step: int | None = None,
) -> Sent:
    """Write a message by hand: columns are name -> (offset, type, values), in list order."""
    count = len(next(iter(columns.values()))[2]) if columns else 0
    rows, width = shape or (1, count)
    raw = np.zeros((count, step), np.uint8)
    for offset, kind, values in columns.values():
        spelled = np.asarray(values).astype((">" if big else "<") + kind)
        size = spelled.dtype.itemsize
        raw[:, offset : offset + size] = spelled.view(np.uint8).reshape(count, size)
    lines = np.pad(raw.reshape(rows, width * step), ((0, 0), (0, pad)), constant_values=0xEE)
    field = TYPES["sensor_msgs/msg/PointField"]
    message = TYPES[CLOUD](
        header=header(log_ns if stamp_ns is None else stamp_ns, frame),
        height=rows,
        width=width,
        fields=[field(n, at, CODES[kind], 1) for n, (at, kind, _) in columns.items()],
        is_bigendian=big,
        point_step=step,
        row_step=lines.shape[1] if row_step is None else row_step,
        data=lines.reshape(-1),
        is_dense=dense,
    )
    return Sent(topic, CLOUD, log_ns, bytes(ROS.serialize_cdr(message, CLOUD)))


def xyz_at(log_ns: int, xyz: Any, **more: Any) -> Sent:
    """Write a cloud of x, y, z as float32."""
    positions = np.asarray(xyz, np.float64).reshape(-1, 3)
    columns = {name: (4 * i, "f4", positions[:, i]) for i, name in enumerate("xyz")}
    return cloud_at(log_ns, columns, step=12, **more)


def static_tf(*edges: tuple[str, str, tuple[float, float, float], Any]) -> Sent:
    """Write parent, child, translation, quaternion to /tf_static."""
    transforms = [
        TYPES["geometry_msgs/msg/TransformStamped"](
            header=header(EPOCH, parent),
            child_frame_id=child,
            transform=TYPES["geometry_msgs/msg/Transform"](
                translation=TYPES["geometry_msgs/msg/Vector3"](*xyz),
                rotation=TYPES["geometry_msgs/msg/Quaternion"](*xyzw),
            ),
        )
        for parent, child, xyz, xyzw in edges
    ]
    message = TYPES[TF](transforms=transforms)
    return Sent("/tf_static", TF, EPOCH - 1, bytes(ROS.serialize_cdr(message, TF)))


def camera_info(width: int, height: int, focal: float, cx: float, cy: float) -> Sent:
    """Write an ideal camera's CameraInfo to /camera/camera_info, frame cam_optical."""
    message = TYPES[INFO](
        header=header(EPOCH, "cam_optical"),
        height=height,
        width=width,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=np.array([focal, 0, cx, 0, focal, cy, 0, 0, 1]),
        r=np.eye(3).ravel(),
        p=np.array([focal, 0, cx, 0, 0, focal, cy, 0, 0, 0, 1, 0]),
        binning_x=0,
        binning_y=0,
        roi=TYPES["sensor_msgs/msg/RegionOfInterest"](0, 0, 0, 0, do_rectify=False),
    )
    return Sent("/camera/camera_info", INFO, EPOCH - 1, bytes(ROS.serialize_cdr(message, INFO)))


def raw_in(path: Path, topic: str = "/points") -> list[bytes]:
    """Read all messages of a topic."""
    with open_bag(path) as bag:
        ids = [channel.id for channel in bag.channels if channel.topic == topic]
        return [bytes(message.data) for message in bag.messages(ids)]


def clouds_in(path: Path, topic: str = "/points") -> list[Cloud]:
    """Read all clouds of a topic."""
    return [PointCloud2Codec().decode(data) for data in raw_in(path, topic)]
