"""The few distribution functions that the checks need, from their definitions."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_NORMAL = NormalDist()
_TINY = 1e-300
_PRECISION = 1e-14
_MAX_TERMS = 100_000


def normal_cdf(z: float) -> float:
    """Return P(Z <= z), precise in the lower tail (take -z for the upper)."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(p: float) -> float:
    """Return z with P(Z <= z) = p; p is kept off 0 and 1."""
    return _NORMAL.inv_cdf(min(max(p, _TINY), 1 - 1e-16))


def two_sided(z: float) -> float:
    """Return P(|Z| >= |z|)."""
    return 2 * normal_cdf(-abs(z))


def mean_p(z: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the mean of standard normal values, (n,)."""
    return two_sided(float(z.sum()) / math.sqrt(len(z)))


def spread_p(z: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the sum of squares of standard normal values, (n,)."""
    square = float((z**2).sum())
    lower, upper = chi2_tails(square, len(z))
    return min(1.0, 2 * min(lower, upper))


def extreme_p(z: NDArray[np.float64]) -> float:
    """Return the p-value of the largest |z| of n standard normal values (Bonferroni)."""
    return min(1.0, len(z) * two_sided(float(np.abs(z).max())))


def chi2_tails(x: float, degrees: int) -> tuple[float, float]:
    """Return (P(X <= x), P(X >= x)) of a chi-square variable.

    The regularised incomplete gamma function: its series below the mean, its continued fraction
    (Lentz) above, so that the smaller tail is always the one computed.
    """
    a, half = degrees / 2, x / 2
    if half <= 0:
        return 0.0, 1.0
    scale = math.exp(a * math.log(half) - half - math.lgamma(a))
    if half < a + 1:
        lower = min(1.0, scale * _series(a, half))
        return lower, 1 - lower
    upper = min(1.0, scale * _fraction(a, half))
    return 1 - upper, upper


def _series(a: float, x: float) -> float:
    term = total = 1 / a
    for n in range(1, _MAX_TERMS):
        term *= x / (a + n)
        total += term
        if term < total * _PRECISION:
            break
    return total


def _fraction(a: float, x: float) -> float:
    b = x + 1 - a
    c, d = 1 / _TINY, 1 / b
    value = d
    for n in range(1, _MAX_TERMS):
        step = -n * (n - a)
        b += 2
        d = 1 / (step * d + b or _TINY)
        c = b + step / c or _TINY
        value *= d * c
        if abs(d * c - 1) < _PRECISION:
            break
    return value


def binomial_p(count: int, trials: int, chance: float) -> float:
    """Return the two-sided p-value of a binomial count: twice the smaller tail."""
    if chance in {0.0, 1.0}:
        return 1.0 if count == trials * chance else 0.0
    k = np.arange(trials + 1)
    steps = np.log(np.arange(1, trials + 1, dtype=np.float64))
    log_factorial = np.concatenate([[0.0], np.cumsum(steps)])
    log_p = (
        log_factorial[-1]
        - log_factorial
        - log_factorial[::-1]
        + k * math.log(chance)
        + (trials - k) * math.log1p(-chance)
    )
    p = np.exp(log_p)
    return float(min(1.0, 2 * min(p[: count + 1].sum(), p[count:].sum())))


def holm(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Tell which tests fail when the chance of any false alarm is to be alpha (Holm's method)."""
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    failed = [False] * len(p_values)
    for rank, n in enumerate(order):
        if p_values[n] > alpha / (len(p_values) - rank):
            break
        failed[n] = True
    return failed
