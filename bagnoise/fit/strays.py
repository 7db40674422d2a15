"""Detections that are of no true cone.

They are taken to lie with an even density (per m^2 and message) over the view, and counted where no
true cone is within a gate, less the detections of true cones that erred out of theirs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.cones import CLASS_NAMES
from bagnoise.fit.estimate import Estimate, count_interval
from bagnoise.fit.position import bin_at

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

POINTS = 1000  # of the view, that say how much of it is free of true cones
LEAK_UNSURE = 0.3  # of the expected number of detections that erred out of every gate
MOST_SHOTS = 200  # messages that the free area is averaged over
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class View:
    """What the false positives are spread over: a sector around the sensor."""

    min_range_m: float
    max_range_m: float
    horizontal_deg: float

    @property
    def area_m2(self) -> float:
        """Its area."""
        half_rad = math.radians(self.horizontal_deg / 2)
        return half_rad * (self.max_range_m**2 - self.min_range_m**2)

    def contains(self, xy: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say which positions (n, >= 2) lie in it."""
        range_m = np.hypot(xy[:, 0], xy[:, 1])
        bearing_deg = np.abs(np.degrees(np.arctan2(xy[:, 1], xy[:, 0])))
        near = (range_m >= self.min_range_m) & (range_m <= self.max_range_m)
        inside: NDArray[np.bool_] = near & (bearing_deg <= self.horizontal_deg / 2)
        return inside

    def points(self, count: int = POINTS) -> NDArray[np.float64]:
        """Return points evenly over its area, (count, 2): a Fibonacci lattice."""
        n = np.arange(count)
        squares = self.min_range_m**2, self.max_range_m**2
        range_m = np.sqrt(squares[0] + (n + 0.5) / count * (squares[1] - squares[0]))
        share = (n * _GOLDEN) % 1.0
        bearing = (share - 0.5) * math.radians(self.horizontal_deg)
        return np.column_stack([range_m * np.cos(bearing), range_m * np.sin(bearing)])


@dataclass(frozen=True)
class Strays:
    """False positives: a mean number a message, and their density by range bin.

    Attributes:
        per_frame: over the whole view.
        density: by range bin, per m^2 and message.
        colors: (5,) how many were seen as each class.
    """

    per_frame: Estimate
    density: NDArray[np.float64]
    colors: NDArray[np.int64]

    def share(self, chance: NDArray[np.float64], gate_m: float) -> NDArray[np.float64]:
        """Return the share of single detections within a gate that are strays, by bin.

        ``chance``: by bin, that a true cone's own detection lies within its gate.
        """
        expected = self.density * math.pi * gate_m**2
        alone = (1 - chance) * expected
        total = chance + alone
        return np.where(total > 0, alone / np.where(total > 0, total, 1), 0.0)


@dataclass(frozen=True)
class FreeArea:
    """How much of a view no true cone's gate covers.

    Attributes:
        points: (k, 2) evenly over the view.
        shots: (k,) in how many messages each is free.
        point_m2: area that a point stands for.
    """

    points: NDArray[np.float64]
    shots: NDArray[np.float64]
    point_m2: float


def free_area(rows: Sightings, view: View) -> FreeArea:
    """Count over all messages where a detection would be of no true cone."""
    points = view.points()
    shots = np.zeros(len(points))
    some = rows.true_xy[:: max(1, len(rows.true_xy) // MOST_SHOTS)]
    for true_xy in some:
        shots += _is_free(points, true_xy, rows.gate_m)
    shots *= len(rows.true_xy) / max(len(some), 1)
    return FreeArea(points, shots, view.area_m2 / len(points))


def strays(
    rows: Sightings, view: View, free: FreeArea, edges_m: NDArray[np.float64], leaked: float
) -> Strays:
    """Count detections that are of no true cone.

    ``leaked``: how many detections of true cones are expected to have erred out of every gate.
    """
    other_range_m = np.hypot(rows.other_xyz[:, 0], rows.other_xyz[:, 1])
    counted = rows.other_far & view.contains(rows.other_xyz)
    found = int(counted.sum())
    low, high = count_interval(found)
    scale = view.area_m2 / max(float(free.shots.sum()) * free.point_m2, 1e-9)
    unsure = LEAK_UNSURE * leaked
    events = (found - leaked, low - leaked - unsure, high - leaked + unsure)
    value, least, most = (max(0.0, number) * scale for number in events)
    per_frame = Estimate("per_frame", value, least, most, found)
    bins = len(edges_m)
    by_bin = np.bincount(bin_at(edges_m, other_range_m[counted]), minlength=bins)
    point_bins = bin_at(edges_m, np.hypot(free.points[:, 0], free.points[:, 1]))
    area = np.bincount(point_bins, weights=free.shots, minlength=bins) * free.point_m2
    kept = max(0.0, found - leaked) / max(found, 1)
    density = np.where(area > 0, by_bin * kept / np.maximum(area, 1e-9), 0.0)
    colors = np.bincount(rows.other_color[counted].astype(np.intp), minlength=len(CLASS_NAMES))
    return Strays(per_frame, density, colors)


def _is_free(
    points: NDArray[np.float64], true_xy: NDArray[np.float64], gate_m: float
) -> NDArray[np.bool_]:
    if not len(true_xy):
        return np.ones(len(points), bool)
    reach = float(np.abs(points).max()) + gate_m
    near = true_xy[(np.abs(true_xy) <= reach).all(axis=1)]
    square = ((points[:, None, :] - near[None, :, :]) ** 2).sum(axis=2)
    free: NDArray[np.bool_] = (square > gate_m**2).all(axis=1)
    return free
