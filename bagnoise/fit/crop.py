"""A cut of what was measured, at an x of the message's frame.

Errors blur a cut of measured positions over the true ones, but not a limit of the view, which goes
by where a cone really is. Near a cut c a true cone at x is seen with chance p Phi((x - c) / s), s
being the deviation of its error along x; near a limit with p inside and hardly ever outside. The
likelier of the two is taken.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.statistics import normal_cdf
from bagnoise.fit.estimate import LEVEL, Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.fit.sightings import Sightings

BETTER = 3.0  # log likelihood that a cut must explain more than the limit, or than none
BIN_M = 1.0
REACH = 6.0  # deviations
FEW = 10
NEAR = 30  # detections next to the cut that tell how dense they are
STRAY = 1e-3


def find_crop(
    rows: Sightings, mine: NDArray[np.bool_], inside: NDArray[np.bool_], limited: NDArray[np.bool_]
) -> tuple[Estimate | None, float]:
    """Return the cut of measured x, or None where limits of the view, or nothing, explain more.

    The second value is how far errors blur such a limit (m), where a cut explains it as well; 0 if
    it does not.

    Args:
        rows: all sightings, n.
        mine: (n,) clear true cones.
        inside: (n,) those within the limits that no cut could explain.
        limited: (n,) those within all limits.
    """
    single = mine & inside & (rows.count == 1)
    x = rows.seen_frame_xyz[single, 0]
    if len(x) <= NEAR:
        return None, 0.0
    cut = float(x.min())
    std = _std_along_x(rows, single)
    there = mine & inside
    near = there & (np.abs(rows.frame_xyz[:, 0] - cut) < REACH * std)
    if not near.any():
        return None, 0.0
    p = _chance(rows, there, there & (rows.frame_xyz[:, 0] > cut + REACH * std))[near]
    z = (rows.frame_xyz[near, 0] - cut) / std[near]
    by_cut = np.clip(p * np.array([normal_cdf(v) for v in z.tolist()]), STRAY, 1 - STRAY)
    by_limit = np.where(limited[near], p, STRAY)
    hit = rows.matched[near]
    gain = _log_likelihood(by_cut, hit) - _log_likelihood(by_limit, hit)
    if gain < BETTER:
        return None, float(np.median(std[near])) if gain > -BETTER else 0.0
    reach = float(np.sort(x)[NEAR]) - cut
    gap = -math.log(1 - LEVEL) * reach / NEAR
    return Estimate("min_x_m", cut - reach / NEAR / 2, cut - gap, cut, NEAR), 0.0


def _chance(
    rows: Sightings, there: NDArray[np.bool_], away: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the chance of a hit where no cut is near, (n,), by range: of those away if enough."""
    bins = (rows.range_m // BIN_M).astype(int)
    chance = np.full(len(bins), STRAY)
    for number in np.unique(bins[there]).tolist():
        here = bins == number
        some = rows.matched[here & away]
        if len(some) < FEW:
            some = rows.matched[here & there]
        chance[here] = float(some.mean())
    return np.asarray(np.clip(chance, STRAY, 1 - STRAY))


def _log_likelihood(chance: NDArray[np.float64], hit: NDArray[np.bool_]) -> float:
    return float(np.where(hit, np.log(chance), np.log1p(-chance)).sum())


def _std_along_x(rows: Sightings, single: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the deviation along x of each sighting's error, (n,), by range and direction.

    The cut takes errors away: deviations are those of cones abeam of none, by the median.
    """
    error = rows.errors_m()
    bins = (rows.range_m // BIN_M).astype(int)
    along, across = (np.full(len(bins), np.nan) for _ in range(2))
    every = [_robust_std(error[single, axis]) for axis in range(2)]
    for number in np.unique(bins[single]).tolist():
        here = bins == number
        some = error[single & here]
        enough = len(some) > NEAR
        along[here] = _robust_std(some[:, 0]) if enough else every[0]
        across[here] = _robust_std(some[:, 1]) if enough else every[1]
    planar = np.maximum(np.hypot(rows.frame_xyz[:, 0], rows.frame_xyz[:, 1]), 1e-9)
    cosine = rows.frame_xyz[:, 0] / planar
    square = (np.nan_to_num(along, nan=every[0]) * cosine) ** 2
    square += np.nan_to_num(across, nan=every[1]) ** 2 * (1 - cosine**2)
    return np.asarray(np.sqrt(np.maximum(square, 1e-18)))


def _robust_std(values: NDArray[np.float64]) -> float:
    return 1.4826 * float(np.median(np.abs(values - np.median(values))))
