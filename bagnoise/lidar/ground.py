"""The plane of the ground in one cloud, without random numbers.

Lowest points of cells about the lidar, for they are ground where any of the cell is; the height
that most of them share; then least squares of z = a x + b y + c with an ever narrower band about
the plane, and at last over all points in the band. It presumes z upward within some 15 deg, a
ground that is a plane, and a lidar above it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.lidar.noise import is_return

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SECTORS: Final = 48
_RINGS: Final = 12
_NEAREST_M: Final = 1.0
_FARTHEST_M: Final = 60.0
_FEWEST_CELLS: Final = 6
_COMMON_BAND_M: Final = 0.4
_BANDS_M: Final = (1.0, 0.7, 0.5, 0.35, 0.25)
_STEEPEST: Final = 0.6
_USUAL_FACTORS: Final = 2 * 3 * 5
_MOST_POINTS: Final = 12_000


class Plane(NamedTuple):
    """Points p with normal . p + offset = 0; the normal is of length 1 and points upward."""

    normal: NDArray[np.float64]
    offset: float

    def heights_m(self, xyz: NDArray[Any]) -> NDArray[np.float64]:
        """Return heights above the plane, (n,)."""
        x, y, z = self.normal
        heights = x * xyz[:, 0].astype(np.float64)
        heights += y * xyz[:, 1]
        heights += z * xyz[:, 2]
        heights += self.offset
        return np.asarray(heights)


def plane_of(coefficients: tuple[float, float, float, float]) -> Plane:
    """Return the plane a x + b y + c z + d = 0, its normal upward."""
    a, b, c, d = coefficients
    normal = np.array([a, b, c], np.float64)
    length = float(np.linalg.norm(normal)) * (-1 if c < 0 else 1)
    return Plane(normal / length, d / length)


def evenly(count: int, most: int) -> slice:
    """Pick about ``most`` of ``count`` rows, a step apart that takes rings and columns in turn.

    Numbers of rings and of columns are products of 2, 3 and 5, as a rule: a step that has such a
    factor would always meet the same rings.
    """
    step = 1 + count // most
    while math.gcd(step, _USUAL_FACTORS) > 1:
        step += 1
    return slice(None, None, step)


def ground_plane(xyz: NDArray[Any], sensor_xyz: NDArray[np.float64], band_m: float) -> Plane | None:
    """Estimate the plane of the ground; None where too little of the cloud lies on one.

    Args:
        xyz: (n, 3) in a frame with z upward; misses do not count.
        sensor_xyz: (3,) of the lidar, above the ground.
        band_m: distance from the plane up to which points count in the end.
    """
    some = xyz[evenly(len(xyz), _MOST_POINTS)]
    arms = some[is_return(some)].astype(np.float64) - sensor_xyz
    flat = np.hypot(arms[:, 0], arms[:, 1])
    usable = (flat > _NEAREST_M) & (flat < _FARTHEST_M) & (arms[:, 2] < 0)
    arms, flat = arms[usable], flat[usable]
    lowest = arms[_lowest_of_cells(arms, flat)]
    if len(lowest) < _FEWEST_CELLS:
        return None
    fit = np.array([0.0, 0.0, _common_height(lowest[:, 2])])
    for width in _BANDS_M:
        near = np.abs(lowest @ (-fit[0], -fit[1], 1) - fit[2]) < width
        if near.sum() < _FEWEST_CELLS:
            return None
        fit = _least_squares(lowest[near])
    for _ in range(2):
        near = np.abs(arms @ (-fit[0], -fit[1], 1) - fit[2]) < band_m
        if near.sum() < _FEWEST_CELLS:
            return None
        fit = _least_squares(arms[near])
    if np.hypot(fit[0], fit[1]) > _STEEPEST or fit[2] >= 0:
        return None
    upward = np.array([-fit[0], -fit[1], 1.0])
    normal = upward / np.linalg.norm(upward)
    below = np.array([0.0, 0.0, fit[2]])
    return Plane(normal, float(-normal @ (sensor_xyz + below)))


def _lowest_of_cells(arms: NDArray[np.float64], flat: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the row of the lowest point of each sector and ring that has one."""
    turn = (np.arctan2(arms[:, 1], arms[:, 0]) / (2 * np.pi) + 0.5) * _SECTORS
    out = np.log(flat / _NEAREST_M) / np.log(_FARTHEST_M / _NEAREST_M) * _RINGS
    cell = np.minimum(turn, _SECTORS - 1).astype(np.intp) * _RINGS + out.astype(np.intp)
    order = np.lexsort((arms[:, 2], cell))
    first = np.ones(len(order), np.bool_)
    first[1:] = np.diff(cell[order]) != 0
    return order[first]


def _common_height(heights: NDArray[np.float64]) -> float:
    """Return the middle of the band that holds the most heights."""
    rising = np.sort(heights)
    inside = np.searchsorted(rising, rising + _COMMON_BAND_M) - np.arange(len(rising))
    start = int(inside.argmax())
    return float(np.median(rising[start : start + inside[start]]))


def _least_squares(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fit z = a x + b y + c, (3,); flat where the points lie on a line."""
    middle = points.mean(axis=0)
    x, y, z = (points - middle).T
    products = np.array([[x @ x, x @ y], [x @ y, y @ y]])
    if np.linalg.cond(products) > 1e8:  # noqa: PLR2004 - a line
        return np.array([0.0, 0.0, middle[2]])
    a, b = np.linalg.solve(products, np.array([x @ z, y @ z]))
    return np.array([a, b, middle[2] - a * middle[0] - b * middle[1]])
