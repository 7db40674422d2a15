"""A lidar that moves while it scans, or whose pose is wrong: what that does to a cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.geometry import matrix_from_rpy_deg
from bagnoise.lidar.noise import Moved, is_return

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from bagnoise.rng import Draws

_SMALL_TURN_RAD: Final = 1e-4  # below it the series of sin(a) / a is exact to 1e-16


def swept(
    xyz: NDArray[Any],
    time_s: NDArray[np.float64],
    velocity_m_s: ArrayLike,
    yaw_rate_deg_s: float,
) -> Moved:
    """Return a still scene as a moving lidar sees it that takes each point at its own time.

    With a constant twist the lidar is at d(t), turned by a = w t about z:

        d(t) = t [[sin a / a, -(1 - cos a) / a], [(1 - cos a) / a, sin a / a]] v
        p' = Rz(-a) (p - d(t))

    which is the exponential of the twist (Lynch, Park, Modern Robotics, 2017, section 3.3), undone.
    Opposite signs of velocity and rate take the distortion of that motion out again, nearly.

    Args:
        xyz: (n, 3) metres, as the lidar sees it at time 0; misses keep their bits.
        time_s: (n,) when each point is taken.
        velocity_m_s: (3,) of the lidar in its own axes.
        yaw_rate_deg_s: about its z axis, counterclockwise.
    """
    velocity = np.asarray(velocity_m_s, np.float64)
    hit = is_return(xyz)
    turn = np.radians(yaw_rate_deg_s) * time_s
    sine, cosine = np.sin(turn), np.cos(turn)
    ahead, aside = _chord(turn, sine)
    vx, vy, vz = velocity
    with np.errstate(invalid="ignore"):
        x = xyz[:, 0] - time_s * (ahead * vx - aside * vy)
        y = xyz[:, 1] - time_s * (aside * vx + ahead * vy)
        z = xyz[:, 2] - time_s * vz
        moved = hit & (time_s != 0)
        columns = (cosine * x + sine * y, cosine * y - sine * x, z)
    return _with_columns(xyz, columns, moved)


def _chord(
    turn: NDArray[np.float64], sine: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sin(a) / a and (1 - cos(a)) / a, (n,) each."""
    small = np.abs(turn) < _SMALL_TURN_RAD
    safe = np.where(small, 1.0, turn)
    ahead = np.where(small, 1 - turn**2 / 6, sine / safe)
    # 1 - cos a = 2 sin^2(a / 2), which loses no digits
    aside = np.where(small, turn / 2, 2 * np.sin(turn / 2) ** 2 / safe)
    return ahead, aside


def pose_errors(
    parts: int, shift_std_m: float, turn_std_deg: float, rng: Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw errors of pose, one a part of the scan: rotations (parts, 3, 3), shifts (parts, 3).

    Raises:
        UsageError: no part, or a deviation below 0.
    """
    if parts < 1 or not (shift_std_m >= 0 and turn_std_deg >= 0):
        msg = (
            f"{parts} parts with deviations of {shift_std_m} m and {turn_std_deg} deg; there must"
            " be 1 or more, and deviations of 0 or more"
        )
        raise UsageError(msg)
    drawn = rng.standard_normal((parts, 6))
    rotations = np.stack([matrix_from_rpy_deg(turn_std_deg * row[3:]) for row in drawn])
    return rotations, drawn[:, :3] * shift_std_m


def posed(
    xyz: NDArray[Any],
    part: NDArray[np.intp],
    rotations: NDArray[np.float64],
    shifts: NDArray[np.float64],
) -> Moved:
    """Move each point by the pose error of its part of the scan, p' = R p + t.

    Args:
        xyz: (n, 3) metres; misses keep their bits.
        part: (n,) numbers of the parts.
        rotations: (parts, 3, 3).
        shifts: (parts, 3) metres.
    """
    where: Any = part if len(shifts) > 1 else 0  # one pose needs no number of its own a point
    columns = []
    with np.errstate(invalid="ignore"):
        for axis in range(3):
            column = rotations[where, axis, 0] * xyz[:, 0]
            for other in (1, 2):
                column += rotations[where, axis, other] * xyz[:, other]
            column += shifts[where, axis]
            columns.append(column)
    return _with_columns(xyz, columns, is_return(xyz))


def sectors(azimuth_rad: NDArray[Any], parts: int) -> NDArray[np.intp]:
    """Number the equal sectors of a turn by azimuth, (n,); misses are in the first."""
    with np.errstate(invalid="ignore"):
        share = np.nan_to_num((np.asarray(azimuth_rad, np.float64) / (2 * np.pi)) % 1.0)
    return np.minimum((share * parts).astype(np.intp), parts - 1)


def jittered(xyz: NDArray[Any], std_m: ArrayLike, rng: Draws) -> Moved:
    """Add N(0, std_m^2), (3,) a deviation for each axis, to each return; draws for every row."""
    columns = []
    with np.errstate(invalid="ignore"):
        for axis, std in enumerate(np.asarray(std_m, np.float64)):
            drawn = rng.standard_normal(len(xyz))
            drawn *= std
            drawn += xyz[:, axis]
            columns.append(drawn)
    return _with_columns(xyz, columns, is_return(xyz))


def _with_columns(xyz: NDArray[Any], columns: Any, moved: NDArray[np.bool_]) -> Moved:
    out = xyz.copy()
    for axis, column in enumerate(columns):
        np.copyto(out[:, axis], column, where=moved, casting="same_kind")
    return Moved(out, moved)
