"""Rigid transforms.

`a_from_b` takes coordinates in frame b to coordinates in frame a: p_a = a_from_b @ p_b.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

BODY_FROM_OPTICAL: Final = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
_SMALLEST_NORM: Final = 1e-6


def transform(rotation: ArrayLike, translation: ArrayLike) -> NDArray[np.float64]:
    """Make a_from_b, (4, 4), of a rotation matrix, (3, 3), and b's origin in a, (3,)."""
    out = np.eye(4)
    out[:3, :3] = rotation
    out[:3, 3] = translation
    return out


def inverse(a_from_b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return b_from_a, (..., 4, 4), of rigid transforms."""
    turned = np.swapaxes(a_from_b[..., :3, :3], -1, -2)
    out = np.zeros_like(a_from_b)
    out[..., :3, :3] = turned
    out[..., :3, 3] = -(turned @ a_from_b[..., :3, 3:])[..., 0]
    out[..., 3, 3] = 1
    return out


def apply(a_from_b: NDArray[np.float64], xyz_b: NDArray[Any]) -> NDArray[np.float64]:
    """Take positions, (n, 3), from frame b to frame a. NaN and inf stay not finite."""
    with np.errstate(invalid="ignore"):
        wide = np.asarray(xyz_b, np.float64)
        moved: NDArray[np.float64] = wide @ a_from_b[:3, :3].T + a_from_b[:3, 3]
    return moved


def matrix_from_quaternion(xyzw: ArrayLike) -> NDArray[np.float64]:
    """Return rotation matrices, (..., 3, 3), of quaternions x, y, z, w, (..., 4), normalised first.

    Raises:
        MessageError: a quaternion of length 0 or not finite is no rotation.
    """
    q = np.asarray(xyzw, np.float64)
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    if not (np.isfinite(norm).all() and (norm > _SMALLEST_NORM).all()):
        msg = (
            f"quaternion {np.atleast_2d(q)[0].tolist()} (x, y, z, w) is no rotation: its length is"
        )
        msg += f" {np.ravel(norm)[0]:g}, it must be 1"
        raise MessageError(msg)
    x, y, z, w = np.moveaxis(q / norm, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(rotation: ArrayLike) -> NDArray[np.float64]:
    """Return the quaternion x, y, z, w with w >= 0, (4,), of a rotation matrix, (3, 3).

    Takes the largest of the four components as the divisor, so that half turns lose no digits.
    """
    m = np.asarray(rotation, np.float64)
    trace = np.trace(m)
    squares = np.array([*(2 * np.diag(m) - trace), trace]) + 1  # 4 x^2, 4 y^2, 4 z^2, 4 w^2
    sums = m + m.T
    turns = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    products = np.empty((4, 4))
    products[:3, :3] = sums
    products[3, :3] = products[:3, 3] = turns
    products[np.arange(4), np.arange(4)] = squares
    q: NDArray[np.float64] = products[int(squares.argmax())]
    q /= np.linalg.norm(q)
    return -q if q[3] < 0 else q


def matrix_from_rpy_deg(rpy_deg: ArrayLike) -> NDArray[np.float64]:
    """Return the rotation matrix of roll, pitch, yaw about fixed axes (URDF's), degrees."""
    roll, pitch, yaw = np.radians(np.asarray(rpy_deg, np.float64))
    cr, sr, cp, sp, cy, sy = (
        np.cos(roll),
        np.sin(roll),
        np.cos(pitch),
        np.sin(pitch),
        np.cos(yaw),
        np.sin(yaw),
    )
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_deg_from_matrix(rotation: ArrayLike) -> NDArray[np.float64]:
    """Return roll, pitch, yaw in degrees, (3,); at a pitch of 90 deg roll is 0."""
    m = np.asarray(rotation, np.float64)
    level = np.hypot(m[0, 0], m[1, 0])
    pitch = np.arctan2(-m[2, 0], level)
    roll, yaw = 0.0, np.arctan2(-m[0, 1], m[1, 1])
    if level >= _SMALLEST_NORM:
        roll, yaw = np.arctan2(m[2, 1], m[2, 2]), np.arctan2(m[1, 0], m[0, 0])
    angles: NDArray[np.float64] = np.degrees([roll, pitch, yaw])
    return angles


def rotation_angle_deg(rotation: ArrayLike) -> float:
    """Return by how much a rotation matrix turns, 0 to 180 deg."""
    x, y, z, w = quaternion_from_matrix(rotation)
    return float(np.degrees(2 * np.arctan2(np.sqrt(x * x + y * y + z * z), w)))


def motion_between(
    world_from_b0: NDArray[np.float64], world_from_b1: NDArray[np.float64]
) -> tuple[float, float]:
    """Return how far, in metres, and by how much, in degrees, a body moved between two poses."""
    step = inverse(world_from_b0) @ world_from_b1
    return float(np.linalg.norm(step[:3, 3])), rotation_angle_deg(step[:3, :3])
