"""How often messages come, from times that may have gaps and jitter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.samples import typical_ns
from bagnoise.fit.estimate import Estimate, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SECOND_NS = 1_000_000_000
_DIGITS = 9


def beats(times_ns: Sequence[int]) -> NDArray[np.int64]:
    """Number times by their beat, (n,): gaps count as the beats that are missing."""
    usual = max(1, typical_ns(times_ns))
    intervals = np.diff(np.asarray(times_ns, np.int64))
    steps = np.maximum(np.rint(intervals / usual), 1).astype(np.int64)
    return np.concatenate([[0], steps.cumsum()]).astype(np.int64)


def rate(times_ns: Sequence[int]) -> Estimate:
    """Estimate the rate by a line through (beat, time), its interval by the scatter about it.

    The value is the shortest decimal within the interval: of a timer's rate that is the setting.
    """
    number = beats(times_ns)
    t = np.asarray(times_ns, np.int64)
    since = (t - t[0]).astype(np.float64)
    k = number - number.mean()
    period = float(k @ since / (k @ k))
    scatter = since - since.mean() - period * k
    n = len(t)
    variance = float(scatter @ scatter) / max(n - 2, 1) + 1 / 12  # whole nanoseconds
    half = t_quantile(n - 2) * math.sqrt(variance / float(k @ k)) + 1 / float(np.ptp(number))
    low, high = SECOND_NS / (period + half), SECOND_NS / (period - half)
    return Estimate("hz", shortest_within(low, high), low, high, n)


def shortest_within(low: float, high: float) -> float:
    """Return the decimal with the fewest digits in an interval, nearest to its middle."""
    middle = (low + high) / 2
    for digits in range(_DIGITS + 1):
        value = round(middle, digits)
        if low <= value <= high:
            return value
    return middle
