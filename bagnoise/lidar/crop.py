"""Regions of a lidar's view, each as a mask of what is inside, (n,). Misses are inside none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray


def ranges_m(xyz: NDArray[Any], sensor_xyz: ArrayLike = (0.0, 0.0, 0.0)) -> NDArray[np.float64]:
    """Return distances from the sensor, (n,); not finite for misses that are not."""
    with np.errstate(invalid="ignore"):
        arms = np.asarray(xyz, np.float64) - np.asarray(sensor_xyz)
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", arms, arms)))


def azimuths_rad(xyz: NDArray[Any], sensor_xyz: ArrayLike = (0.0, 0.0, 0.0)) -> NDArray[np.float64]:
    """Return azimuths about the sensor, counterclockwise from +x, (n,)."""
    with np.errstate(invalid="ignore"):
        arms = np.asarray(xyz, np.float64) - np.asarray(sensor_xyz)
        return np.asarray(np.arctan2(arms[:, 1], arms[:, 0]))


def within(
    values: NDArray[Any], low: float | None = None, high: float | None = None
) -> NDArray[np.bool_]:
    """Tell what is strictly above ``low`` and strictly below ``high``; what is NaN is outside."""
    with np.errstate(invalid="ignore"):
        inside: NDArray[np.bool_] = np.isfinite(values)
        if low is not None:
            inside &= values > low
        if high is not None:
            inside &= values < high
    return inside


def in_box(xyz: NDArray[Any], low: ArrayLike, high: ArrayLike) -> NDArray[np.bool_]:
    """Tell what is strictly inside a box; limits, (3,), may be infinite."""
    lowest, highest = np.asarray(low, np.float64), np.asarray(high, np.float64)
    inside: NDArray[np.bool_] = np.isfinite(xyz).all(axis=1)
    with np.errstate(invalid="ignore"):
        inside &= ((xyz > lowest) & (xyz < highest)).all(axis=1)
    return inside


def in_sector(azimuth_rad: NDArray[Any], from_deg: float, to_deg: float) -> NDArray[np.bool_]:
    """Tell what is in the sector from one azimuth counterclockwise to another, borders included.

    350 to 10 is the 20 deg ahead; a difference of 360 or more is everything.
    """
    width = np.radians(to_deg - from_deg)
    finite: NDArray[np.bool_] = np.isfinite(azimuth_rad)
    if width >= 2 * np.pi:
        return finite
    with np.errstate(invalid="ignore"):
        turned = (np.asarray(azimuth_rad, np.float64) - np.radians(from_deg)) % (2 * np.pi)
        # rounding may put the first border a full turn on
        on_border = np.isclose(turned, 2 * np.pi, rtol=0, atol=1e-9)
        return np.asarray(finite & ((turned <= width % (2 * np.pi)) | on_border))


def in_rings(rings: NDArray[Any], wanted: Collection[int]) -> NDArray[np.bool_]:
    """Tell which points are of some rings.

    Raises:
        UsageError: no ring is asked for.
    """
    if not wanted:
        msg = "no ring is asked for; name at least one"
        raise UsageError(msg)
    return np.isin(rings, list(wanted))
