"""The distribution functions against scipy's, and the corrections against hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bagnoise.compare.check_delays import observe, scores
from bagnoise.compare.statistics import (
    binomial_p,
    chi2_tails,
    extreme_p,
    holm,
    mean_p,
    normal_cdf,
    spread_p,
)
from bagnoise.steps.timing import Latency

ALPHA = 1e-6


@pytest.mark.parametrize("degrees", [1, 2, 7, 100, 12_345, 2_000_000])
def test_chi_square_tails(degrees: int) -> None:
    rel = 1e-9 + degrees * 1e-11  # rounding of the logarithms, which grow with the degrees
    for p in (1e-12, 1e-6, 0.01, 0.5, 0.99):
        for x in (stats.chi2.ppf(p, degrees), stats.chi2.isf(p, degrees)):
            lower, upper = chi2_tails(float(x), degrees)
            assert lower == pytest.approx(stats.chi2.cdf(x, degrees), rel=rel, abs=1e-15)
            assert upper == pytest.approx(stats.chi2.sf(x, degrees), rel=rel, abs=1e-15)


def test_normal_tails() -> None:
    for z in (-30.0, -8.0, -1.0, 0.0, 3.0):
        assert normal_cdf(z) == pytest.approx(stats.norm.cdf(z), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "trials", "chance"), [(3, 10, 0.1), (480, 1000, 0.5), (0, 5, 0.3)]
)
def test_binomial(count: int, trials: int, chance: float) -> None:
    tails = stats.binom.cdf(count, trials, chance), stats.binom.sf(count - 1, trials, chance)
    assert binomial_p(count, trials, chance) == pytest.approx(min(1, 2 * min(tails)), rel=1e-9)


def test_p_values_of_standard_normal_values_are_uniform() -> None:
    rng = np.random.default_rng(5)
    found = np.array([[f(z) for f in (mean_p, spread_p)] for z in rng.normal(size=(2000, 50))])
    for column in found.T:
        assert stats.kstest(column, "uniform").pvalue > ALPHA
    assert extreme_p(np.array([0.1, 8.0])) < 1e-14


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005], 0.05) == [True, False, False, True]
    assert holm([], 0.05) == []


@pytest.mark.parametrize("order", ["keep", "free"])
@pytest.mark.parametrize(
    ("mean_s", "std_s"), [(0.01, 1e-5), (0.0, 0.03), (0.02, 0.05), (1e-8, 3e-9)]
)
def test_scores_of_censored_delays_are_standard_normal(
    order: str, mean_s: float, std_s: float
) -> None:
    rng = np.random.default_rng(11)
    latency = Latency(mean_s=mean_s, std_s=std_s, order=order)  # type: ignore[arg-type]
    delivered, pairs = 0, []
    for number in range(20_000):
        base = 10**18 + number * 20_000_000
        due = base + max(0, round(1e9 * rng.normal(mean_s, std_s)))
        delivered = max(delivered, due) if order == "keep" else due
        pairs.append((base, delivered))
    z = scores(observe(pairs, latency), mean_s * 1e9, std_s * 1e9)
    assert stats.kstest(z, "norm").pvalue > ALPHA
    wrong = scores(observe(pairs, latency), mean_s * 1e9, std_s * 1e9 * 1.15)
    assert stats.kstest(wrong, "norm").pvalue < ALPHA
    assert abs(np.corrcoef(z[1:], z[:-1])[0, 1]) * np.sqrt(len(z)) < 5
