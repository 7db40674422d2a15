"""Clouds of known ranges and intensities, organised or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagnoise.messages.cloud import Cloud
from bagnoise.messages.point_fields import DATATYPES, PointField, point_dtype
from bagnoise.steps.base import Moment

STAMP_NS = 1_700_000_000_000_000_123
FIELDS = (
    PointField("x", 0, 7),
    PointField("y", 4, 7),
    PointField("z", 8, 7),
    PointField("intensity", 12, 7),
    PointField("ring", 16, 4),
    PointField("time", 18, 7),
    PointField("rgb", 22, 7),
)


def moment() -> Moment:
    return Moment((0, "points", "step", 7, 0), STAMP_NS)


def cloud_of(
    xyz: NDArray[Any], intensity: Any, *, rows: int = 8, kind: str = "f4", misses: str = ""
) -> Cloud:
    """Make a cloud; ``misses`` "nan" makes every 50th point one."""
    fields = tuple(
        PointField(f.name, f.offset, DATATYPES[kind]) if f.name == "intensity" else f
        for f in FIELDS
    )
    points = np.zeros(len(xyz), point_dtype(fields, 27))
    for name, column in zip("xyz", xyz.T, strict=True):
        points[name] = column
    points["intensity"] = intensity
    points["ring"] = np.arange(len(xyz)) % 16
    points["time"] = np.linspace(-0.1, 0, len(xyz))
    points["rgb"] = np.arange(len(xyz), dtype=np.uint32).view(np.float32)
    if misses:
        for name in "xyz":
            points[name][::50] = np.nan
    points.setflags(write=False)
    return Cloud(STAMP_NS, "velodyne", fields, points, rows, len(xyz) // rows, 27)


def on_sphere(
    range_m: float, origin: NDArray[np.float64], count: int, intensity: Any, **options: Any
) -> Cloud:
    """Make a cloud of points that are all at one range from the lidar."""
    rays = np.random.default_rng(1).normal(size=(count, 3))
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    return cloud_of(origin + range_m * rays, intensity, **options)
