"""Range and bearing of cones as their sensor measures them, and errors along them.

Relative positions are in the sensor's frame: x forward, y left, z up, metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.geometry import apply, inverse
from bagnoise.messages.payload import changed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones, NoiseModel
    from bagnoise.steps.curves import Curve

_NO_RANGE_M = 1e-9  # below it a cone has no direction


def relative_to(
    sensor: NDArray[np.float64] | None, xyz: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return positions (n, 3) of a frame as its sensor (frame_from_sensor, or None) sees them."""
    if sensor is None:
        return xyz
    seen: NDArray[np.float64] = (xyz - sensor[:3, 3]) @ sensor[:3, :3]
    return seen


def seen_by_sensor(cones: Cones) -> NDArray[np.float64]:
    """Return the cones' positions (n, 3) relative to their sensor."""
    return relative_to(cones.sensor, cones.xyz)


def rotated(matrix: NDArray[np.float64], covariance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rotate covariances, (n, 3, 3), by new_from_old, (4, 4)."""
    rotation = matrix[:3, :3]
    turned: NDArray[np.float64] = rotation @ covariance @ rotation.T
    return turned


def ranges(relative: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return distances from the sensor, (n,); NaN and infinity pass through."""
    distance: NDArray[np.float64] = np.sqrt(np.einsum("ij,ij->i", relative, relative))
    return distance


@dataclass(frozen=True, eq=False)
class PolarErrors:
    """Errors of n cones: along the ray (m), in bearing and elevation (rad), across (m)."""

    along_m: NDArray[np.float64]
    bearing_rad: NDArray[np.float64]
    elevation_rad: NDArray[np.float64]
    across_m: NDArray[np.float64]


def displaced(
    relative: NDArray[np.float64], range_m: NDArray[np.float64], errors: PolarErrors
) -> NDArray[np.float64]:
    """Return how far errors move positions (n, 3), by range (n,), in the sensor's frame.

    Range and angles are changed exactly (no small-angle step); the error across is a straight
    offset, to the left of the true ray.
    """
    x, y, z = relative.T
    planar = np.hypot(x, y)
    bearing, elevation = np.arctan2(y, x), np.arctan2(z, planar)
    across_x, across_y = -np.sin(bearing) * errors.across_m, np.cos(bearing) * errors.across_m
    distance = range_m + errors.along_m
    bearing = bearing + errors.bearing_rad
    elevation = elevation + errors.elevation_rad
    level = distance * np.cos(elevation)
    moved = (level * np.cos(bearing), level * np.sin(bearing), distance * np.sin(elevation))
    return np.column_stack((moved[0] - x + across_x, moved[1] - y + across_y, moved[2] - z))


def with_errors(cones: Cones, errors: PolarErrors, model: NoiseModel | None) -> Cones:
    """Move cones by errors (n,), and note the noise model.

    The movement is added in the cones' own frame, so an error of 0 changes nothing at all.
    """
    relative = seen_by_sensor(cones)
    step = displaced(relative, ranges(relative), errors)
    step[_all_zero(errors)] = 0
    if cones.sensor is not None:
        step = step @ cones.sensor[:3, :3].T
    xyz = cones.xyz + step
    models = cones.noise_models if model is None else (*cones.noise_models, model)
    return changed(cones, xyz=xyz, noise_models=models)


def _all_zero(errors: PolarErrors) -> NDArray[np.bool_]:
    parts = (errors.along_m, errors.bearing_rad, errors.elevation_rad, errors.across_m)
    none: NDArray[np.bool_] = ~np.any(parts, axis=0)
    return none


@dataclass(frozen=True, eq=False)
class PolarNoise:
    """Covariance of errors along and across the ray, rotated into the cones' frame.

    With J the Jacobian of (range, bearing, elevation) -> (x, y, z) at the measured position:
    J diag(sigma_r^2, sigma_b^2, sigma_e^2) J^T, plus sigma_across^2 along the horizontal normal.
    """

    sensor: NDArray[np.float64] | None
    range_std_m: Curve
    bearing_std_rad: Curve
    elevation_std_rad: Curve
    across_std_m: Curve
    across_ratio: float = 0.0

    def covariance(self, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, 3, 3) at measured positions (n, 3)."""
        relative = relative_to(self.sensor, xyz)
        distance = ranges(relative)
        x, y, z = relative.T
        planar = np.hypot(x, y)
        flat = np.maximum(planar, _NO_RANGE_M)
        cos_b, sin_b = x / flat, y / flat
        far = np.maximum(distance, _NO_RANGE_M)
        zero = np.zeros(len(xyz))
        along = np.column_stack((x, y, z)) / far[:, None]
        left = np.column_stack((-sin_b, cos_b, zero))
        up = np.column_stack((-z * cos_b, -z * sin_b, planar)) / far[:, None]
        range_std = self.range_std_m.at(distance)
        across_var = (planar * self.bearing_std_rad.at(distance)) ** 2
        across_var += self.across_std_m.at(distance) ** 2 + (self.across_ratio * range_std) ** 2
        up_var = (distance * self.elevation_std_rad.at(distance)) ** 2
        total = _outer(along, range_std**2) + _outer(left, across_var) + _outer(up, up_var)
        return total if self.sensor is None else rotated(self.sensor, total)


def _outer(direction: NDArray[np.float64], variance: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = (
        variance[:, None, None] * direction[:, :, None] * direction[:, None, :]
    )
    return product


@dataclass(frozen=True, eq=False)
class MovedModel:
    """A noise model of a frame seen in another one, new_from_old (4, 4)."""

    model: NoiseModel
    new_from_old: NDArray[np.float64]

    def covariance(self, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, 3, 3) at positions (n, 3) of the new frame."""
        old = apply(inverse(self.new_from_old), xyz)
        return rotated(self.new_from_old, self.model.covariance(old))
