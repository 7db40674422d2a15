"""Intervals and quantiles against scipy, which the package itself does without."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bagnoise.fit.estimate import (
    Estimate,
    beta_cdf,
    count_interval,
    is_one_value,
    quantile,
    share_interval,
    t_quantile,
)


@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (1, 7), (5, 5), (40, 900), (8123, 9000)])
def test_share_interval_is_clopper_and_pearsons(hits: int, trials: int) -> None:
    low, high = share_interval(hits, trials)
    assert low == pytest.approx(
        stats.beta.ppf(0.025, hits, trials - hits + 1) if hits else 0, abs=1e-9
    )
    assert high == pytest.approx(
        stats.beta.ppf(0.975, hits + 1, trials - hits) if hits < trials else 1, abs=1e-9
    )


@pytest.mark.parametrize("events", [0, 1, 7, 300])
def test_count_interval_is_garwoods(events: int) -> None:
    low, high = count_interval(events)
    assert low == pytest.approx(stats.chi2.ppf(0.025, 2 * events) / 2 if events else 0, abs=1e-7)
    assert high == pytest.approx(stats.chi2.ppf(0.975, 2 * events + 2) / 2, rel=1e-8)


@pytest.mark.parametrize("degrees", [5, 11, 60, 5000])
def test_t_quantile(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=2e-3)


@pytest.mark.parametrize("x", [0.01, 0.3, 0.5, 0.99])
def test_beta_cdf(x: float) -> None:
    for a, b in ((0.7, 3.0), (12.0, 5.0), (800.0, 90.0)):
        assert beta_cdf(x, a, b) == pytest.approx(stats.beta.cdf(x, a, b), abs=1e-11)


def test_one_value_is_rejected_as_often_as_stated() -> None:
    random = np.random.default_rng(1)
    trials, bins = 2000, 6
    half = quantile()
    rejected = 0
    for values in random.standard_normal((trials, bins)):
        some = [Estimate("v", v, v - half, v + half, 9) for v in values]
        rejected += not is_one_value(some, 0.01)
    assert stats.binomtest(rejected, trials, 0.01).pvalue > 1e-6
    apart = [Estimate("v", v, v - half, v + half, 9) for v in (0.0, 0.5, 9.0)]
    assert not is_one_value(apart)
