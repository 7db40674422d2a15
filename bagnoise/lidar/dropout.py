"""Which returns are lost; every kernel tells what is kept, (n,), and draws for every row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import UsageError

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from bagnoise.rng import Draws


def random_dropout(count: int, probability: float, rng: Draws) -> NDArray[np.bool_]:
    """Lose each of ``count`` returns with a probability."""
    _check_probability(probability)
    return np.asarray(rng.random(count) >= probability)


def range_dropout(
    range_m: NDArray[Any], start_m: float, end_m: float, probability: float, rng: Draws
) -> NDArray[np.bool_]:
    """Lose far returns: with 0 up to ``start_m``, rising to ``probability`` at ``end_m``, (n,).

    Raises:
        UsageError: the ramp does not rise with range.
    """
    _check_probability(probability)
    if not 0 <= start_m < end_m:
        msg = f"dropout from {start_m:g} to {end_m:g} m; it must start at 0 or more and end later"
        raise UsageError(msg)
    draws = rng.random(len(range_m))
    ramp = (np.asarray(range_m, np.float64) - start_m) / (end_m - start_m)
    chance = probability * np.clip(np.nan_to_num(ramp, nan=0.0), 0, 1)
    return np.asarray(draws >= chance)


def intensity_dropout(
    intensity: NDArray[Any], below: float, probability: float, rng: Draws
) -> NDArray[np.bool_]:
    """Lose faint returns: with ``probability`` at intensity 0, falling to 0 at ``below``, (n,).

    The shape of CARLA's dropoff_intensity_limit and dropoff_zero_intensity.

    Raises:
        UsageError: a limit that is not above 0.
    """
    _check_probability(probability)
    if not (np.isfinite(below) and below > 0):
        msg = f"intensity limit is {below}; it must be above 0"
        raise UsageError(msg)
    draws = rng.random(len(intensity))
    faint = np.clip(1 - np.nan_to_num(np.asarray(intensity, np.float64), nan=np.inf) / below, 0, 1)
    return np.asarray(draws >= probability * faint)


def rings_every(rings: NDArray[Any], every: int, first: int = 0) -> NDArray[np.bool_]:
    """Keep every n-th ring from ``first`` on, by ring number, whatever the points' order, (n,).

    Raises:
        UsageError: ``every`` is below 1, or ``first`` is no ring of the first ``every``.
    """
    if every < 1 or not 0 <= first < every:
        msg = f"every {every}. ring from {first} on; every must be 1 or more, from 0 to every - 1"
        raise UsageError(msg)
    return np.asarray((rings >= 0) & (rings % every == first))


def lost_rings(channels: int, count: int, rng: Generator) -> NDArray[np.int64]:
    """Choose ``count`` different rings of a lidar, (count,) sorted.

    Raises:
        UsageError: more rings than there are.
    """
    if not 0 <= count <= channels:
        msg = f"{count} rings are to be lost; this lidar has {channels}"
        raise UsageError(msg)
    return np.sort(rng.permutation(channels)[:count])


def burst_dropout(
    azimuth_rad: NDArray[Any], mean_bursts: float, width_deg: float, rng: Generator
) -> NDArray[np.bool_]:
    """Lose whole sectors, as lost packets do, (n,).

    The number of sectors of one cloud is Poisson, each is exponentially wide about ``width_deg``
    and starts anywhere.

    Raises:
        UsageError: a mean below 0, or a width that is not above 0.
    """
    if not (np.isfinite(mean_bursts) and mean_bursts >= 0):
        msg = f"mean_bursts is {mean_bursts}; it must be 0 or more"
        raise UsageError(msg)
    if not (np.isfinite(width_deg) and width_deg > 0):
        msg = f"width_deg is {width_deg}; it must be above 0"
        raise UsageError(msg)
    count = int(rng.poisson(mean_bursts))
    starts = rng.random(count) * 2 * np.pi
    widths = rng.exponential(np.radians(width_deg), count)
    kept = np.ones(len(azimuth_rad), np.bool_)
    with np.errstate(invalid="ignore"):
        for start, width in zip(starts, widths, strict=True):
            kept &= ~((azimuth_rad - start) % (2 * np.pi) < width)
    return kept


def _check_probability(probability: float) -> None:
    if not 0 <= probability <= 1:
        msg = f"probability is {probability}; it must be from 0 to 1"
        raise UsageError(msg)
