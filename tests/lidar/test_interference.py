from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import ALPHA, is_normal, mean_is, share_is, std_is

from bagnoise.errors import UsageError
from bagnoise.lidar.interference import (
    blinded_ranges,
    crosstalk,
    direction_of,
    folded,
    glare,
)

COUNT = 60_000
ORIGIN = np.array([1.0, -0.5, 0.8])
LIMITS = (0.5, 200.0)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def sphere(range_m: float = 50.0, count: int = COUNT) -> NDArray[np.float64]:
    """Make points in all directions at one range from the lidar."""
    arms = rng(2).standard_normal((count, 3))
    return np.asarray(ORIGIN + range_m * arms / np.linalg.norm(arms, axis=1)[:, None])


def ranges(xyz: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(xyz - ORIGIN, axis=1))


def test_folded_ranges_are_reflected_at_both_limits() -> None:
    given = np.array([5.0, 1.0, 10.0, 0.0, -3.0, 11.0, 25.0, 19.0])
    assert folded(given, 1.0, 10.0).tolist() == [5.0, 1.0, 10.0, 2.0, 5.0, 9.0, 7.0, 1.0]
    with pytest.raises(UsageError, match="end later"):
        folded(given, 3.0, 3.0)


@pytest.mark.parametrize("std_m", [3.0, None])
def test_crosstalk_is_of_its_share_and_on_the_beam(std_m: float | None) -> None:
    before = sphere()
    moved = crosstalk(before, ORIGIN, 0.2, LIMITS, rng(), std_m=std_m)
    assert share_is(int(moved.changed.sum()), COUNT, 0.2)
    assert not share_is(int(moved.changed.sum()), COUNT, 0.215)
    assert moved.xyz[~moved.changed].tobytes() == before[~moved.changed].tobytes()
    p, q = (a[moved.changed] - ORIGIN for a in (before, moved.xyz))
    unit = p / np.linalg.norm(p, axis=1)[:, None]
    assert np.abs(np.cross(unit, q)).max() < 1e-9
    assert (np.einsum("ij,ij->i", unit, q) > 0).all()


def test_normal_crosstalk_is_about_the_true_range() -> None:
    moved = crosstalk(sphere(), ORIGIN, 0.5, LIMITS, rng(), std_m=3.0)
    error = ranges(moved.xyz)[moved.changed] - 50.0
    assert std_is(error, 3.0)
    assert mean_is(error, 0.0, 3.0)
    assert is_normal(error, 0.0, 3.0)
    assert not std_is(error, 3.15)
    assert not is_normal(error, 0.2, 3.0)


def test_uniform_crosstalk_has_nothing_to_do_with_the_true_range() -> None:
    uniform = stats.uniform(LIMITS[0], LIMITS[1] - LIMITS[0])
    for range_m in (3.0, 150.0):
        moved = crosstalk(sphere(range_m), ORIGIN, 0.5, LIMITS, rng())
        found = ranges(moved.xyz)[moved.changed]
        assert stats.kstest(found, uniform.cdf).pvalue > ALPHA
        wrong = stats.uniform(LIMITS[0], 0.95 * (LIMITS[1] - LIMITS[0]))
        assert stats.kstest(found, wrong.cdf).pvalue < ALPHA


def test_ranges_near_a_limit_stay_within_and_do_not_crowd_there() -> None:
    moved = crosstalk(sphere(1.0), ORIGIN, 1.0, LIMITS, rng(), std_m=3.0)
    found = ranges(moved.xyz)
    assert found.min() >= 0.5 - 1e-9
    # folded normal: P(r' < 0.6) is the mass of both sides of the limit
    chance = stats.norm(1.0, 3.0).cdf(0.6) - stats.norm(1.0, 3.0).cdf(0.4)
    assert share_is(int((found < 0.6).sum()), COUNT, chance)
    assert not share_is(int((found < 0.6).sum()), COUNT, stats.norm(1.0, 3.0).cdf(0.5))


@pytest.mark.parametrize(
    ("angle_deg", "expected"), [(0.0, 1.0), (5.0, 0.75), (15.0, 0.25), (20.0, 0.0), (90.0, 0.0)]
)
def test_glare_falls_on_a_line_with_the_angle_from_the_sun(
    angle_deg: float, expected: float
) -> None:
    sun = direction_of(30.0, 10.0)
    across = np.cross(sun, (0, 0, 1))
    across /= np.linalg.norm(across)
    angle = np.radians(angle_deg)
    point = ORIGIN + 20 * (np.cos(angle) * sun + np.sin(angle) * across)
    assert glare(point[None], ORIGIN, sun, 20.0) == pytest.approx([expected], abs=1e-6)
    flat = glare(point[None], ORIGIN, sun, 20.5, falls=False)
    assert flat.tolist() == [float(angle_deg <= 20.0)]


def test_the_direction_is_counterclockwise_and_up() -> None:
    assert direction_of(90.0, 0.0) == pytest.approx([0, 1, 0])
    assert direction_of(-90.0, 45.0) == pytest.approx([0, -np.sqrt(0.5), np.sqrt(0.5)])


def test_blinded_ranges_have_their_chance_and_deviation() -> None:
    chance = np.full(COUNT, 0.3)
    chance[: COUNT // 2] = 0
    moved = blinded_ranges(sphere(), ORIGIN, chance, 2.0, LIMITS, rng())
    assert not moved.changed[: COUNT // 2].any()
    assert share_is(int(moved.changed.sum()), COUNT // 2, 0.3)
    assert not share_is(int(moved.changed.sum()), COUNT // 2, 0.32)
    error = ranges(moved.xyz)[moved.changed] - 50.0
    assert std_is(error, 2.0)
    assert is_normal(error, 0.0, 2.0)
    assert not std_is(error, 2.2)


def test_misses_stay_and_do_not_move_other_draws() -> None:
    whole = sphere(count=100)
    holed = whole.copy()
    holed[::3] = np.nan
    holed[1::3] = 0
    one = crosstalk(whole, ORIGIN, 0.5, LIMITS, rng())
    two = crosstalk(holed, ORIGIN, 0.5, LIMITS, rng())
    assert two.xyz[2::3].tobytes() == one.xyz[2::3].tobytes()
    assert np.isnan(two.xyz[::3]).all()
    assert (two.xyz[1::3] == 0).all()
    assert glare(holed, ORIGIN, direction_of(0, 0), 180.0)[1::3].tolist() == [0.0] * 33


def test_impossible_options() -> None:
    with pytest.raises(UsageError, match="fraction is"):
        crosstalk(sphere(count=2), ORIGIN, 1.5, LIMITS, rng())
    with pytest.raises(UsageError, match="within_deg is 0"):
        glare(sphere(count=2), ORIGIN, direction_of(0, 0), 0.0)
