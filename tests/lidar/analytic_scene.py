"""A street whose ranges are known exactly: ground, walls, cars (boxes) and poles (cylinders)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

GROUND_Z: Final = -1.8
SKY, GROUND, WALL, CAR, POLE = -1, 0, 1, 2, 3
# centre x, y, z, half length, width, height
WALLS: Final = ((0.0, 14.0, 0.7, 60.0, 0.1, 2.5), (0.0, -18.0, 2.2, 60.0, 0.1, 4.0))
CARS: Final = (
    (9.0, 3.5, -1.05, 2.2, 0.9, 0.75),
    (17.0, -4.0, -1.05, 2.2, 0.9, 0.75),
    (-8.0, 4.0, -1.05, 2.2, 0.9, 0.75),
    (-15.0, -3.5, -0.8, 2.5, 1.0, 1.0),
    (28.0, 3.5, -1.05, 2.2, 0.9, 0.75),
    (5.0, -6.0, -1.05, 0.9, 2.2, 0.75),
    (-30.0, 3.5, -0.3, 3.5, 1.2, 1.5),
)
# x, y, radius, top z
POLES: Final = (
    (6.0, 8.0, 0.15, 4.0),
    (14.0, 8.0, 0.15, 4.0),
    (-12.0, 9.0, 0.2, 5.0),
    (10.0, -10.0, 0.15, 4.0),
    (-6.0, -9.0, 0.25, 5.0),
    (22.0, -9.0, 0.15, 4.0),
)
FAR_M: Final = 120.0


def cast(
    origin: Any, directions: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Return exact range and kind of what rays hit; inf and SKY where nothing, (n,) each."""
    start = np.asarray(origin, np.float64)
    ranges = np.full(len(directions), np.inf)
    kinds = np.full(len(directions), SKY, np.int8)
    candidates = [(_ground(start, directions), GROUND)]
    candidates += [(_box(start, directions, box), WALL) for box in WALLS]
    candidates += [(_box(start, directions, box), CAR) for box in CARS]
    candidates += [(_pole(start, directions, pole), POLE) for pole in POLES]
    for hit, kind in candidates:
        nearer = hit < ranges
        ranges[nearer] = hit[nearer]
        kinds[nearer] = kind
    kinds[ranges > FAR_M] = SKY
    ranges[ranges > FAR_M] = np.inf
    return ranges, kinds


def _ground(start: NDArray[np.float64], rays: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        hit = (GROUND_Z - start[2]) / rays[:, 2]
    return np.where(hit > 0, hit, np.inf)


def _box(
    start: NDArray[np.float64], rays: NDArray[np.float64], box: tuple[float, ...]
) -> NDArray[np.float64]:
    centre, half = np.array(box[:3]), np.array(box[3:])
    with np.errstate(divide="ignore", invalid="ignore"):
        one = (centre - half - start) / rays
        two = (centre + half - start) / rays
    enter = np.fmin(one, two).max(axis=1)
    leave = np.fmax(one, two).min(axis=1)
    return np.where((enter <= leave) & (enter > 0), enter, np.inf)


def _pole(
    start: NDArray[np.float64], rays: NDArray[np.float64], pole: tuple[float, ...]
) -> NDArray[np.float64]:
    x, y, radius, top = pole
    a = rays[:, 0] ** 2 + rays[:, 1] ** 2
    b = (start[0] - x) * rays[:, 0] + (start[1] - y) * rays[:, 1]
    c = (start[0] - x) ** 2 + (start[1] - y) ** 2 - radius**2
    inner = b * b - a * c
    with np.errstate(invalid="ignore"):
        hit = (-b - np.sqrt(inner)) / a
    height = start[2] + hit * rays[:, 2]
    return np.where((inner >= 0) & (hit > 0) & (height <= top), hit, np.inf)


def grid_directions(columns: int, elevations_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rays of a spinning lidar, (columns * rings, 3), column by column."""
    azimuth = np.repeat(np.arange(columns) * 2 * np.pi / columns, len(elevations_deg))
    elevation = np.tile(np.radians(elevations_deg), columns)
    return np.stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ],
        axis=1,
    )


def scan(
    origin: Any = (0.0, 0.0, 0.0), columns: int = 2048, rings: int = 128, span_deg: float = 22.5
) -> NDArray[np.float32]:
    """Return the points of a dense lidar, in the frame of a sensor at the scene's origin."""
    rays = grid_directions(columns, np.linspace(-span_deg, span_deg, rings))
    ranges, _ = cast(origin, rays)
    hit = np.isfinite(ranges)
    return (np.asarray(origin) + rays[hit] * ranges[hit, None]).astype(np.float32)
