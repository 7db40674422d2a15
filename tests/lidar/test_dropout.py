from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statistics_checks import ALPHA, share_is

from bagnoise.errors import UsageError
from bagnoise.lidar.dropout import (
    burst_dropout,
    intensity_dropout,
    lost_rings,
    random_dropout,
    range_dropout,
    rings_every,
)

COUNT = 50_000


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_random_dropout_loses_its_share() -> None:
    lost = int((~random_dropout(COUNT, 0.1, rng())).sum())
    assert share_is(lost, COUNT, 0.1)
    assert not share_is(lost, COUNT, 0.11)
    assert random_dropout(COUNT, 0, rng()).all()
    assert not random_dropout(COUNT, 1, rng()).any()


@pytest.mark.parametrize(
    ("range_m", "chance"), [(10, 0.0), (30, 0.0), (50, 0.2), (70, 0.4), (90, 0.4)]
)
def test_range_dropout_is_a_ramp(range_m: float, chance: float) -> None:
    lost = int((~range_dropout(np.full(COUNT, range_m), 30, 70, 0.4, rng())).sum())
    assert share_is(lost, COUNT, chance)
    assert not share_is(lost, COUNT, chance + 0.05)


@pytest.mark.parametrize(("intensity", "chance"), [(0, 0.4), (4, 0.2), (8, 0.0), (200, 0.0)])
def test_faint_returns_are_lost(intensity: float, chance: float) -> None:
    values = np.full(COUNT, intensity, np.uint8)
    lost = int((~intensity_dropout(values, 8, 0.4, rng())).sum())
    assert share_is(lost, COUNT, chance)
    assert not share_is(lost, COUNT, chance + 0.05)


def test_rings_are_kept_by_number_not_by_order() -> None:
    rings = rng().permutation(np.repeat(np.arange(32), 20))
    even = rings_every(rings, 2)
    assert sorted(set(rings[even].tolist())) == list(range(0, 32, 2))
    assert even.sum() == 320
    assert sorted(set(rings[rings_every(rings, 4, 3)].tolist())) == list(range(3, 32, 4))
    assert not rings_every(np.array([-1]), 1)[0]


def test_lost_rings_are_different_and_each_as_often() -> None:
    draws = [lost_rings(16, 5, rng(seed)) for seed in range(2000)]
    assert all(len(set(drawn.tolist())) == 5 for drawn in draws)
    counts = np.bincount(np.concatenate(draws), minlength=16)
    # marginal counts are binomial(2000, 5/16); Bonferroni over 16 rings
    for count in counts:
        assert stats.binomtest(int(count), 2000, 5 / 16).pvalue > ALPHA / 16
    assert len(lost_rings(16, 0, rng())) == 0
    with pytest.raises(UsageError, match="17 rings"):
        lost_rings(16, 17, rng())


def test_bursts_lose_whole_sectors_of_the_stated_share() -> None:
    azimuth = np.linspace(-np.pi, np.pi, 7200, endpoint=False)
    lost = []
    for seed in range(3000):
        kept = burst_dropout(azimuth, 1.5, 4.0, rng(seed))
        lost.append(np.mean(~kept))
    # coverage by a Poisson number of exponential arcs: 1 - exp(-mean * width / 360), nearly
    share = 1 - np.exp(-1.5 * 4 / 360)
    z = (np.mean(lost) - share) / (np.std(lost) / np.sqrt(len(lost)))
    assert abs(z) < stats.norm.isf(ALPHA / 2)
    wrong = (np.mean(lost) - 1.2 * share) / (np.std(lost) / np.sqrt(len(lost)))
    assert abs(wrong) > stats.norm.isf(ALPHA / 2)
    some = ~burst_dropout(azimuth, 4, 20, rng(3))
    edges = np.count_nonzero(some != np.roll(some, 1))
    assert 0 < edges <= 8


def test_every_row_draws_once() -> None:
    one = range_dropout(np.full(10, 60.0), 30, 70, 0.5, rng())
    holed = np.full(10, 60.0)
    holed[:5] = np.nan
    two = range_dropout(holed, 30, 70, 0.5, rng())
    assert one[5:].tolist() == two[5:].tolist()
    assert two[:5].all()


@pytest.mark.parametrize("probability", [-0.1, 1.1, float("nan")])
def test_impossible_options(probability: float) -> None:
    with pytest.raises(UsageError, match="probability"):
        random_dropout(3, probability, rng())
    with pytest.raises(UsageError, match="start at 0"):
        range_dropout(np.ones(3), 5, 5, 0.1, rng())
    with pytest.raises(UsageError, match="intensity limit"):
        intensity_dropout(np.ones(3), 0, 0.1, rng())
    with pytest.raises(UsageError, match="every"):
        rings_every(np.ones(3), 2, 2)
    with pytest.raises(UsageError, match="width_deg"):
        burst_dropout(np.ones(3), 1, 0, rng())
    with pytest.raises(UsageError, match="mean_bursts"):
        burst_dropout(np.ones(3), -1, 1, rng())
