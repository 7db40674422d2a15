"""Point clouds for tests, written by rosbags: a second opinion on the wire format."""

from __future__ import annotations

from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

STAMP_NS = 1_700_000_000_123_456_789
STORE = get_typestore(Stores.ROS2_HUMBLE)
TYPE = "sensor_msgs/msg/PointCloud2"
CODES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}
XYZ = (("x", 0, "f4"), ("y", 4, "f4"), ("z", 8, "f4"))
XYZI = (*XYZ, ("intensity", 12, "f4"))
VELODYNE = (*XYZI, ("ring", 16, "u2"), ("time", 18, "f4"))


def packed(
    columns: dict[str, Any], fields: Any, step: int, *, big: bool = False, filler: int = 0
) -> bytes:
    """Lay columns out by hand: name, offset and code a field."""
    count = len(next(iter(columns.values())))
    raw = np.full((count, step), filler, np.uint8)
    for name, offset, code in fields:
        if name not in columns:
            continue
        values = np.asarray(columns[name]).reshape(count, -1).astype((">" if big else "<") + code)
        part = np.ascontiguousarray(values).view(np.uint8).reshape(count, -1)
        raw[:, offset : offset + part.shape[1]] = part
    return raw.tobytes()


def message(  # noqa: PLR0913
    data: bytes,
    fields: Any = XYZ,
    *,
    width: int,
    height: int = 1,
    step: int = 12,
    row_step: int | None = None,
    big: bool = False,
    dense: bool = True,
    stamp_ns: int = STAMP_NS,
    frame: str = "lidar",
    big_cdr: bool = False,
) -> bytes:
    """Serialize a PointCloud2 through rosbags."""
    kinds = STORE.types
    stamp = kinds["builtin_interfaces/msg/Time"](sec=stamp_ns // 10**9, nanosec=stamp_ns % 10**9)
    made = kinds[TYPE](
        header=kinds["std_msgs/msg/Header"](stamp=stamp, frame_id=frame),
        height=height,
        width=width,
        fields=[
            kinds["sensor_msgs/msg/PointField"](
                name=field[0],
                offset=field[1],
                datatype=CODES.get(field[2], field[2]),
                count=field[3] if len(field) > 3 else 1,
            )
            for field in fields
        ],
        is_bigendian=big,
        point_step=step,
        row_step=width * step if row_step is None else row_step,
        data=np.frombuffer(data, np.uint8),
        is_dense=dense,
    )
    return bytes(STORE.serialize_cdr(made, TYPE, little_endian=not big_cdr))


def reread(data: bytes) -> Any:
    """Deserialize through rosbags."""
    return STORE.deserialize_cdr(data, TYPE)
