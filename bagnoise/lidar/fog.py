"""Echoes of fog: backscatter of the volume before the target, convolved with the pulse.

The power that fog returns from range R is pi beta J(R) (pi, for a white diffuse target sends 1 / pi
of the light back into each steradian), with

    J(R) = integral of f(R - r) xi(r) exp(-2 alpha r) / r^2 dr

over the pulse f(x) = cos^2(pi x / 2 L), |x| <= L = c tau / 2, and the crossover xi (Rasshofer et
al. 2011; Hahner et al., Fog simulation on real lidar point clouds, ICCV 2021). A target ends the
volume.

Fog is not even. With patchiness s, the density in each spot of the length L is exp(s G) /
Gamma(1 - s) of the mean, which is 1, with G of the standard Gumbel distribution. Then the strongest
spot before R0 has a closed form: it is at r with the density J(r)^(1/s), and its power is
exp(s (ln C + G)) / Gamma(1 - s) with C = the integral of (pi beta J)^(1/s) dr / L, whatever its
place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.lidar.receiver import Echoes, crossover, transmission

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.rng import Draws

METEOROLOGICAL_CONTRAST: Final = math.log(20)  # MOR is where contrast is 5 percent
BACKSCATTER_BY_RANGE: Final = 0.046  # beta = 0.046 / MOR, Rasshofer et al. 2011
_LIGHT_M_NS: Final = 0.299792458
_STEPS_A_PULSE: Final = 24
_STEPS_TO_START: Final = 8
_STEPS_ACROSS: Final = 4
_MOST_STEPS: Final = 40_000
_TINY: Final = 1e-300
_STRONGEST_PATCH: Final = 16.0  # a Gumbel number that 1 beam in 9 million exceeds


def extinction_of(meteorological_range_m: float) -> float:
    """Return alpha, 1/m, of a meteorological optical range."""
    return METEOROLOGICAL_CONTRAST / meteorological_range_m


def backscatter_of(alpha_per_m: float) -> float:
    """Return beta, 1/(m sr), of fog of an extinction alpha: 0.046 / MOR."""
    return BACKSCATTER_BY_RANGE * alpha_per_m / METEOROLOGICAL_CONTRAST


@dataclass(frozen=True)
class FogAir:
    """What the fog and the lidar are like.

    Attributes:
        alpha_per_m: extinction.
        beta_per_m_sr: backscatter.
        pulse_ns: tau, width of the pulse at half its power.
        crossover_m: ranges at which the receiver begins and ends to see all of the beam.
        patchiness: s, from 0 (even) to below 1.
        least: power that is detected; what fog returns from farther off is not looked at.
    """

    alpha_per_m: float
    beta_per_m_sr: float
    pulse_ns: float
    crossover_m: tuple[float, float]
    patchiness: float
    least: float

    @property
    def pulse_m(self) -> float:
        """L: the pulse's width at half its power, in range."""
        return _LIGHT_M_NS * self.pulse_ns / 2


@dataclass(frozen=True, eq=False)
class FogProfile:
    """What fog returns by range, (k,) each.

    Attributes:
        range_m: even steps from the crossover's start on.
        power: pi beta J, of even fog.
        strongest: index of the greatest power up to each range.
        log_sum: ln C up to each range; -inf at the start.
        place: the integral of (J / its greatest)^(1/s) up to each range; rises.
    """

    range_m: NDArray[np.float64]
    power: NDArray[np.float64]
    strongest: NDArray[np.intp]
    log_sum: NDArray[np.float64]
    place: NDArray[np.float64]


@lru_cache(maxsize=16)
def fog_profile(air: FogAir) -> FogProfile:
    """Compute what fog returns by range, as far as it can be detected."""
    start, end = air.crossover_m
    step = min(air.pulse_m / _STEPS_A_PULSE, start / _STEPS_TO_START, (end - start) / _STEPS_ACROSS)
    reach = air.crossover_m[0] + 2 * air.pulse_m + _farthest_m(air)
    count = max(16, min(math.ceil(reach / step), _MOST_STEPS))
    step = max(step, reach / count)
    ranges: NDArray[np.float64] = air.crossover_m[0] + step * np.arange(count, dtype=np.float64)
    source = crossover(ranges, air.crossover_m) * transmission(ranges, air.alpha_per_m) / ranges**2
    half = int(air.pulse_m / step)
    pulse = np.cos(np.pi * step * np.arange(-half, half + 1) / (2 * air.pulse_m)) ** 2
    response = np.convolve(source, pulse)[half : half + count] * step
    power = np.pi * air.beta_per_m_sr * response
    leader = np.where(power == np.maximum.accumulate(power), np.arange(count), 0)
    log_sum, place = _patches(power, step, air)
    return FogProfile(ranges, power, np.maximum.accumulate(leader), log_sum, place)


def _farthest_m(air: FogAir) -> float:
    """Return the range from which no spot of the fog is detected: pi beta L / R^2 is too little."""
    boost = math.exp(air.patchiness * _STRONGEST_PATCH) / math.gamma(1 - air.patchiness)
    return math.sqrt(math.pi * air.beta_per_m_sr * air.pulse_m * boost / air.least)


def _patches(
    power: NDArray[np.float64], step: float, air: FogAir
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sum (pi beta J)^(1/s) by the trapezoidal rule, in logarithms, for 1/s may be large."""
    top = power.max()
    if air.patchiness == 0 or top == 0:
        return np.full(len(power), -np.inf), np.zeros(len(power))
    shares = (power / top) ** (1 / air.patchiness)
    place = np.concatenate([[0.0], np.cumsum(shares[1:] + shares[:-1])]) * step / 2
    with np.errstate(divide="ignore"):
        return math.log(top) / air.patchiness + np.log(place / air.pulse_m), place


def fog_echoes(
    profile: FogProfile, air: FogAir, range_m: NDArray[Any], above: NDArray[Any], rng: Draws
) -> Echoes:
    """Return the strongest echo of the fog before each target, where it exceeds ``above``, (n,).

    Args:
        profile: of the same air.
        air: the fog and the lidar.
        range_m: (n,) of the targets; those before the crossover's start see no fog.
        above: (n,) powers; lesser echoes have range and power 0.
        rng: drawn from for every row, twice, unless the fog is even.
    """
    first, step = profile.range_m[0], profile.range_m[1] - profile.range_m[0]
    at = np.clip((range_m - first) / step, 0, len(profile.range_m) - 1)
    low = at.astype(np.intp)
    found = Echoes(np.zeros(len(range_m)), np.zeros(len(range_m)))
    if air.patchiness == 0:
        index = profile.strongest[low]
        won = (profile.power[index] > above) & (range_m > first)
        np.copyto(found.range_m, profile.range_m[index], where=won)
        np.copyto(found.power, profile.power[index], where=won)
        return found
    height, share = rng.random(len(range_m)), rng.random(len(range_m))
    high = np.minimum(low + 1, len(profile.range_m) - 1)
    before = profile.place[low] + (at - low) * (profile.place[high] - profile.place[low])
    with np.errstate(divide="ignore"):
        # s (ln C + G), with C = before / place[-1] exp(log_sum[-1]) and G = -ln(-ln u)
        odds = before / np.maximum(-np.log(height), _TINY)
        scale = air.patchiness * (profile.log_sum[-1] - math.log(max(profile.place[-1], _TINY)))
        power = odds**air.patchiness * (math.exp(scale) / math.gamma(1 - air.patchiness))
    won = np.flatnonzero((power > above) & (range_m > first))
    spot = np.interp(share[won] * before[won], profile.place, profile.range_m)
    found.range_m[won] = np.minimum(spot, range_m[won])
    found.power[won] = power[won]
    return found
