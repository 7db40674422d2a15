"""Cones that are not there: how many, where, of which color, and for how long."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cone_runs import EPOCH, at_range, cones_at, run
from numpy.typing import NDArray
from scipy import stats
from statistics_checks import is_normal, share_is

from bagnoise.errors import ContextError
from bagnoise.geometry import matrix_from_rpy_deg, transform
from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.steps.context import NoContext
from bagnoise.steps.false_positives import FalsePositives
from bagnoise.steps.sensor import Sensor


def false(**options: Any) -> FalsePositives:
    return FalsePositives.model_validate(options)


def ghosts(step: FalsePositives, cones: Cones, messages: int, **run_options: Any) -> list[Cones]:
    return [m.take(m.index < 0) for m in run(step, cones, messages, **run_options)]


def test_counts_per_frame_are_poisson() -> None:
    """Chi-square over 0 to 5 and more; a mean 5 % off is seen with 20 000 messages."""
    step = false(per_frame=1.5)
    counts = np.array([len(m) for m in ghosts(step, at_range(5, 1), 20_000)])
    found = np.bincount(np.minimum(counts, 6), minlength=7)
    for mean, fits in ((1.5, True), (1.575, False)):
        chances = stats.poisson.pmf(np.arange(6), mean)
        expected = np.append(chances, 1 - chances.sum()) * len(counts)
        assert bool(stats.chisquare(found, expected).pvalue > 1e-6) is fits


def test_they_fill_the_view_evenly_by_area() -> None:
    step = false(per_frame=20, min_range_m=2, max_range_m=10, horizontal_deg=90)
    made = [m.xyz for m in ghosts(step, cones_at([(5, 0, 0.25)]), 1000)]
    xyz = np.concatenate(made)
    distance, bearing = np.hypot(*xyz[:, :2].T), np.arctan2(xyz[:, 1], xyz[:, 0])
    uniform = ((xyz**2).sum(axis=1) - 4) / 96
    assert stats.kstest(uniform, "uniform").pvalue > 1e-6
    assert stats.kstest((distance - 2) / 8, "uniform").pvalue < 1e-6  # even in range is seen
    assert stats.kstest(bearing / (np.pi / 2) + 0.5, "uniform").pvalue > 1e-6
    assert (xyz[:, 2] == 0.25).all()


def test_the_view_is_that_of_the_sensor() -> None:
    mount = Sensor(xyz_m=(1.0, 2.0, 0.0), rpy_deg=(0.0, 0.0, 90.0))
    cones = next(run(mount, cones_at([(5, 0, 0)]), 1))
    step = false(per_frame=20, min_range_m=2, max_range_m=3, horizontal_deg=20)
    xyz = np.concatenate([m.xyz for m in ghosts(step, cones, 20)]) - (1, 2, 0)
    assert ((xyz[:, 1] > 1.9) & (np.abs(xyz[:, 0]) < 0.6)).all()


def test_per_cone_at_its_range() -> None:
    table = {"table": {"up_to_m": [6, 10], "values": [0.02, 0.2]}}
    step = false(per_cone=table, place="range", horizontal_deg=110, min_range_m=0, max_range_m=17)
    near, far = (ghosts(step, at_range(r, 40), 500) for r in (5.0, 8.0))
    assert share_is(sum(map(len, near)), 20_000, 0.02)
    assert share_is(sum(map(len, far)), 20_000, 0.2)
    assert not share_is(sum(map(len, far)), 20_000, 0.22)
    xyz = np.concatenate([m.xyz for m in far])
    assert np.allclose(np.linalg.norm(xyz, axis=1), 8)
    bearing = np.arctan2(xyz[:, 1], xyz[:, 0]) / np.deg2rad(110) + 0.5
    assert stats.kstest(bearing, "uniform").pvalue > 1e-6


def test_near_true_cones() -> None:
    step = false(per_cone=0.5, place="near", near_std_m=0.4)
    offset = np.concatenate([m.xyz for m in ghosts(step, cones_at([(9, 2, 0)] * 40), 300)])
    assert is_normal(offset[:, 0], 9, 0.4)
    assert is_normal(offset[:, 1], 2, 0.4)


def test_colors_by_weight_and_further_columns() -> None:
    cones = replace(
        at_range(5, 2),
        ids=np.array([4, 5]),
        probabilities=np.eye(5)[[0, 0]],
        covariance=np.ones((2, 3, 3)),
        extra={"note": np.ones(2, np.float32)},
    )
    step = false(per_frame=20, classes={"blue": 3, "unknown": 1})
    made = ghosts(step, cones, 200)
    colors = np.concatenate([m.color for m in made])
    assert set(colors.tolist()) == {ConeClass.BLUE, ConeClass.UNKNOWN}
    assert share_is(int((colors == ConeClass.BLUE).sum()), len(colors), 0.75)
    one = made[0]
    assert one.ids is not None
    assert one.probabilities is not None
    assert one.covariance is not None
    assert (one.ids == -1).all()
    assert (one.probabilities == np.eye(5)[one.color]).all()
    assert not one.covariance.any()
    assert one.extra["note"].dtype == np.float32


class Driving(NoContext):
    """A car that turns left while it drives 2 m/s, from EPOCH on."""

    def transform(self, *frames_and_stamp: Any) -> NDArray[np.float64]:
        seconds = (frames_and_stamp[-1] - EPOCH) / 1e9
        if seconds < 0:
            msg = "before the recording"
            raise ContextError(msg)
        return transform(matrix_from_rpy_deg((0, 0, 5 * seconds)), (2 * seconds, 1, 0))


def test_ghosts_of_the_map_stand_still_there_and_die() -> None:
    step = false(per_s=2, lifetime_s=1.5, map_frame="map", horizontal_deg=360, max_range_m=30)
    context = Driving()
    seen_for: dict[tuple[float, float], list[int]] = {}
    messages = 400
    for n, made in enumerate(ghosts(step, cones_at([(5, 0, 0)]), messages, context=context)):
        pose = context.transform("map", "car", EPOCH + n * 100_000_000)
        for x, y, _ in made.xyz @ pose[:3, :3].T + pose[:3, 3]:
            seen_for.setdefault((round(x, 6), round(y, 6)), []).append(n)
    runs = [times for times in seen_for.values() if times[-1] < messages - 1]
    assert all(times[-1] - times[0] == len(times) - 1 for times in runs)  # without a gap
    assert {len(times) for times in runs} <= set(range(1, 17))
    assert np.median([len(times) for times in runs]) == 15  # 1.5 s at 10 Hz
    # births in 40 s are Poisson with mean 80
    assert 2 * min(stats.poisson.cdf(len(seen_for), 80), stats.poisson.sf(len(seen_for), 80)) > 1e-6


def test_ghosts_need_the_pose() -> None:
    assert "per_s needs pose_topic" in " ".join(false(per_s=1).check())


@pytest.mark.parametrize("options", [{"per_frame": 0.0}, {"per_cone": 0.0}])
def test_none_is_no_change(options: dict[str, float]) -> None:
    made = next(run(false(**options), at_range(5, 3), 1))
    assert made.index.tolist() == [0, 1, 2]
