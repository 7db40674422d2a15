"""Slow processes: normal at every instant, correlated as written, independent where claimed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import are_uncorrelated, is_normal, std_is

from bagnoise.rng import hashed_normals, hashed_uniforms
from bagnoise.steps.correlated import as_uniforms, correlated_normals

EPOCH = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
MANY = np.arange(40_000, dtype=np.int64)
KEY = (1, "s", "drift")


def process(stamp_ns: int, correlation_s: float = 2.0) -> NDArray[np.float64]:
    return correlated_normals(KEY, MANY, stamp_ns, correlation_s)[:, 0]


@pytest.mark.parametrize("share_of_knot", [0.0, 0.25, 0.5, 0.999])
def test_it_is_standard_normal_on_knots_and_between(share_of_knot: float) -> None:
    draws = process(EPOCH + round(share_of_knot * SECOND))
    assert std_is(draws, 1)
    assert is_normal(draws, 0, 1)


def test_plain_interpolation_between_knots_would_be_seen() -> None:
    knots = hashed_normals(KEY, MANY[:, None], np.array([[0, 1]]))
    assert not std_is(knots.mean(axis=1), 1)


@pytest.mark.parametrize("lag_s", [0.1, 0.5, 1.0, 2.0, 3.0])
def test_the_correlation_falls_as_written(lag_s: float) -> None:
    """Fisher's z of the correlation coefficient is normal with deviation 1 / sqrt(n - 3)."""
    one, other = process(EPOCH + 123), process(EPOCH + 123 + round(lag_s * SECOND))
    found = np.arctanh(np.corrcoef(one, other)[0, 1])
    limit = stats.norm.isf(0.5e-6) / np.sqrt(len(MANY) - 3)
    assert abs(found - np.arctanh(np.exp(-((lag_s / 2.0) ** 2)))) < limit + 1e-3
    assert abs(found - np.arctanh(np.exp(-((lag_s / 2.3) ** 2)))) > limit  # 15 % off is seen


def test_identities_components_and_names_are_independent() -> None:
    pair = correlated_normals(KEY, MANY, EPOCH + 5, 2.0, 2)
    assert are_uncorrelated(pair[:, 0], pair[:, 1])
    assert are_uncorrelated(pair[:-1, 0], pair[1:, 0])
    assert are_uncorrelated(pair[:, 0], correlated_normals((1, "s", "x"), MANY, EPOCH + 5, 2.0))
    assert are_uncorrelated(process(EPOCH), process(EPOCH + 20 * SECOND))
    assert not are_uncorrelated(pair[:, 0], pair[:, 1] + 0.05 * pair[:, 0])


def test_one_process_alone_is_the_same_as_among_others() -> None:
    alone = correlated_normals(KEY, np.array([17]), EPOCH + 99, 2.0)
    assert alone[0, 0] == pytest.approx(process(EPOCH + 99)[17], abs=1e-12)


def test_uniforms_are_phi_of_normals() -> None:
    x = np.array([-3.0, -1.0, 0.0, 0.5, 2.0])
    assert as_uniforms(x) == pytest.approx(stats.norm.cdf(x), rel=1e-12)


def test_hashed_draws_are_uniform_and_independent_for_neighbouring_keys() -> None:
    grid = hashed_uniforms((0, "s"), np.arange(-150, 150)[:, None], np.arange(200)[None, :])
    for draws in grid:
        assert stats.kstest(draws.ravel(), "uniform").pvalue > 1e-6
        assert stats.kstest(draws.ravel() ** 1.05, "uniform").pvalue < 1e-6
        assert are_uncorrelated(draws[1:], draws[:-1])
        assert are_uncorrelated(draws[:, 1:], draws[:, :-1])
    assert are_uncorrelated(*grid)
