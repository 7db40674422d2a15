"""Drift and misses that last, against processes of known share and time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from bagnoise.fit.lags import lag_sums
from bagnoise.fit.memory import memory
from bagnoise.fit.misses import hit_correlation, lasting_misses
from bagnoise.steps.correlated import as_uniforms, correlated_normals

CONES, SHOTS, STEP_NS = 40, 300, 100_000_000
WHO = np.tile(np.arange(CONES), SHOTS)
SHOT = np.repeat(np.arange(SHOTS), CONES)
TIME_S = SHOT * STEP_NS / 1e9
ALPHA = 1e-6
WIDE = stats.t.isf(ALPHA / 2, 11) / stats.t.isf(0.025, 11)


def slow(correlation_s: float, key: str, who: np.ndarray | None = None) -> np.ndarray:
    ids = np.arange(CONES) if who is None else who
    parts = [
        correlated_normals((key,), ids, 10**18 + n * STEP_NS, correlation_s, 2)
        for n in range(SHOTS)
    ]
    return np.concatenate([np.broadcast_to(part, (CONES, 2)) for part in parts])


@pytest.mark.parametrize("per", ["cone", "sensor"])
def test_drift_is_found(per: str) -> None:
    random = np.random.default_rng(3)
    lasting = slow(0.6, "a", None if per == "cone" else np.zeros(1, np.int64))
    error = 0.08 * lasting + 0.06 * random.standard_normal(lasting.shape)
    found = memory(WHO, SHOT, TIME_S, error, np.full(error.shape, 0.1))
    assert found.found
    assert found.per == per
    assert found.share is not None
    assert found.correlation_s is not None
    assert abs(found.share.value - 0.64) <= WIDE * found.share.half_width
    assert abs(found.correlation_s.value - 0.6) <= WIDE * found.correlation_s.half_width
    if per == "cone":
        assert abs(found.correlation_s.value - 1.2) > WIDE * found.correlation_s.half_width
        assert np.allclose(found.std_m, 0.08, rtol=0.1)


def test_white_noise_has_no_memory() -> None:
    error = np.random.default_rng(4).standard_normal((CONES * SHOTS, 2))
    found = memory(WHO, SHOT, TIME_S, error, np.ones(error.shape))
    assert not found.found
    assert found.share is not None
    assert found.share.high < 0.05


def test_correlation_of_hits_is_that_of_a_bivariate_normal() -> None:
    for p, rho in ((0.5, 0.3), (0.8, 0.9), (0.95, 0.5)):
        z = stats.norm.ppf(p)
        joint = stats.multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([z, z])
        wanted = (joint - p * p) / (p * (1 - p))
        assert hit_correlation(p, np.array([rho]))[0] == pytest.approx(wanted, abs=1e-5)


def test_lasting_misses() -> None:
    hit = as_uniforms(slow(0.5, "m")[:, 0]) < 0.8
    chance = np.full(len(hit), 0.8)
    found = lasting_misses(WHO, SHOT, TIME_S, hit, chance)
    assert found.correlation_s is not None
    assert abs(found.correlation_s.value - 0.5) <= WIDE * found.correlation_s.half_width
    assert found.inflation > 2
    fresh = np.random.default_rng(5).random(len(hit)) < 0.8
    assert lasting_misses(WHO, SHOT, TIME_S, fresh, chance).correlation_s is None


def test_lags_need_pairs() -> None:
    few = slice(0, CONES)
    assert lag_sums(WHO[few], SHOT[few], TIME_S[few], np.ones((CONES, 1))) is None
