from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import ALPHA, mean_is

from bagnoise.errors import UsageError
from bagnoise.lidar.cutout import PatchSize, in_patches

ORIGIN = np.array([0.5, 0.0, 1.0])


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def directions(count: int) -> NDArray[np.float64]:
    arms = rng(1).standard_normal((count, 3))
    return np.asarray(arms / np.linalg.norm(arms, axis=1)[:, None])


def test_a_patch_is_a_cone_about_the_beam() -> None:
    unit = directions(20_000)
    points = ORIGIN + unit * rng(2).uniform(2, 90, 20_000)[:, None]
    lost = in_patches(points, ORIGIN, 1, PatchSize(radius_deg=10.0), rng())
    middle = unit[int(np.argmin(rng().random(20_000)))]
    angle = np.degrees(np.arccos(np.clip(unit @ middle, -1, 1)))
    assert lost.tolist() == (angle <= 10.0).tolist()


def test_a_patch_is_a_ball() -> None:
    points = rng(2).uniform(-20, 20, (5000, 3))
    lost = in_patches(points, ORIGIN, 2, PatchSize(radius_m=4.0), rng())
    middles = points[np.argsort(rng().random(5000))[:2]]
    apart = np.linalg.norm(points[:, None] - middles, axis=2).min(axis=1)
    assert lost.tolist() == (apart <= 4.0).tolist()


@pytest.mark.parametrize(("patches", "share"), [(1, 0.02), (5, 0.02), (10, 0.02), (60, 0.02)])
def test_patches_of_a_share_take_from_what_is_left(patches: int, share: float) -> None:
    lost = in_patches(
        rng(2).uniform(-20, 20, (5000, 3)), ORIGIN, patches, PatchSize(None, None, share), rng()
    )
    assert lost.sum() == min(5000, patches * 100)


def test_the_lost_share_of_the_sphere_is_that_of_its_caps() -> None:
    points = ORIGIN + 10 * directions(4000)
    caps = (1 - np.cos(np.radians(10.0))) / 2
    shares = [
        in_patches(points, ORIGIN, 4, PatchSize(radius_deg=10.0), rng(seed)).mean()
        for seed in range(1500)
    ]
    std = float(np.std(shares))
    # the points are not exactly evenly spread: what four caps about them hold, on average
    nearby = (directions(4000) @ directions(4000).T >= np.cos(np.radians(10.0))).mean()
    assert abs(nearby - caps) < 0.1 * caps
    expected = 1 - (1 - nearby) ** 4
    assert mean_is(shares, expected, std)
    assert not mean_is(shares, 1.1 * expected, std)


def test_every_return_is_a_middle_as_often_and_misses_never() -> None:
    points = ORIGIN + 10 * directions(20)
    points[:4] = np.nan
    counts = np.zeros(20)
    for seed in range(4000):
        counts += in_patches(points, ORIGIN, 2, PatchSize(radius_m=1e-6), rng(seed))
    assert not counts[:4].any()
    # two different of 16: marginal counts are binomial(4000, 1/8); Bonferroni over 16
    for count in counts[4:]:
        assert stats.binomtest(int(count), 4000, 1 / 8).pvalue > ALPHA / 16
    assert stats.binomtest(int(counts[5]), 4000, 1 / 5).pvalue < ALPHA


def test_impossible_sizes_and_too_many_patches() -> None:
    points = ORIGIN + 10 * directions(5)
    assert in_patches(points, ORIGIN, 50, PatchSize(radius_m=0.1), rng()).all()
    assert not in_patches(points, ORIGIN, 0, PatchSize(radius_m=0.1), rng()).any()
    for size in (PatchSize(), PatchSize(1.0, 1.0), PatchSize(radius_m=0.0)):
        with pytest.raises(UsageError, match="exactly one size"):
            in_patches(points, ORIGIN, 1, size, rng())


@pytest.mark.parametrize("count", [1, 300, 4000, 19_999, 20_000])
@pytest.mark.parametrize("ordered", [False, True])
def test_the_nearest_are_exactly_the_nearest(count: int, ordered: bool) -> None:
    points = ORIGIN + directions(20_000) * rng(2).uniform(2, 90, 20_000)[:, None]
    if ordered:  # a bound from some of the rows is then a bad one
        points = points[np.argsort(np.linalg.norm(points, axis=1))]
    lost = in_patches(points, ORIGIN, 1, PatchSize(nearest_share=count / 20_000), rng())
    apart = np.linalg.norm(points - points[int(np.argmin(rng().random(20_000)))], axis=1)
    assert lost.sum() == count
    assert set(np.flatnonzero(lost)) == set(np.argsort(apart)[:count])
