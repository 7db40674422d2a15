"""Errors that last: which share of the variance, how long, and for one cone or all alike.

The covariance of the errors of one cone a time dt apart is s_d^2 exp(-(dt / T)^2) for dt > 0 (the
step `drift`), and s_w^2 + s_d^2 at dt = 0. The errors of different cones in one message have the
covariance s_d^2 if the drift is the sensor's, and 0 if it is each cone's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.fit.estimate import Estimate, differs_from_zero, quantile, t_quantile
from bagnoise.fit.lags import Lags, jackknife, jackknife_std, lag_sums
from bagnoise.fit.sightings import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 1e-3
GRID = 200
LEAST_STD_M = 1e-9
SENSOR_SHARE = 0.5


@dataclass(frozen=True)
class Memory:
    """What lasts, or that nothing does.

    Attributes:
        found: whether any correlation was found.
        correlation_s, share: of the drift; with nothing found ``share`` is an upper limit.
        std_m: deviations of the drift along and across.
        per: ``sensor`` or ``cone``.
        lags_s, correlation: what was measured, for the figure.
        why: where it cannot be told.
    """

    found: bool
    correlation_s: Estimate | None
    share: Estimate | None
    std_m: tuple[float, float]
    per: str
    lags_s: NDArray[np.float64]
    correlation: NDArray[np.float64]
    why: str = ""


def memory(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    error_m: NDArray[np.float64],
    std_m: NDArray[np.float64],
) -> Memory:
    """Find what lasts in errors (n, 2) without their bias, of deviations (n, 2).

    Args:
        who: (n,) physical cone.
        shot: (n,) message.
        time_s: (n,) its time.
        error_m: along and across.
        std_m: of each error, as estimated.
    """
    none = np.zeros(0)
    if (who == NOBODY).any():
        return Memory(False, None, None, (0, 0), "cone", none, none, "cones cannot be told apart")
    if not (std_m > LEAST_STD_M).all():
        return Memory(False, None, None, (0, 0), "cone", none, none, "there are no errors")
    z = error_m / std_m
    lags = lag_sums(who, shot, time_s, z)
    if lags is None:
        return Memory(False, None, None, (0, 0), "cone", none, none, "no cone is seen often enough")
    mean, deviation = lags.short_mean()
    if not differs_from_zero(mean / deviation, ALPHA):
        limit = max(0.0, mean) + quantile() * deviation
        share = Estimate("share", 0.0, 0.0, limit, int(lags.pairs[0]))
        return Memory(False, None, share, (0, 0), "cone", lags.seconds, lags.correlation)
    return _drift(who, shot, time_s, error_m, std_m, lags)


def _fit_lags(lags: Lags) -> NDArray[np.float64]:
    """Return (share, T) of share * exp(-(lag / T)^2), by weighted least squares over a grid."""
    best = (np.inf, 0.0, float(lags.seconds[0]))
    for t in np.geomspace(lags.seconds[0] / 2, 4 * lags.seconds[-1], GRID).tolist():
        shape = np.exp(-((lags.seconds / t) ** 2))
        weighted = lags.pairs * shape
        share = float(weighted @ lags.correlation / max(weighted @ shape, 1e-300))
        loss = float(lags.pairs @ (lags.correlation - share * shape) ** 2)
        if loss < best[0]:
            best = (loss, share, t)
    return np.array([min(max(best[1], 0.0), 1.0), best[2]])


def _drift(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    error_m: NDArray[np.float64],
    std_m: NDArray[np.float64],
    lags: Lags,
) -> Memory:
    """Fit the drift; intervals by leaving out one block of time after the other (jackknife)."""
    z = error_m / std_m
    share, lasts = _fit_lags(lags).tolist()
    values = jackknife(who, shot, time_s, z, _fit_lags)
    half = t_quantile(len(values) - 1) * jackknife_std(values)
    count = int(lags.pairs[0])
    per = "sensor" if _between_cones(shot, z) > SENSOR_SHARE * share else "cone"
    along, across = (_std_m(who, shot, time_s, error_m[:, [a]], lasts) for a in range(2))
    return Memory(
        True,
        Estimate("correlation_s", lasts, max(0.0, lasts - half[1]), lasts + half[1], count),
        Estimate("share", share, max(0.0, share - half[0]), min(1.0, share + half[0]), count),
        (along, across),
        per,
        lags.seconds,
        lags.correlation,
    )


def _std_m(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    error_m: NDArray[np.float64],
    lasts_s: float,
) -> float:
    """Return the deviation of a drift that lasts so long, from the covariances in m^2 by lag."""
    lags = lag_sums(who, shot, time_s, error_m)
    assert lags is not None
    shape = np.exp(-((lags.seconds / lasts_s) ** 2))
    weighted = lags.pairs * shape
    square = float(weighted @ lags.correlation) / max(float(weighted @ shape), 1e-300)
    return float(max(square, 0.0) ** 0.5)


def _between_cones(shot: NDArray[np.intp], z: NDArray[np.float64]) -> float:
    """Return the mean correlation of the errors of different cones in one message."""
    _, place, counts = np.unique(shot, return_inverse=True, return_counts=True)
    total = np.zeros((len(counts), 2))
    squares = np.zeros((len(counts), 2))
    np.add.at(total, place, z)
    np.add.at(squares, place, z**2)
    pairs = float((counts * (counts - 1)).sum()) * 2
    return float((total**2 - squares).sum()) / pairs if pairs else 0.0
