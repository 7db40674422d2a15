"""Layouts of points as known drivers publish them, and making clouds of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.messages.cloud_time import TimeKind
from bagnoise.messages.point_fields import DATATYPES, PointField, fitted, point_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Rows = Literal["rings", "columns", "none"]
_SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True)
class Layout:
    """How a driver lays its points out.

    Attributes:
        name: as recipes call it.
        point_step: bytes a point.
        fields: in the driver's order.
        rows: what a row of the organised cloud is: the points of one ring, of one column
            (firing), or nothing, where the cloud is one list.
        misses: how the driver writes a beam without return: nan, inf or remove.
        time: unit and reference of its time field, or None.
        source: where this is written down.
    """

    name: str
    point_step: int
    fields: tuple[PointField, ...]
    rows: Rows
    misses: Literal["nan", "inf", "remove"]
    time: TimeKind | None
    source: str

    @property
    def dtype(self) -> np.dtype[np.void]:
        """The packed type of a point, little-endian."""
        return point_dtype(self.fields, self.point_step)


def _fields(text: str) -> tuple[PointField, ...]:
    """Read ``name@offset:code`` words."""
    fields = []
    for word in text.split():
        name, rest = word.split("@")
        offset, code = rest.split(":")
        fields.append(PointField(name, int(offset), DATATYPES[code]))
    return tuple(fields)


_GITHUB: Final = "https://github.com/"
_XYZI: Final = "x@0:f4 y@4:f4 z@8:f4 intensity@12:f4 "
_KNOWN: Final = (
    Layout(
        "velodyne",
        22,
        _fields(_XYZI + "ring@16:u2 time@18:f4"),
        "columns",
        "nan",
        TimeKind("time", _SECOND_NS, is_absolute=False),
        _GITHUB + "ros-drivers/velodyne/blob/04a7ca722eaed13fe902366e0831717e91f9f77a/"
        "velodyne_pointcloud/src/lib/organized_cloudXYZIRT.cpp",
    ),
    Layout(
        "ouster",
        48,
        _fields(
            "x@0:f4 y@4:f4 z@8:f4 intensity@16:f4 t@20:u4 reflectivity@24:u2 ring@26:u2"
            " ambient@28:u2 range@32:u4"
        ),
        "rings",
        "nan",
        TimeKind("t", 1, is_absolute=False),
        _GITHUB + "ouster-lidar/ouster-ros/blob/f5c4ef872684c748a018e9343958bc53f95f7845/"
        "ouster-ros/include/ouster_ros/os_point.h",
    ),
    Layout(
        "hesai",
        26,
        _fields(_XYZI + "ring@16:u2 timestamp@18:f8"),
        "none",
        "remove",
        TimeKind("timestamp", _SECOND_NS, is_absolute=True),
        _GITHUB + "HesaiTechnology/HesaiLidar_ROS_2.0/blob/"
        "e7e112f0809f0eed5e3c81c55a1a0376474db234/src/manager/source_driver_ros2.hpp",
    ),
    Layout(
        "robosense",
        26,
        _fields(_XYZI + "ring@16:u2 timestamp@18:f8"),
        "rings",
        "nan",
        TimeKind("timestamp", _SECOND_NS, is_absolute=True),
        _GITHUB + "RoboSense-LiDAR/rslidar_sdk/blob/78d2abb7f0c21f789a606d584475c631d5118dc3/"
        "src/source/source_pointcloud_ros.hpp",
    ),
    Layout(
        "livox",
        26,
        _fields(_XYZI + "tag@16:u1 line@17:u1 timestamp@18:f8"),
        "none",
        "remove",
        TimeKind("timestamp", 1, is_absolute=True),
        _GITHUB + "Livox-SDK/livox_ros_driver2/blob/13eb05e4e6dd7a765b934d0c5fd6236676a57b49/"
        "src/lddc.cpp",
    ),
    Layout(
        "gz",
        18,
        _fields(_XYZI + "ring@16:u2"),
        "rings",
        "inf",
        None,
        _GITHUB + "gazebosim/gz-sensors/blob/9ba02f24108e57666d326e22317443034eb860f8/"
        "src/GpuLidarSensor.cc",
    ),
    Layout(
        "gz_aligned",
        32,
        _fields("x@0:f4 y@4:f4 z@8:f4 intensity@16:f4 ring@24:u2"),
        "rings",
        "inf",
        None,
        _GITHUB + "gazebosim/gz-sensors/blob/gz-sensors8/src/GpuLidarSensor.cc",
    ),
    Layout(
        "autoware",
        32,
        _fields(
            "x@0:f4 y@4:f4 z@8:f4 intensity@12:u1 return_type@13:u1 channel@14:u2 azimuth@16:f4"
            " elevation@20:f4 distance@24:f4 time_stamp@28:u4"
        ),
        "none",
        "remove",
        TimeKind("time_stamp", 1, is_absolute=False),
        _GITHUB + "tier4/nebula/blob/606ac41f1f136333915f0114736f2f828e9d2789/docs/point_types.md",
    ),
    Layout(
        "awsim",
        24,
        _fields("x@0:f4 y@4:f4 z@8:f4 intensity@16:f4 ring@20:u2"),
        "none",
        "remove",
        None,
        _GITHUB + "RobotecAI/AWSIM/blob/916d8304a4f7182c489ed41f6ea88a975b67fc56/Assets/AWSIM/"
        "Scripts/Sensors/LiDAR/PointCloudFormats.cs",
    ),
)
LAYOUTS: Final[Mapping[str, Layout]] = {layout.name: layout for layout in _KNOWN}


def layout_named(name: str) -> Layout:
    """Look a layout up.

    Raises:
        UsageError: there is none of that name.
    """
    layout = LAYOUTS.get(name.lower())
    if layout is None:
        msg = f"unknown point layout {name!r}; known are: {', '.join(LAYOUTS)}"
        raise UsageError(msg)
    return layout


class Grid(NamedTuple):
    """The shape of a cloud, and where each of its points comes from."""

    order: NDArray[np.intp]
    height: int
    width: int


def arrange(ring_count: int, column_count: int, rows: Rows) -> Grid:
    """Order points that come column by column, (columns * rings,), as a layout wants its rows."""
    order = np.arange(ring_count * column_count, dtype=np.intp)
    if rows == "rings":
        order = order.reshape(column_count, ring_count).T.ravel()
        return Grid(order, ring_count, column_count)
    if rows == "columns":
        return Grid(order, column_count, ring_count)
    return Grid(order, 1, len(order))


def fill(points: NDArray[np.void], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns, (n,) each, to the fields of their names; integers are rounded and clamped.

    Columns that the layout lacks are left out.
    """
    for name, values in columns.items():
        if name in (points.dtype.names or ()):
            points[name] = fitted(values, points.dtype[name])
