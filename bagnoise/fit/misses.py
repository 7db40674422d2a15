"""Misses that last: a cone missed now is missed again a little later.

The step `detection` misses a cone while a normal process x of its own, correlated by
exp(-(dt / T)^2), lies above the quantile z of its chance p. Two looks dt apart then both hit with
Phi2(z, z; rho), so hits have the correlation (Phi2(z, z; rho) - p^2) / (p (1 - p)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.statistics import normal_quantile
from bagnoise.fit.estimate import Estimate, differs_from_zero, t_quantile
from bagnoise.fit.lags import Lags, jackknife, jackknife_std, lag_sums
from bagnoise.fit.sightings import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 1e-3
SURE = 0.02  # chances nearer than this to 0 or 1 say nothing of time
LEAST = 200
_GRID = 120
_NODES = 40


@dataclass(frozen=True)
class Misses:
    """How long misses last.

    Attributes:
        correlation_s: None where they do not, or it cannot be told (``why``).
        inflation: how many looks are worth one independent look.
    """

    correlation_s: Estimate | None
    inflation: float
    why: str = ""


def hit_correlation(p: float, rho: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation of hits of chance p whose normals have the correlation rho, (n,).

    Phi2(z, z; rho) - p^2 is the integral of exp(-z^2 / (1 + r)) / (2 pi sqrt(1 - r^2)) from 0 to
    rho (Plackett); r = sin(t) takes the root away.
    """
    z = normal_quantile(p)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    end = np.arcsin(np.clip(rho, 0, 1 - 1e-12))[:, None]
    t = end * (nodes + 1) / 2
    density = np.exp(-(z**2) / (1 + np.sin(t))) / (2 * math.pi)
    joint = (density * weights).sum(axis=1) * end[:, 0] / 2
    return np.asarray(joint / (p * (1 - p)))


def lasting_misses(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    hit: NDArray[np.bool_],
    chance: NDArray[np.float64],
) -> Misses:
    """Find how long misses last, of looks (n,) at cones with a chance (n,) to be seen."""
    if (who == NOBODY).any():
        return Misses(None, 1.0, "cones cannot be told apart")
    unsure = (chance > SURE) & (chance < 1 - SURE)
    if unsure.sum() < LEAST:
        return Misses(None, 1.0)
    who, shot, time_s = who[unsure], shot[unsure], time_s[unsure]
    p = chance[unsure]
    z = ((hit[unsure] - p) / np.sqrt(p * (1 - p)))[:, None]
    lags = lag_sums(who, shot, time_s, z)
    if lags is None or not differs_from_zero(lags.short_z(), ALPHA):
        return Misses(None, 1.0)
    mean = float(p.mean())
    lasts = _fit(lags, mean)
    values = jackknife(who, shot, time_s, z, lambda some: np.array([_fit(some, mean)]))
    half = t_quantile(len(values) - 1) * jackknife_std(values)[0]
    step_s = float(lags.seconds[0])
    steps = np.arange(1, 1 + int(5 * lasts / step_s) + 1) * step_s
    inflation = 1 + 2 * float(hit_correlation(mean, np.exp(-((steps / lasts) ** 2))).sum())
    count = int(lags.pairs[0])
    low, high = max(0.0, lasts - half), lasts + half
    return Misses(Estimate("correlation_s", lasts, low, high, count), inflation)


def _fit(lags: Lags, p: float) -> float:
    """Return T by weighted least squares over a grid."""
    best = (np.inf, float(lags.seconds[0]))
    for t in np.geomspace(lags.seconds[0] / 2, 4 * lags.seconds[-1], _GRID).tolist():
        model = hit_correlation(p, np.exp(-((lags.seconds / t) ** 2)))
        loss = float(lags.pairs @ (lags.correlation - model) ** 2)
        if loss < best[0]:
            best = (loss, t)
    return best[1]
