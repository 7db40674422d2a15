"""Arithmetic whose result is the same on every machine.

Sines, splines and sums may differ in their last bit between processors, libraries and versions of
numpy. So whatever comes out of them is rounded to a binary grid once, and everything that is
derived from it afterwards uses only + - * / and sqrt, element by element: IEEE 754 fixes these to
the last bit, while matrix products (BLAS) and fused operations are not fixed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Times = npt.NDArray[np.int64]
ANGLE_BITS = 30


def quantise(values: npt.ArrayLike, bits: int) -> Array:
    """Round to multiples of 2**-bits, never to a negative zero."""
    scale = float(2**bits)
    return np.asarray(np.round(np.asarray(values, dtype=np.float64) * scale) / scale + 0.0)


def unit_circle(angle_rad: npt.ArrayLike) -> tuple[Array, Array]:
    """Sine and cosine: the smaller of both on the grid, the larger one by sqrt(1 - smaller^2)."""
    angle = np.asarray(angle_rad, dtype=np.float64)
    sine, cosine = np.sin(angle), np.cos(angle)
    sine_leads = np.abs(sine) < np.abs(cosine)
    small = quantise(np.where(sine_leads, sine, cosine), ANGLE_BITS)
    large = np.sqrt((1 - small) * (1 + small)) * np.sign(np.where(sine_leads, cosine, sine))
    return np.where(sine_leads, small, large), np.where(sine_leads, large, small)


@dataclass(frozen=True)
class Transform:
    """A fixed transform, child to parent: translation in m, unit quaternion (x, y, z, w)."""

    translation_m: tuple[float, float, float]
    quaternion: tuple[float, float, float, float]

    @property
    def matrix(self) -> Array:
        """The rotation matrix (3, 3), child to parent."""
        x, y, z, w = self.quaternion
        return np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
            ]
        )

    def rotate(self, vectors: Array) -> Array:
        """Directions (..., 3) of the child in the parent."""
        x, y, z = (vectors[..., axis] for axis in range(3))
        return np.stack([row[0] * x + row[1] * y + row[2] * z for row in self.matrix], axis=-1)

    def apply(self, points: Array) -> Array:
        """Points (..., 3) of the child in the parent."""
        offset: Array = np.array(self.translation_m)
        return self.rotate(points) + offset


def pitched(translation_m: tuple[float, float, float], pitch_rad: float) -> Transform:
    """A frame that looks down by ``pitch_rad``."""
    half = float(unit_circle(pitch_rad / 2)[0])
    return Transform(translation_m, (0.0, half, 0.0, math.sqrt((1 - half) * (1 + half))))


@dataclass(frozen=True)
class Poses:
    """Planar poses of the car in the map: stamps, positions (n, 2), quaternion parts z and w."""

    stamp_ns: Times
    xy_m: Array
    qz: Array
    qw: Array

    def at(self, stamp_ns: Times) -> Poses:
        """Interpolate: positions linearly, the quaternion linearly and normalised."""
        right = np.clip(np.searchsorted(self.stamp_ns, stamp_ns), 1, len(self.stamp_ns) - 1)
        left = right - 1
        since = (stamp_ns - self.stamp_ns[left]).astype(np.float64)
        share = since / (self.stamp_ns[right] - self.stamp_ns[left]).astype(np.float64)
        xy = self.xy_m[left] + share[:, None] * (self.xy_m[right] - self.xy_m[left])
        qz = self.qz[left] + share * (self.qz[right] - self.qz[left])
        qw = self.qw[left] + share * (self.qw[right] - self.qw[left])
        norm = np.sqrt(qz * qz + qw * qw)
        return Poses(stamp_ns, xy, qz / norm, qw / norm)

    def heading(self) -> tuple[Array, Array]:
        """Cosine and sine of the yaw."""
        return 1 - 2 * self.qz * self.qz, 2 * self.qz * self.qw

    def to_map(self, points_m: Array) -> Array:
        """Points of the car's frame, (n, 3), one for each pose, in the map."""
        return self.turn(points_m) + np.pad(self.xy_m, ((0, 0), (0, 1)))

    def turn(self, directions: Array) -> Array:
        """Directions of the car's frame, (n, 3), one for each pose, in the map."""
        cosine, sine = self.heading()
        x, y, z = directions.T
        return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)

    def to_car(self, points_m: Array) -> Array:
        """Map points (m, 2) as each of the n poses sees them: (n, m, 2)."""
        cosine, sine = (part[:, None] for part in self.heading())
        east = points_m[None, :, 0] - self.xy_m[:, 0, None]
        north = points_m[None, :, 1] - self.xy_m[:, 1, None]
        return np.stack([cosine * east + sine * north, cosine * north - sine * east], axis=-1)
