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
from bagnoise.fit.sightings import NOBODY

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALPHA = 1e-3
BLOCKS = 12
MOST_LAGS = 60
LEAST_PAIRS = 100
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
    z = error_m / std_m
    lags = _by_lag(who, shot, time_s, z)
    if lags is None:
        return Memory(False, None, None, (0, 0), "cone", none, none, "no cone is seen twice")
    lag_s, rho, pairs = lags
    short = slice(0, min(3, len(rho)))
    mean = float(np.average(rho[short], weights=pairs[short]))
    deviation = 1 / float(np.sqrt(pairs[short].sum()))
    if not differs_from_zero(mean / deviation, ALPHA):
        limit = max(0.0, mean) + quantile() * deviation
        share = Estimate("share", 0.0, 0.0, limit, int(pairs[0]))
        return Memory(False, None, share, (0, 0), "cone", lag_s, rho)
    return _drift(who, shot, time_s, z, std_m, lags)


def _by_lag(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    z: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]] | None:
    """Return (lag, correlation, pairs) by how many messages lie between, both axes together."""
    order = np.lexsort((shot, who))
    who, shot, time_s, z = who[order], shot[order], time_s[order], z[order]
    sums, pairs, seconds = (np.zeros(MOST_LAGS + 1) for _ in range(3))
    for k in range(1, min(MOST_LAGS, len(who) - 1) + 1):
        same = who[k:] == who[:-k]
        apart = (shot[k:] - shot[:-k])[same]
        product = (z[k:] * z[:-k])[same].sum(axis=1)
        near = apart <= MOST_LAGS
        np.add.at(sums, apart[near], product[near])
        np.add.at(pairs, apart[near], 2)
        np.add.at(seconds, apart[near], 2 * (time_s[k:] - time_s[:-k])[same][near])
    used = pairs >= LEAST_PAIRS
    used[0] = False
    if not used.any():
        return None
    return seconds[used] / pairs[used], sums[used] / pairs[used], pairs[used].astype(np.intp)


def _fit_lags(
    lag_s: NDArray[np.float64], rho: NDArray[np.float64], pairs: NDArray[np.intp]
) -> tuple[float, float]:
    """Return (share, T) of share * exp(-(lag / T)^2), by weighted least squares over a grid."""
    best = (np.inf, 0.0, float(lag_s[0]))
    for t in np.geomspace(lag_s[0] / 2, 4 * lag_s[-1], 200).tolist():
        shape = np.exp(-((lag_s / t) ** 2))
        share = float((pairs * shape) @ rho / max((pairs * shape) @ shape, 1e-300))
        loss = float(pairs @ (rho - share * shape) ** 2)
        if loss < best[0]:
            best = (loss, share, t)
    return min(max(best[1], 0.0), 1.0), best[2]


def _drift(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    z: NDArray[np.float64],
    std_m: NDArray[np.float64],
    lags: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]],
) -> Memory:
    """Fit the drift; intervals by leaving out one block of time after the other (jackknife)."""
    share, lasts = _fit_lags(*lags)
    block = np.minimum((time_s / (time_s.max() + 1e-9) * BLOCKS).astype(int), BLOCKS - 1)
    found = []
    for number in np.unique(block).tolist():
        rest = block != number
        some = _by_lag(who[rest], shot[rest], time_s[rest], z[rest])
        if some is not None:
            found.append(_fit_lags(*some))
    values = np.array(found)
    n = len(values)
    deviation = np.sqrt((n - 1) / n * ((values - values.mean(axis=0)) ** 2).sum(axis=0))
    half = t_quantile(n - 1) * deviation
    count = int(lags[2][0])
    across_cones = _between_cones(shot, z)
    per = "sensor" if across_cones > SENSOR_SHARE * share else "cone"
    along, across = (float(np.sqrt(share * (std_m[:, a] ** 2).mean())) for a in range(2))
    return Memory(
        True,
        Estimate("correlation_s", lasts, max(0.0, lasts - half[1]), lasts + half[1], count),
        Estimate("share", share, max(0.0, share - half[0]), min(1.0, share + half[0]), count),
        (along, across),
        per,
        lags[0],
        lags[1],
    )


def _between_cones(shot: NDArray[np.intp], z: NDArray[np.float64]) -> float:
    """Return the mean correlation of the errors of different cones in one message."""
    _, place, counts = np.unique(shot, return_inverse=True, return_counts=True)
    total = np.zeros((len(counts), 2))
    squares = np.zeros((len(counts), 2))
    np.add.at(total, place, z)
    np.add.at(squares, place, z**2)
    pairs = float((counts * (counts - 1)).sum()) * 2
    return float((total**2 - squares).sum()) / pairs if pairs else 0.0
