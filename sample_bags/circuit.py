"""The circuit: a closed centre line and the cones that stand along it.

The line is a uniform cubic B-spline, whose curvature is continuous, so that a car which follows it
has a continuous yaw rate. Frame: ``map``, whose origin is the pose of the car on the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from exact import quantise

Array = npt.NDArray[np.float64]

CONTROL_POINTS_M = (
    (-24.0, 0.0),
    (-12.0, 0.0),
    (0.0, 0.0),
    (12.0, 0.0),
    (24.0, 0.0),
    (36.0, 0.0),
    (50.0, 2.0),
    (60.0, 10.0),
    (57.0, 22.0),
    (45.0, 25.0),
    (33.0, 20.0),
    (20.0, 13.0),
    (9.0, 17.0),
    (11.0, 29.0),
    (23.0, 36.0),
    (25.0, 47.0),
    (15.0, 54.0),
    (3.0, 50.0),
    (-1.0, 39.0),
    (-8.0, 29.0),
    (-17.0, 33.0),
    (-24.0, 44.0),
    (-34.0, 47.0),
    (-39.0, 37.0),
    (-31.0, 25.0),
    (-33.0, 16.0),
    (-41.0, 8.0),
    (-36.0, -1.0),
)
STATION_STEP_M = 0.02
START_LINE_M = 6.0
"""Arc length of the start line: rules put the car on the grid 6 m before it."""
HALF_WIDTH_M = 1.75
BIG_CONE_HALF_WIDTH_M = 1.95
LARGEST_SPACING_M = 4.6
SMALLEST_SPACING_M = 2.2
SPACING_PER_RADIUS = 0.3
BIG_ORANGE_STATIONS_M = (START_LINE_M - 0.5, START_LINE_M + 0.5)
GATE_GAP_M = 3.0
FIRST_ORANGE_M = BIG_ORANGE_STATIONS_M[0] - 2 * GATE_GAP_M
SMALL_ORANGE_STATIONS_M = (FIRST_ORANGE_M, FIRST_ORANGE_M + GATE_GAP_M)
CONE_POSITION_BITS = 12
COLORS = ("blue", "yellow", "orange", "big_orange")


@dataclass(frozen=True)
class CentreLine:
    """The centre line, sampled every ``STATION_STEP_M`` of arc length over one lap.

    ``heading_rad`` is unwrapped; ``winding_rad`` is what one lap adds to it (+-2 pi).
    """

    station_m: Array
    xy_m: Array
    heading_rad: Array
    curvature_per_m: Array
    length_m: float
    winding_rad: float

    def at(self, station_m: Array) -> tuple[Array, Array, Array]:
        """Position (n, 2), heading and curvature at arc lengths that may exceed one lap."""
        laps, within = np.divmod(station_m, self.length_m)
        xs, ys, headings, curvatures = (
            np.interp(within, self.station_m, values)
            for values in (*self.xy_m.T, self.heading_rad, self.curvature_per_m)
        )
        return np.stack([xs, ys], axis=1), headings + laps * self.winding_rad, curvatures


@dataclass(frozen=True)
class Cones:
    """All cones of the course in driving order: positions (n, 2), and a color index for each."""

    xy_m: Array
    color: npt.NDArray[np.int64] = field(repr=False)

    def of(self, color: str) -> Array:
        """Positions (n, 2) of the cones of one color."""
        of_color: Array = self.xy_m[self.color == COLORS.index(color)]
        return of_color


def _spline(parameter: Array) -> tuple[Array, Array, Array]:
    """Position, first and second derivative of the B-spline at parameters in [0, n)."""
    points = np.array(CONTROL_POINTS_M)
    index = np.floor(parameter).astype(np.int64)
    t = (parameter - index)[:, None]
    a, b, c, d = (points[(index + shift) % len(points)] for shift in range(4))
    position = (
        (1 - t) ** 3 * a
        + (3 * t**3 - 6 * t**2 + 4) * b
        + (-3 * t**3 + 3 * t**2 + 3 * t + 1) * c
        + t**3 * d
    ) / 6
    first = (-((1 - t) ** 2) * a + (3 * t**2 - 4 * t) * b + (-3 * t**2 + 2 * t + 1) * c) / 2
    first += t**2 * d / 2
    second = (1 - t) * a + (3 * t - 2) * b + (1 - 3 * t) * c + t * d
    return position, first, second


def _origin_parameter() -> float:
    """Parameter of the map's origin, the third control point, on the straight."""
    return float(CONTROL_POINTS_M.index((0.0, 0.0)) - 1)


def centre_line() -> CentreLine:
    """Sample the centre line evenly by arc length, from the car's place on the grid."""
    count = len(CONTROL_POINTS_M)
    fine = np.linspace(0.0, count, count * 2000 + 1) + _origin_parameter()
    xy, _, _ = _spline(np.mod(fine, count))
    arc = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(xy, axis=0).T))])
    length_m = float(arc[-1])
    stations = np.linspace(0.0, length_m, round(length_m / STATION_STEP_M) + 1)
    position, first, second = _spline(np.mod(np.interp(stations, arc, fine), count))
    heading = np.unwrap(np.arctan2(first[:, 1], first[:, 0]))
    cross = first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]
    curvature = cross / np.hypot(*first.T) ** 3
    winding = round((heading[-1] - heading[0]) / np.pi) * np.pi
    return CentreLine(stations, position, heading, curvature, length_m, winding)


def _offset(line: CentreLine, station_m: Array, left_m: float) -> Array:
    """Points ``left_m`` to the left of the line."""
    xy, heading, _ = line.at(station_m)
    return xy + left_m * np.stack([-np.sin(heading), np.cos(heading)], axis=1)


def _side_stations(line: CentreLine, left_m: float) -> Array:
    """Stations of one side's blue or yellow cones, closer together in curves.

    The spacing is measured along the side itself: an outer cone row is longer than the line.
    """
    curvature = np.abs(line.curvature_per_m)
    radius = 1 / np.maximum(curvature, 1e-3)
    spacing = np.clip(SPACING_PER_RADIUS * radius, SMALLEST_SPACING_M, LARGEST_SPACING_M)
    stretch = 1 - left_m * line.curvature_per_m
    density = np.cumsum(stretch / spacing) * STATION_STEP_M
    ends_m = (BIG_ORANGE_STATIONS_M[1] + GATE_GAP_M, line.length_m + FIRST_ORANGE_M - GATE_GAP_M)
    begin, end = np.interp(ends_m, line.station_m, density)
    count = int(np.ceil(end - begin)) + 1
    stations: Array = np.interp(np.linspace(begin, end, count), density, line.station_m)
    return stations


def course_cones(line: CentreLine) -> Cones:
    """Blue left, yellow right, small orange at the gate, big orange at the start line."""
    small, big = np.array(SMALL_ORANGE_STATIONS_M), np.array(BIG_ORANGE_STATIONS_M)
    groups = [
        _offset(line, _side_stations(line, HALF_WIDTH_M), HALF_WIDTH_M),
        _offset(line, _side_stations(line, -HALF_WIDTH_M), -HALF_WIDTH_M),
        np.concatenate([_offset(line, small, side * HALF_WIDTH_M) for side in (1, -1)]),
        np.concatenate([_offset(line, big, side * BIG_CONE_HALF_WIDTH_M) for side in (1, -1)]),
    ]
    color = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return Cones(quantise(np.concatenate(groups), CONE_POSITION_BITS), color)
