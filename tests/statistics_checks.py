"""Checks on random numbers, each with limits from its distribution at ALPHA, two-sided.

What they can see with the sample sizes used here (20 000 draws and more): a sigma off by 5 %, a
correlation of 0.035. Every use has a negative control that must fail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

ALPHA = 1e-6


def mean_is(draws: ArrayLike, mean: float, std: float) -> bool:
    """z-test of the mean of normal draws of known sigma."""
    x = np.asarray(draws, float)
    z = (x.mean() - mean) / (std / np.sqrt(x.size))
    return bool(2 * stats.norm.sf(abs(z)) > ALPHA)


def std_is(draws: ArrayLike, std: float) -> bool:
    """Chi-square test of the sigma of normal draws."""
    x = np.asarray(draws, float)
    q = (x.size - 1) * x.var(ddof=1) / std**2
    return bool(2 * min(stats.chi2.cdf(q, x.size - 1), stats.chi2.sf(q, x.size - 1)) > ALPHA)


def is_normal(draws: ArrayLike, mean: float, std: float) -> bool:
    """Kolmogorov-Smirnov test of the shape."""
    return bool(stats.kstest(np.asarray(draws, float), stats.norm(mean, std).cdf).pvalue > ALPHA)


def share_is(hits: int, trials: int, probability: float) -> bool:
    """Exact binomial test of a frequency."""
    return bool(stats.binomtest(hits, trials, probability).pvalue > ALPHA)


def are_uncorrelated(one: ArrayLike, other: ArrayLike) -> bool:
    """Test of Pearson's correlation, normal limit."""
    x, y = np.asarray(one, float).ravel(), np.asarray(other, float).ravel()
    r = float(np.corrcoef(x, y)[0, 1])
    return bool(2 * stats.norm.sf(abs(r) * np.sqrt(x.size)) > ALPHA)


def is_censored_normal(draws: ArrayLike, mean: float, std: float) -> bool:
    """Whether draws are max(0, N(mean, std^2)): the share of zeros, and the shape of the rest.

    Two tests at ALPHA / 2 each.
    """
    x = np.asarray(draws, float)
    positive = x[x > 0]
    at_zero = stats.norm.cdf(0, mean, std)
    zeros = stats.binomtest(int(x.size - positive.size), x.size, at_zero).pvalue
    rest = stats.truncnorm(-mean / std, np.inf, mean, std)
    shape = stats.kstest(positive, rest.cdf).pvalue
    return bool(min(zeros, shape) > ALPHA / 2)
