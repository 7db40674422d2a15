"""The gate cuts errors off; the estimate knows it. Alpha = 1e-6."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from bagnoise.fit.truncated import fit_errors, inside_gate

Z = stats.norm.isf(0.5e-6)


def cut_errors(
    std: tuple[float, float], mean: tuple[float, float], gate_m: float, count: int, seed: int
) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    error = random.standard_normal((count, 2)) * std + mean
    return np.asarray(error[np.hypot(*error.T) <= gate_m])


def test_inside_is_rayleighs_where_deviations_are_equal() -> None:
    for sigma in (0.1, 0.5, 2.0):
        found = inside_gate(1.0, np.zeros(2), np.full(2, sigma))
        assert found == pytest.approx(1 - math.exp(-1 / (2 * sigma**2)), abs=1e-9)


def test_inside_with_bias_and_unequal_deviations() -> None:
    mean, std = np.array([0.3, -0.2]), np.array([0.6, 0.25])
    random = np.random.default_rng(5)
    draws = random.standard_normal((400_000, 2)) * std + mean
    share = int((np.hypot(*draws.T) <= 0.8).sum())
    assert stats.binomtest(share, len(draws), inside_gate(0.8, mean, std)).pvalue > 1e-6


@pytest.mark.parametrize("stray", [0.0, 0.1])
def test_deviation_is_that_before_the_cut(stray: float) -> None:
    std, mean, gate_m = (0.6, 0.3), (0.1, 0.0), 1.0
    error = cut_errors(std, mean, gate_m, 20_000, seed=2)
    if stray:
        random = np.random.default_rng(3)
        count = round(len(error) * stray / (1 - stray))
        radius, angle = gate_m * np.sqrt(random.random(count)), 2 * math.pi * random.random(count)
        even = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        error = np.concatenate([error, even])
    found, scale = fit_errors(error, gate_m, stray)
    width = Z * np.sqrt(np.diag(found.covariance))
    assert (np.abs(found.at[:2] * scale - mean) <= width[:2] * scale).all()
    log_std = found.at[2:] + np.log(scale)
    assert (np.abs(log_std - np.log(std)) <= width[2:]).all()
    assert (np.abs(log_std - np.log(np.multiply(std, 1.1))) > width[2:]).all()
    plain = np.log(error.std(axis=0))  # knows of neither gate nor strays
    assert (np.abs(plain - np.log(std)) > width[2:]).any()


def test_clusters_widen_the_interval() -> None:
    random = np.random.default_rng(4)
    common = np.repeat(random.standard_normal((300, 2)), 20, axis=0) * 0.1
    error = common + random.standard_normal((6000, 2)) * 0.05
    clusters = np.repeat(np.arange(300), 20)
    alone, _ = fit_errors(error, 5.0, 0.0)
    grouped, scale = fit_errors(error, 5.0, 0.0, clusters)
    ratio = np.sqrt(grouped.covariance[0, 0] / alone.covariance[0, 0])
    # the mean of a group has (0.1^2 + 0.05^2 / 20) instead of (0.1^2 + 0.05^2) / 20
    assert ratio == pytest.approx(math.sqrt(20 * (0.01 + 0.0025 / 20) / 0.0125), rel=0.2)
    assert abs(grouped.at[0]) * scale[0] <= Z * math.sqrt(grouped.covariance[0, 0]) * scale[0]


def test_a_gate_that_cuts_nothing_gives_the_plain_mean_and_deviation() -> None:
    error = np.random.default_rng(6).standard_normal((500, 2)) * (0.1, 0.02) + (0.01, 0)
    wide, scale = fit_errors(error, 2.0, 0.0)
    assert wide.at[:2] * scale == pytest.approx(error.mean(axis=0))
    assert np.exp(wide.at[2:]) * scale == pytest.approx(error.std(axis=0))
    narrow, _ = fit_errors(error, 0.79, 0.0)  # the general way, where next to nothing is cut
    assert narrow.at == pytest.approx(wide.at, abs=1e-4)
    assert narrow.covariance == pytest.approx(wide.covariance, rel=1e-2, abs=1e-7)
