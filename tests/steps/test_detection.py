"""Misses and doubles: how often, how long, and for whom."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cone_runs import at_range, cones_at, run, seen
from scipy import stats
from statistics_checks import are_uncorrelated, is_normal, share_is

from bagnoise.messages.payload import ConeClass
from bagnoise.steps.detection import Detection
from bagnoise.steps.shuffle import Duplicates, Shuffle

TABLE = {"table": {"up_to_m": [3, 6, 9], "values": [0.333, 0.94, 0.6], "beyond": 0}}


@pytest.mark.parametrize(("range_m", "chance"), [(2.5, 0.333), (6.0, 0.94), (8.0, 0.6)])
def test_share_by_range(range_m: float, chance: float) -> None:
    left = seen(Detection.model_validate({"probability": TABLE}), at_range(range_m, 40), 500)
    assert share_is(int(left.sum()), left.size, chance)
    assert not share_is(int(left.sum()), left.size, chance - 0.03)
    assert are_uncorrelated(left[1:], left[:-1])
    assert are_uncorrelated(left[:, 1:], left[:, :-1])


def test_beyond_the_table_nothing_is_seen() -> None:
    assert not seen(Detection.model_validate({"probability": TABLE}), at_range(9.5, 9), 5).any()


def test_by_class() -> None:
    colors = np.array([ConeClass.BLUE, ConeClass.YELLOW] * 20, np.int8)
    cones = replace(at_range(5, 40), color=colors)
    step = Detection.model_validate({"probability": 0.9, "by_class": {"yellow": 0.5}})
    left = seen(step, cones, 500)
    assert share_is(int(left[:, ::2].sum()), 10_000, 0.9)
    assert share_is(int(left[:, 1::2].sum()), 10_000, 0.45)


def test_sticky_misses_are_as_many_but_last() -> None:
    """1500 independent cones at each of three instants; runs within one cone are long."""
    ids = np.arange(1500)
    cones = cones_at(np.tile((5.0, 0, 0), (1500, 1)), ids=ids)
    step = Detection.model_validate({"probability": 0.8, "correlation_s": 1.0})
    apart = seen(step, cones, 3, period_ns=7_300_000_000)
    for left in apart:
        assert share_is(int(left.sum()), left.size, 0.8)
        assert not share_is(int(left.sum()), left.size, 0.72)
    assert are_uncorrelated(apart[0], apart[1])
    near = seen(step, cones, 2)
    both = int((~near[0] & ~near[1]).sum())
    rho = np.exp(-0.01)
    q = stats.norm.ppf(0.2)
    joint = stats.multivariate_normal(mean=[0, 0], cov=[[1, rho], [rho, 1]]).cdf([q, q])
    assert share_is(both, 1500, float(joint))
    assert not share_is(both, 1500, 0.2 * 0.2)


def test_bursts_lose_everything_for_a_share_of_the_time() -> None:
    step = Detection.model_validate({"burst_share": 0.3, "burst_s": 0.2})
    left = seen(step, at_range(5, 3), 4000, period_ns=1_000_000_000)
    assert (left.all(axis=1) | ~left.any(axis=1)).all()
    assert share_is(int(left[:, 0].sum()), 4000, 0.7)
    ghost = replace(cones_at([(5, 0, 0)]), index=np.array([-1], np.int32))
    assert any(len(made) == 0 for made in run(step, ghost, 100, period_ns=1_000_000_000))


def test_a_filter_before_moves_no_draw() -> None:
    cones = at_range(5, 40)
    step = Detection.model_validate({"probability": 0.5})
    whole = seen(step, cones, 20)
    some = seen(step, cones.take(np.array([3, 17, 21])), 20)
    assert np.array_equal(whole[:, [3, 17, 21]], some[:, [3, 17, 21]])


def test_false_cones_are_not_missed() -> None:
    ghost = replace(cones_at([(5, 0, 0)]), index=np.array([-1], np.int32))
    assert len(next(run(Detection.model_validate({"probability": 0.0}), ghost, 1))) == 1


def test_duplicates_lie_beside_and_share_the_index() -> None:
    step = Duplicates.model_validate({"probability": 0.25, "std_m": 0.3})
    cones = at_range(5, 40)
    extra = np.concatenate(
        [made.xyz[40:] - cones.xyz[made.index[40:]] for made in run(step, cones, 500)]
    )
    assert share_is(len(extra), 20_000, 0.25)
    assert is_normal(extra[:, 0], 0, 0.3)
    assert is_normal(extra[:, 1], 0, 0.3)
    assert are_uncorrelated(extra[:, 0], extra[:, 1])
    assert not extra[:, 2].any()


def test_shuffle_tells_nothing_of_the_row() -> None:
    """Chi-square over the place that row 0 of 5 takes, 4 degrees of freedom."""
    places = [int((m.index == 0).argmax()) for m in run(Shuffle(), at_range(5, 5), 3000)]
    counts = np.bincount(places, minlength=5)
    assert stats.chisquare(counts).pvalue > 1e-6
    assert stats.chisquare(counts + np.array([150, 0, 0, 0, -150])).pvalue < 1e-6
