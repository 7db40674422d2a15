"""Rigid transforms as (4, 4) matrices: from angles, quaternions, between poses.

``a_from_b`` takes coordinates in b to coordinates in a. Quaternions are (x, y, z, w) as in ROS.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NEARLY_PARALLEL = 0.9995  # below this cosine, slerp and nlerp differ by more than rounding


def from_parts(rotation: NDArray[np.float64], translation: ArrayLike) -> NDArray[np.float64]:
    """Put a rotation (3, 3) and a translation (3,) together, (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation
    matrix[:3, 3] = translation
    return matrix


def from_xyz_rpy(xyz_m: ArrayLike, rpy_deg: ArrayLike) -> NDArray[np.float64]:
    """Make parent_from_child of a mount: Rz(yaw) Ry(pitch) Rx(roll), REP-103 (pitch down is +)."""
    roll, pitch, yaw = np.deg2rad(np.asarray(rpy_deg, float))
    cr, sr, cp, sp = np.cos(roll), np.sin(roll), np.cos(pitch), np.sin(pitch)
    cy, sy = np.cos(yaw), np.sin(yaw)
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return from_parts(rotation, xyz_m)


def from_quaternion(xyzw: NDArray[np.float64], xyz_m: ArrayLike) -> NDArray[np.float64]:
    """Make parent_from_child of a pose; the quaternion need not be of unit length, but not 0."""
    x, y, z, w = xyzw / np.linalg.norm(xyzw)
    rotation = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return from_parts(rotation, xyz_m)


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return b_from_a of a_from_b."""
    rotation = matrix[:3, :3].T
    return from_parts(rotation, -rotation @ matrix[:3, 3])


def apply(matrix: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Transform points, (n, 3)."""
    moved: NDArray[np.float64] = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def rotated(matrix: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate covariances, (n, 3, 3)."""
    rotation = matrix[:3, :3]
    turned: NDArray[np.float64] = rotation @ covariance @ rotation.T
    return turned


def slerp(
    one: NDArray[np.float64], other: NDArray[np.float64], share: float
) -> NDArray[np.float64]:
    """Interpolate unit quaternions (4,) the short way round, 0 <= share <= 1."""
    cosine = float(one @ other)
    if cosine < 0:
        other, cosine = -other, -cosine
    if cosine > _NEARLY_PARALLEL:
        mixed = one + share * (other - one)
    else:
        angle = np.arccos(min(cosine, 1.0))
        mixed = np.sin((1 - share) * angle) * one + np.sin(share * angle) * other
    unit: NDArray[np.float64] = mixed / np.linalg.norm(mixed)
    return unit
