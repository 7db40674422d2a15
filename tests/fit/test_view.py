"""Limits of a view, and cuts of what was measured."""

from __future__ import annotations

import numpy as np
import pytest

from bagnoise.fit.edges import find_limits
from bagnoise.fit.position import range_bins
from bagnoise.fit.strays import View


def looks(p: float, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    axes = {"range_m": 40 * random.random(8000), "horizontal_deg": 360 * random.random(8000)}
    inside = (axes["range_m"] <= 25) & (axes["range_m"] >= 2) & (axes["horizontal_deg"] <= 120)
    return axes, inside, inside & (random.random(8000) < p)


@pytest.mark.parametrize("p", [1.0, 0.7])
def test_limits_are_found_between_last_hit_and_misses(p: float) -> None:
    covered = 0
    for seed in range(40):
        axes, inside, hit = looks(p, seed)
        limits, found = find_limits(axes, ("range_m",), hit, 1e-3)
        ends = {(limit.axis, limit.upper): limit.estimate for limit in limits}
        assert set(ends) == {("range_m", True), ("range_m", False), ("horizontal_deg", True)}
        wanted = {("range_m", True): 25, ("range_m", False): 2, ("horizontal_deg", True): 120}
        covered += sum(ends[key].low <= wanted[key] <= ends[key].high for key in wanted)
        assert (found != inside).mean() < 0.01
    assert covered >= 93  # of 120, 95 % covered, binomial at alpha = 1e-6


def test_no_limit_where_nothing_ends() -> None:
    random = np.random.default_rng(9)
    axes = {"range_m": 40 * random.random(3000)}
    hit = random.random(3000) < np.exp(-axes["range_m"] / 40)  # thinner, but never none
    limits, inside = find_limits(axes, (), hit, 1e-3)
    assert not limits
    assert inside.all()


def test_points_are_even_over_the_area() -> None:
    view = View(2.0, 20.0, 90.0)
    points = view.points(4000)
    assert view.contains(points).all()
    near = np.hypot(*points.T) <= 10
    assert near.mean() == pytest.approx((100 - 4) / (400 - 4), abs=0.002)


def test_thin_bins_join() -> None:
    range_m = np.concatenate([np.full(100, 1.0), np.full(10, 4.0), np.full(100, 7.0), [9.0]])
    assert range_bins(range_m, [2.5, 5.0, 7.5, 10.0], 60).tolist() == [2.5, 10.0]
