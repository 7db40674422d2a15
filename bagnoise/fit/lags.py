"""Correlation of what was seen of one cone, by the time between two messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BLOCKS = 12
MOST_LAGS = 60
LEAST_PAIRS = 100
SHORT = 3


@dataclass(frozen=True)
class Lags:
    """Correlations by lag, the shortest first: time between in s, correlation, pairs, (k,) each."""

    seconds: NDArray[np.float64]
    correlation: NDArray[np.float64]
    pairs: NDArray[np.intp]

    def short_mean(self) -> tuple[float, float]:
        """Return the mean over the shortest lags, and its deviation where nothing is correlated."""
        short = slice(0, SHORT)
        mean = float(np.average(self.correlation[short], weights=self.pairs[short]))
        return mean, 1 / float(np.sqrt(self.pairs[short].sum()))

    def short_z(self) -> float:
        """Return that mean over its deviation."""
        mean, deviation = self.short_mean()
        return mean / deviation


def lag_sums(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    z: NDArray[np.float64],
) -> Lags | None:
    """Correlate values (n, m) of deviation 1 of the same cone, by how many messages lie between.

    None where too few pairs of any lag are there. The m columns count together.
    """
    order = np.lexsort((shot, who))
    who, shot, time_s, z = who[order], shot[order], time_s[order], z[order]
    sums, pairs, seconds = (np.zeros(MOST_LAGS + 1) for _ in range(3))
    columns = z.shape[1]
    for k in range(1, min(MOST_LAGS, len(who) - 1) + 1):
        same = who[k:] == who[:-k]
        apart = (shot[k:] - shot[:-k])[same]
        product = (z[k:] * z[:-k])[same].sum(axis=1)
        near = apart <= MOST_LAGS
        np.add.at(sums, apart[near], product[near])
        np.add.at(pairs, apart[near], columns)
        np.add.at(seconds, apart[near], columns * (time_s[k:] - time_s[:-k])[same][near])
    used = pairs >= LEAST_PAIRS
    used[0] = False
    if not used.any():
        return None
    counted = pairs[used]
    return Lags(seconds[used] / counted, sums[used] / counted, counted.astype(np.intp))


def jackknife(
    who: NDArray[np.int64],
    shot: NDArray[np.intp],
    time_s: NDArray[np.float64],
    z: NDArray[np.float64],
    fitted: Callable[[Lags], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Return what is fitted, (blocks, k), with one block of time left out after the other."""
    block = np.minimum((time_s / (time_s.max() + 1e-9) * BLOCKS).astype(int), BLOCKS - 1)
    found = []
    for number in np.unique(block).tolist():
        rest = block != number
        some = lag_sums(who[rest], shot[rest], time_s[rest], z[rest])
        if some is not None:
            found.append(fitted(some))
    return np.array(found)


def jackknife_std(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the jackknife's deviations, (k,), of values (blocks, k)."""
    n = len(values)
    spread = ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return np.asarray(np.sqrt((n - 1) / n * spread))
