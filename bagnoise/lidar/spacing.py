"""How far apart a source's points are, seen from the lidar: a finer texture sees nothing more."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.lidar.rings import elevations_deg, rings_from_elevation

if TYPE_CHECKING:
    from numpy.typing import NDArray

_QUERIES: Final = 256
_NEIGHBOUR: Final = 4  # the 4th neighbour of a square grid's point, and of a 1 : 2 grid's, too
_SAME_RAD: Final = 1e-6  # closer points are returns of one beam
_REACH_RAD: Final = math.radians(3)
_FEWEST: Final = 8


class Spacing(NamedTuple):
    """Angle between neighbouring points."""

    azimuth_rad: float
    elevation_rad: float

    @property
    def auto_error_deg(self) -> float:
        """The e whose pixels are about as large as the wider of the spacings."""
        return math.degrees(max(self)) / math.sqrt(2)


def source_spacing(xyz: NDArray[Any], rings: NDArray[np.int32] | None = None) -> Spacing:
    """Estimate the spacing of a cloud as the lidar sees it.

    Args:
        xyz: (n, 3) metres about the lidar's origin; misses allowed.
        rings: (n,) beam of each point, below 0 for none; found from elevation where None.

    Returns:
        the median step within a ring and between rings; where there are no rings (a merged cloud,
        one from elsewhere), both are the median angle to the 4th nearest neighbour.

    Raises:
        MessageError: fewer than 8 points.
    """
    usable = np.isfinite(xyz).all(axis=1) & (xyz != 0).any(axis=1)
    if np.count_nonzero(usable) < _FEWEST:
        msg = f"a cloud of {np.count_nonzero(usable)} points has no spacing; at least 8 are needed"
        raise MessageError(msg)
    kept = np.asarray(xyz[usable], np.float64)
    azimuth = np.arctan2(kept[:, 1], kept[:, 0])
    elevation = np.radians(elevations_deg(kept))
    rings = _rings_if_any(kept) if rings is None else rings[usable]
    if rings is not None:
        spacing = _ring_spacing(azimuth, elevation, rings)
        if spacing is not None:
            return spacing
    angle = _neighbour_angle(azimuth, elevation)
    return Spacing(angle, angle)


def _rings_if_any(xyz: NDArray[np.float64]) -> NDArray[np.int32] | None:
    try:
        return rings_from_elevation(xyz)
    except MessageError:
        return None


def _ring_spacing(
    azimuth: NDArray[np.float64], elevation: NDArray[np.float64], rings: NDArray[np.int32]
) -> Spacing | None:
    order = np.lexsort((azimuth, rings))
    ordered = rings[order]
    same = np.diff(ordered) == 0
    steps = np.diff(azimuth[order])[same]
    steps = steps[steps > _SAME_RAD]
    starts = np.concatenate([[0], np.flatnonzero(~same) + 1])
    counts = np.diff(np.concatenate([starts, [len(ordered)]]))
    heights = np.sort(np.add.reduceat(elevation[order], starts) / counts)
    between = np.diff(heights)
    between = between[between > _SAME_RAD]
    if not len(steps) or not len(between):
        return None
    return Spacing(float(np.median(steps)), float(np.median(between)))


def _neighbour_angle(azimuth: NDArray[np.float64], elevation: NDArray[np.float64]) -> float:
    """Measure the median angle to the 4th neighbour, at an even sample of the points."""
    order = np.argsort(azimuth, kind="stable")
    azimuth, elevation = azimuth[order], elevation[order]
    angles = []
    for query in range(0, len(azimuth), max(1, len(azimuth) // _QUERIES)):
        level = max(math.cos(elevation[query]), 0.1)
        reach = _REACH_RAD / level
        low, high = np.searchsorted(azimuth, [azimuth[query] - reach, azimuth[query] + reach])
        across = (azimuth[low:high] - azimuth[query]) * level
        away = np.hypot(across, elevation[low:high] - elevation[query])
        away = away[away > _SAME_RAD]
        if len(away) >= _NEIGHBOUR:
            angles.append(float(np.partition(away, _NEIGHBOUR - 1)[_NEIGHBOUR - 1]))
    return float(np.median(angles)) if angles else _REACH_RAD
