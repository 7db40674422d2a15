"""How strong an echo is, and which a receiver still detects.

Power is counted in that of a white diffuse target that fills the beam 1 m away, so an extended
target of reflectivity rho returns rho / R^2 exp(-2 alpha R): the lidar equation with Beer-Lambert's
law on both ways (Rasshofer, Spies, Spies, Influences of weather phenomena on automotive laser radar
systems, Advances in Radio Science 9, 2011).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.rng import Draws


class Echoes(NamedTuple):
    """Range in metres and power of an echo on each beam, (n,); power 0 where there is none."""

    range_m: NDArray[Any]
    power: NDArray[Any]


class Seen(NamedTuple):
    """What a receiver reports of each beam, (n,): its target, the air, or neither."""

    target: NDArray[np.bool_]
    air: NDArray[np.bool_]


def least_power(clear_range_m: float, clear_reflectivity: float) -> float:
    """Return the least power that is detected: that of a target at its farthest range."""
    return clear_reflectivity / clear_range_m**2


def target_power(
    range_m: NDArray[Any], reflectivity: NDArray[Any] | float, least: float
) -> NDArray[np.float64]:
    """Return the power of targets in clear air, (n,).

    They were detected, so that none of them is below the least power: a cloud holds no echo of
    intensity 0, but its integers round to that.
    """
    power: NDArray[np.float64] = np.square(range_m)
    np.divide(reflectivity, power, out=power)
    return np.maximum(power, least, out=power)


def transmission(range_m: NDArray[Any], alpha_per_m: float) -> NDArray[np.float64]:
    """Return what is left on the way there and back, exp(-2 alpha R), (n,)."""
    left: NDArray[np.float64] = np.multiply(range_m, -2 * alpha_per_m, dtype=np.float64)
    return np.exp(left, out=left)


def crossover(range_m: NDArray[np.float64], span_m: tuple[float, float]) -> NDArray[np.float64]:
    """Return the share of the beam that the receiver sees, (n,): 0 to 1 between two ranges.

    Transmitter and receiver stand beside each other (Rasshofer et al. 2011); linear, as in Hahner
    et al., Fog simulation on real lidar point clouds, ICCV 2021.
    """
    return np.clip((range_m - span_m[0]) / (span_m[1] - span_m[0]), 0, 1)


def seen(target: NDArray[Any], air: NDArray[Any], least: float, *, last: bool = False) -> Seen:
    """Choose the echo that each beam reports, by powers, (n,).

    Args:
        target: powers of the targets.
        air: powers of echoes before them.
        least: that is detected.
        last: report the target wherever it is detected, else the stronger of the two.
    """
    hard = target >= least
    soft = air >= least
    if last:
        return Seen(hard, soft & ~hard)
    nearer = air > target
    return Seen(hard & ~nearer, soft & nearer)


def faint_range_noise(
    clear: NDArray[Any], left: NDArray[Any], least: float, accuracy_m: float, rng: Draws
) -> NDArray[np.float64]:
    """Draw the range errors, (n,) metres, that echoes have for being fainter than in clear air.

    sigma = a / sqrt(2 SNR), SNR = P / P_least (Kilic et al., Lidar light scattering augmentation,
    2021). The cloud has the error of clear air already, so the variances' difference is drawn.

    Args:
        clear: powers in clear air.
        left: powers that are left of them.
        least: that is detected.
        accuracy_m: a, metres.
        rng: drawn from for every row.
    """
    draws = rng.standard_normal(len(clear))
    with np.errstate(divide="ignore", over="ignore"):
        variance: NDArray[np.float64] = 1 / left
        variance -= 1 / clear
        variance *= accuracy_m**2 / 2 * least
    np.clip(variance, 0, accuracy_m**2, out=variance)
    draws *= np.sqrt(variance, out=variance)
    return draws
