"""Returns of light that is not the lidar's own: pulses of other lidars, and the sun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.lidar.noise import Moved, arms_of, stretched

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bagnoise.rng import Draws


def folded(range_m: NDArray[Any], least_m: float, most_m: float) -> NDArray[np.float64]:
    """Reflect ranges, (n,), at both limits until they are within; no limit gathers a crowd.

    Raises:
        UsageError: limits that are not 0 or more and in order.
    """
    if not 0 <= least_m < most_m < np.inf:
        msg = f"ranges from {least_m} to {most_m} m; they must be 0 or more, and end later"
        raise UsageError(msg)
    span = most_m - least_m
    with np.errstate(invalid="ignore"):
        turn = (np.asarray(range_m, np.float64) - least_m) % (2 * span)
        return np.asarray(least_m + span - np.abs(turn - span))


def crosstalk(
    xyz: NDArray[Any],
    sensor_xyz: ArrayLike,
    fraction: float,
    limits_m: tuple[float, float],
    rng: Draws,
    *,
    std_m: float | None = None,
) -> Moved:
    """Give some returns the range of another lidar's pulse, on the same beam.

    A pulse of an unsynchronised lidar arrives at a time that has nothing to do with the own pulse,
    so its apparent range is uniform over the time that the receiver listens (Kim, Eom, Park, Park,
    Occurrence and characteristics of mutual interference between lidar scanners, Proc. SPIE 9504,
    2015). The benchmarks Robo3D (Kong et al., ICCV 2023) and 3D_Corruptions_AD (Dong et al., CVPR
    2023) add N(0, 3 m) to x, y and z instead; ``std_m`` is that error, along the beam.

    Args:
        xyz: (n, 3) metres; misses keep their bits.
        sensor_xyz: (3,) origin of the beams.
        fraction: chance of each return.
        limits_m: nearest and farthest range that the lidar reports; other ranges are reflected.
        rng: drawn from twice for every row.
        std_m: r' = r + N(0, std_m^2); None: r' uniform within the limits.

    Raises:
        UsageError: a fraction, deviation or limits that cannot be.
    """
    _check_probability("fraction", fraction)
    chosen = rng.random(len(xyz)) < fraction
    if std_m is None:
        drawn = limits_m[0] + rng.random(len(xyz)) * (limits_m[1] - limits_m[0])
        relative = False
    else:
        drawn, relative = rng.standard_normal(len(xyz)) * std_m, True
    origin = np.asarray(sensor_xyz, np.float64)
    arms = arms_of(xyz, origin)
    to_m = folded(arms.ranges + drawn if relative else drawn, *limits_m)
    moved = arms.hit & chosen & ((drawn != 0) if relative else True)
    return stretched(xyz, origin, arms._replace(hit=moved), to_m)


def direction_of(azimuth_deg: float, elevation_deg: float) -> NDArray[np.float64]:
    """Return the unit vector, (3,), of an azimuth counterclockwise from x and an elevation."""
    azimuth, elevation = np.radians([azimuth_deg, elevation_deg])
    flat = np.cos(elevation)
    return np.array([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)])


def glare(
    xyz: NDArray[Any],
    sensor_xyz: ArrayLike,
    sun: NDArray[np.float64],
    within_deg: float,
    *,
    falls: bool = True,
) -> NDArray[np.float64]:
    """Return how much each beam is blinded by the sun, (n,): 1 towards it, 0 from an angle on.

    Stray light of the sun in the receiver falls with the angle between beam and sun; its curve is
    a matter of each lidar's optics. This one is a straight line, 1 - angle / within.

    Args:
        xyz: (n, 3) metres; misses have 0.
        sensor_xyz: (3,) origin of the beams.
        sun: (3,) unit vector towards the sun.
        within_deg: from which angle there is none.
        falls: False: 1 within the angle.

    Raises:
        UsageError: an angle that is not from 0 to 180 deg.
    """
    if not 0 < within_deg <= 180:  # noqa: PLR2004
        msg = f"within_deg is {within_deg}; it must be above 0 and at most 180"
        raise UsageError(msg)
    arms = arms_of(xyz, np.asarray(sensor_xyz, np.float64))
    along = sum(part * arm for part, arm in zip(sun, arms.xyz, strict=True))
    cosine = along / np.where(arms.hit, arms.ranges, 1.0)
    share = np.arccos(np.clip(cosine, -1, 1)) / np.radians(within_deg)
    blinded = np.clip(1 - share, 0, 1) if falls else (share <= 1).astype(np.float64)
    return np.asarray(np.where(arms.hit, blinded, 0.0))


def blinded_ranges(
    xyz: NDArray[Any],
    sensor_xyz: ArrayLike,
    chance: NDArray[np.float64],
    std_m: float,
    limits_m: tuple[float, float],
    rng: Draws,
) -> Moved:
    """Add N(0, std_m^2) to the range of returns, each with its chance, (n,).

    Draws twice for every row; ranges outside the limits are reflected.
    """
    chosen = rng.random(len(xyz)) < chance
    shift = rng.standard_normal(len(xyz)) * std_m
    origin = np.asarray(sensor_xyz, np.float64)
    arms = arms_of(xyz, origin)
    to_m = folded(arms.ranges + shift, *limits_m)
    moved = arms.hit & chosen & (shift != 0)
    return stretched(xyz, origin, arms._replace(hit=moved), to_m)


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        msg = f"{name} is {value}; it must be from 0 to 1"
        raise UsageError(msg)
