"""A fitted value with its interval, and the intervals of shares and counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.compare.statistics import chi2_tails, normal_cdf, normal_quantile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEVEL = 0.95
_BISECTIONS = 80


@dataclass(frozen=True)
class Estimate:
    """One value of a recipe and what the data say of it.

    Attributes:
        name: path within the stream, e.g. ``polar_noise.range_std_m``.
        value, low, high: the estimate and the ends of its interval.
        count: independent samples it rests on.
        bin_m: from, up to: the ranges it holds for; None: all.
        note: what else there is to say.
    """

    name: str
    value: float
    low: float
    high: float
    count: int
    bin_m: tuple[float, float] | None = None
    note: str = ""

    def clipped(self, low: float, high: float) -> Estimate:
        """Return it kept within limits that hold for sure."""
        value, a, b = (min(max(v, low), high) for v in (self.value, self.low, self.high))
        return replace(self, value=value, low=a, high=b)

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


def quantile(level: float = LEVEL) -> float:
    """Return z so that a normal value lies within ±z with this chance."""
    return normal_quantile(0.5 + level / 2)


def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Return the quantile of Student's t, by its expansion in 1/degrees (3 digits from 5 on)."""
    z = quantile(level)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    n = max(degrees, 2.0)
    return z + first / n + second / n**2 + third / n**3


def share_interval(hits: float, trials: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share; its coverage is never below the level.

    The ends solve P(X >= hits) = P(X <= hits) = (1 - level) / 2, by bisection of a binomial.
    """
    if trials <= 0:
        return 0.0, 1.0
    tail = (1 - level) / 2
    low = 0.0 if hits <= 0 else _solve(lambda p: beta_cdf(p, hits, trials - hits + 1), tail)
    high = 1.0
    if hits < trials:
        high = _solve(lambda p: beta_cdf(p, hits + 1, trials - hits), 1 - tail)
    return low, high


def count_interval(events: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Garwood's exact interval of a Poisson mean from a count.

    P(Poisson(m) >= k) = P(Gamma(k) <= m), a chi-square of 2 k degrees at 2 m.
    """
    tail, reach = (1 - level) / 2, events + 12 * math.sqrt(events + 1) + 12
    low = 0.0
    if events > 0:
        low = _solve(lambda m: chi2_tails(2 * m, 2 * events)[0], tail, 0.0, reach)
    high = _solve(lambda m: chi2_tails(2 * m, 2 * events + 2)[0], 1 - tail, 0.0, reach)
    return low, high


def _solve(
    rising: Callable[[float], float], wanted: float, low: float = 0.0, high: float = 1.0
) -> float:
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_front = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b)
    log_front -= math.lgamma(a) + math.lgamma(b) + math.log(a)
    return math.exp(log_front) * _beta_fraction(x, a, b)


def _beta_fraction(x: float, a: float, b: float) -> float:
    tiny, d = 1e-300, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or tiny)
    c, value = 1.0, d
    for m in range(1, 400):
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + top * d) or tiny)
            c = (1 + top / c) or tiny
            value *= d * c
        if abs(d * c - 1) < 1e-13:  # noqa: PLR2004 - rounding
            break
    return value


def is_one_value(estimates: Sequence[Estimate], alpha: float = 0.01) -> bool:
    """Whether estimates are of one value as far as they tell: chi-square over their widths."""
    known = [e for e in estimates if e.half_width > 0]
    if len(known) <= 1:
        return True
    deviation = np.array([e.half_width / quantile() for e in known])
    value = np.array([e.value for e in known])
    weight = deviation**-2
    mean = float((weight * value).sum() / weight.sum())
    square = float((weight * (value - mean) ** 2).sum())
    return chi2_tails(square, len(known) - 1)[1] > alpha


def differs_from_zero(z: float, alpha: float) -> bool:
    """Whether a standard normal value is too far from 0 to be chance."""
    return 2 * normal_cdf(-abs(z)) < alpha
