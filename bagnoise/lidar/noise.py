"""Errors of single returns: of range along the beam, of direction, of intensity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import ArrayLike, NDArray

    from bagnoise.rng import Draws

_SHORTEST_M: Final = 1e-3  # a return never becomes the sensor's own origin, which means a miss


class Moved(NamedTuple):
    """New positions, (n, 3) of the old type, and which rows are not the old bits, (n,)."""

    xyz: NDArray[Any]
    changed: NDArray[np.bool_]


def is_return(xyz: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which positions, (n, 3), are returns, (n,): finite, and not all 0."""
    x, y, z = xyz.T
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    return np.asarray(finite & ((x != 0) | (y != 0) | (z != 0)))


class Arms(NamedTuple):
    """From the sensor to its returns: x, y, z, (n,) each, their lengths, and where they are."""

    xyz: tuple[NDArray[np.float64], ...]
    ranges: NDArray[np.float64]
    hit: NDArray[np.bool_]


def arms_of(xyz: NDArray[Any], origin: NDArray[np.float64]) -> Arms:
    """Measure columns, not rows: numpy is several times faster along them."""
    hit = is_return(xyz)
    columns = []
    for axis in range(3):
        column = np.where(hit, xyz[:, axis], 0).astype(np.float64)
        column -= origin[axis]
        columns.append(column)
    x, y, z = columns
    ranges = np.sqrt(x * x + y * y + z * z)
    return Arms((x, y, z), ranges, hit & (ranges > 0))


def stretched(
    xyz: NDArray[Any], origin: NDArray[np.float64], arms: Arms, to_m: NDArray[np.float64]
) -> Moved:
    """Give arms, where they are, new lengths, (n,)."""
    out = xyz.copy()
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        factor = to_m / arms.ranges
        for axis, arm in enumerate(arms.xyz):
            moved = arm * factor
            moved += origin[axis]
            np.copyto(out[:, axis], moved, where=arms.hit, casting="same_kind")
    return Moved(out, arms.hit)


def range_noise(
    xyz: NDArray[Any],
    sensor_xyz: ArrayLike,
    std_m: float,
    rng: Draws,
    *,
    std_per_m: float = 0.0,
    bias_m: ArrayLike = 0.0,
    angle_std_deg: float = 0.0,
) -> Moved:
    """Move returns along their beams, r' = r + bias + N(0, (a + b r)^2), and turn the beams.

    The sigma that grows with range is that of RobotecGPULidar and AWSIM; noise acts on the range
    from the sensor, not from the frame's origin (RobotecGPULidar pull request 217).

    Args:
        xyz: (n, 3) metres; misses keep their bits.
        sensor_xyz: (3,) origin of the beams, in the same frame.
        std_m: a, sigma at range 0.
        rng: drawn from for every row, misses too, so that filters before do not move the noise.
        std_per_m: b, growth of sigma with range.
        bias_m: of each row, (n,) or one for all.
        angle_std_deg: sigma of the beam's direction, about each of two axes.
    """
    _check_sigma(std_m=std_m, std_per_m=std_per_m, angle_std_deg=angle_std_deg)
    draws = rng.standard_normal(len(xyz))
    turns = None
    if angle_std_deg:
        turns = np.stack([rng.standard_normal(len(xyz)), rng.standard_normal(len(xyz))])
    origin = np.asarray(sensor_xyz, np.float64)
    arms = arms_of(xyz, origin)
    shift = draws * (std_m + std_per_m * arms.ranges)
    shift += np.asarray(bias_m, np.float64)
    longer = np.maximum(arms.ranges + shift, _SHORTEST_M)
    if turns is None:
        arms = arms._replace(hit=arms.hit & (shift != 0))
    else:
        arms = _turned(arms, turns * np.radians(angle_std_deg))
    return stretched(xyz, origin, arms, longer)


def _turned(arms: Arms, angles: NDArray[np.float64]) -> Arms:
    """Turn arms by small angles, (2, n): across in azimuth, and in elevation."""
    x, y, z = arms.xyz
    flat = np.hypot(x, y)
    upright = flat < _SHORTEST_M
    safe = np.where(upright, 1, flat)
    left_x, left_y = np.where(upright, 0, -y / safe), np.where(upright, 1, x / safe)
    across, along = np.tan(angles)
    across = across * arms.ranges
    # up is arm x left over the range; left has no z
    new_x = x + across * left_x - along * z * left_y
    new_y = y + across * left_y + along * z * left_x
    new_z = z + along * (x * left_y - y * left_x)
    return Arms((new_x, new_y, new_z), np.sqrt(new_x**2 + new_y**2 + new_z**2), arms.hit)


def beam_biases(channels: int, std_m: float, rng: Generator) -> NDArray[np.float64]:
    """Draw the constant range error of each beam of one lidar, (channels,) metres."""
    _check_sigma(std_m=std_m)
    return rng.standard_normal(channels) * std_m


def bias_of_rows(biases: NDArray[np.float64], rings: NDArray[np.int32]) -> NDArray[np.float64]:
    """Look up each row's bias by its ring, (n,); 0 for rings that there are not (misses)."""
    known = (rings >= 0) & (rings < len(biases))
    return np.where(known, biases[np.where(known, rings, 0)], 0.0)


def quantized_ranges(xyz: NDArray[Any], sensor_xyz: ArrayLike, resolution_m: float) -> Moved:
    """Round ranges from the sensor to whole steps, at least one; misses keep their bits.

    Raises:
        UsageError: a step that is not above 0.
    """
    _check_step("range resolution", resolution_m)
    origin = np.asarray(sensor_xyz, np.float64)
    arms = arms_of(xyz, origin)
    stepped = np.maximum(np.rint(arms.ranges / resolution_m), 1) * resolution_m
    return stretched(xyz, origin, arms, stepped)


def quantized(values: NDArray[Any], step: float) -> NDArray[np.float64]:
    """Round values, (n,), to whole steps.

    Raises:
        UsageError: a step that is not above 0.
    """
    _check_step("quantization step", step)
    with np.errstate(invalid="ignore"):
        stepped: NDArray[np.float64] = np.rint(np.asarray(values, np.float64) / step) * step
    return stepped


def noisy_intensity(
    values: NDArray[Any],
    std: float,
    rng: Draws,
    *,
    std_relative: float = 0.0,
    most: float | None = None,
) -> NDArray[np.float64]:
    """Add N(0, (std + std_relative * I)^2) to intensities, (n,), kept from 0 to the field's most.

    Args:
        values: of any number type; an integer type's own limit counts beside ``most``.
        std: in the unit of the values.
        rng: drawn from for every row.
        std_relative: share of the value.
        most: greatest value, e.g. 255.

    Returns:
        (n,) float64; NaN stays NaN.
    """
    _check_sigma(std=std, std_relative=std_relative)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        wide = np.asarray(values, np.float64)
    highest = np.inf if most is None else most
    if values.dtype.kind in "iu":
        highest = min(highest, float(np.iinfo(values.dtype).max))
    draws = rng.standard_normal(len(wide))
    with np.errstate(invalid="ignore"):
        noisy: NDArray[np.float64] = wide + draws * (std + std_relative * np.abs(wide))
        return np.clip(noisy, 0, highest)


def _check_sigma(**sigmas: float) -> None:
    for name, sigma in sigmas.items():
        if not (np.isfinite(sigma) and sigma >= 0):
            msg = f"{name} is {sigma}; a standard deviation must be 0 or more"
            raise UsageError(msg)


def _check_step(name: str, step: float) -> None:
    if not (np.isfinite(step) and step > 0):
        msg = f"{name} is {step}; it must be above 0"
        raise UsageError(msg)
