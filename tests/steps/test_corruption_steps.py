"""The steps that corrupt clouds as benchmarks do: what each does to a message, by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statistics_checks import ALPHA, share_is
from test_cloud_steps import CLOUDS, STAMP_NS, cloud, moment

from bagnoise.errors import MessageError
from bagnoise.geometry import matrix_from_rpy_deg, transform
from bagnoise.messages.cloud import Cloud
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.point_fields import PointField, point_dtype
from bagnoise.steps.base import CloudStep, Moment, Tally
from bagnoise.steps.cloud_losses import BeamMissing, Cutout, IncompleteEcho
from bagnoise.steps.context import NoContext
from bagnoise.steps.interference import Crosstalk, Sun
from bagnoise.steps.motion_blur import MotionBlur
from bagnoise.steps.registry import STEPS

MANY = 48_000
LOSING: list[CloudStep] = [
    Sun(within_deg=180.0, falloff="none", lost_probability=0.4),
    IncompleteEcho(probability=0.4, faint_below=300.0),
    Cutout(patches=2, radius_deg=30.0),
]
MOVING: list[CloudStep] = [
    Crosstalk(fraction=0.4),
    Crosstalk(fraction=0.4, distribution="normal", intensity=(3.0, 4.0)),
    Sun(within_deg=180.0, falloff="none", noise_probability=0.4),
    MotionBlur(jitter_std_m=(0.1, 0.2, 0.3), shift_std_m=0.1, turn_std_deg=1.0, parts=7),
]


def with_field(before: Cloud, name: str, datatype: int, values: Any) -> Cloud:
    """Add a field after the others."""
    step = before.points.dtype.itemsize
    fields = (*before.fields, PointField(name, step, datatype, 1))
    dtype = point_dtype(fields, step + 8)
    points = np.zeros(len(before), dtype)
    for field in before.fields:
        points[field.name] = before.points[field.name]
    points[name] = values
    return before.with_points(points, fields, before.height, before.width)


@pytest.mark.parametrize("step", [*LOSING[:2], *MOVING], ids=lambda step: step.name)
def test_a_filter_before_moves_no_draw(step: CloudStep) -> None:
    before = CLOUDS["many"]
    rows = np.flatnonzero(np.arange(240) % 3 > 0)
    whole = step.on_cloud(replace(before, source_rows=np.arange(240), source_count=240), moment())
    filtered = step.on_cloud(before.take(rows), moment())
    assert whole is not None
    assert filtered is not None
    assert whole.source_rows is not None
    assert filtered.source_rows is not None
    both = np.isin(whole.source_rows, rows)
    assert whole.source_rows[both].tolist() == filtered.source_rows.tolist()
    assert whole.points[both].tobytes() == filtered.points.tobytes()


@pytest.mark.parametrize("step", [*LOSING, BeamMissing(count=2)], ids=lambda step: step.name)
def test_an_organised_cloud_keeps_its_places(step: CloudStep) -> None:
    before = CLOUDS["organised"]
    after = step.on_cloud(before, moment())
    assert after is not None
    assert (after.height, after.width) == (8, 30)
    lost = hits(before) & ~hits(after)
    assert 0 < lost.sum() < hits(before).sum()
    assert np.isnan(after.xyz()[lost]).all()
    for name in ("ring", "intensity", "mystery", "rgb"):
        assert after.points[name].tobytes() == before.points[name].tobytes()
    assert after.points[~lost].tobytes() == before.points[~lost].tobytes()


@pytest.mark.parametrize("step", MOVING, ids=lambda step: step.name)
def test_nothing_but_positions_and_asked_intensities_changes(step: CloudStep) -> None:
    before = CLOUDS["organised"]
    after = step.on_cloud(before, moment())
    assert after is not None
    assert hits(after).tolist() == hits(before).tolist()
    assert after.points[~hits(before)].tobytes() == before.points[~hits(before)].tobytes()
    changed = after.points["intensity"] != before.points["intensity"]
    if isinstance(step, Crosstalk) and step.intensity is not None:
        moved = (after.xyz() != before.xyz()).any(axis=1) & hits(before)
        assert changed.tolist() == moved.tolist()
        assert ((after.points["intensity"][changed] - 3.5).__abs__() <= 0.5).all()
    else:
        assert not changed.any()


def test_crosstalk_counts_from_the_lidar() -> None:
    origin = (1.2, -0.3, 0.8)
    step = Crosstalk(fraction=1.0, sensor_xyz_m=origin, limits_m=(2.0, 60.0))
    before = CLOUDS["many"]
    after = step.on_cloud(before, moment())
    p, q = (np.asarray(c.xyz(), float) - origin for c in (before, after))
    length = np.linalg.norm(q, axis=1)
    assert (
        np.abs(np.cross(p / np.linalg.norm(p, axis=1)[:, None], q / length[:, None])).max() < 1e-5
    )
    assert length.min() >= 2.0 - 1e-4
    assert length.max() <= 60.0 + 1e-4


def test_the_sun_takes_what_looks_at_it() -> None:
    before = cloud(MANY)
    step = Sun(azimuth_deg=90.0, elevation_deg=0.0, within_deg=40.0, lost_probability=0.8)
    after = step.on_cloud(replace(before, height=8, width=MANY // 8), moment())
    xyz = before.xyz().astype(float)
    angle = np.degrees(np.arccos(xyz[:, 1] / np.linalg.norm(xyz, axis=1)))
    lost = ~hits(after)
    assert not lost[angle > 40.01].any()
    chance = 0.8 * (1 - angle / 40)
    for low, high in ((5, 10), (20, 25)):
        ring = (angle > low) & (angle < high)
        expected = float(chance[ring].mean())
        # of different chances: a little narrower than the binomial of their mean
        assert share_is(int(lost[ring].sum()), int(ring.sum()), expected)
        assert not share_is(int(lost[ring].sum()), int(ring.sum()), expected - 0.15)


class Turned(NoContext):
    def transform(self, target: str, source: str, t_ns: int) -> Any:
        assert (target, source, t_ns) == ("velodyne", "map", STAMP_NS)
        return transform(matrix_from_rpy_deg((0, 0, 90)), (5, 5, 5))


def test_the_sun_may_stand_in_another_frame() -> None:
    before = CLOUDS["organised"]
    options: dict[str, Any] = {"elevation_deg": 0.0, "within_deg": 60.0, "lost_probability": 1.0}
    inside = Moment((0, "s", "step", 7, 0), STAMP_NS, context=Turned())
    in_map = Sun(azimuth_deg=0.0, sun_frame="map", **options)
    assert in_map.needs().tf
    here = Sun(azimuth_deg=90.0, **options).on_cloud(before, inside)
    assert in_map.on_cloud(before, inside).points.tobytes() == here.points.tobytes()
    assert here.points.tobytes() != before.points.tobytes()


def test_motion_takes_the_points_own_times() -> None:
    time_s = np.linspace(-0.1, 0.0, 240)
    before = with_field(CLOUDS["many"], "time", 7, time_s)
    after = MotionBlur(velocity_m_s=(10.0, 0.0, 0.0)).on_cloud(before, moment())
    shift = after.points["x"].astype(float) - before.points["x"]
    assert shift == pytest.approx(-10.0 * time_s, abs=1e-5)
    assert after.points["time"].tobytes() == before.points["time"].tobytes()
    turned = MotionBlur(yaw_rate_deg_s=90.0).on_cloud(before, moment())
    x, y = before.points["x"][0], before.points["y"][0]
    # at -0.1 s the lidar was turned by -9 deg, so it saw the point 9 deg further left
    angle = np.arctan2(turned.points["y"][0], turned.points["x"][0]) - np.arctan2(y, x)
    assert np.degrees(angle) % 360 == pytest.approx(9.0, abs=1e-3)


def test_motion_without_times_says_what_is_missing() -> None:
    with pytest.raises(MessageError, match=r"time of each point.*'?x, y, z, intensity"):
        MotionBlur(velocity_m_s=(1.0, 0.0, 0.0)).on_cloud(CLOUDS["many"], moment())


def test_poses_are_drawn_anew_in_each_cloud() -> None:
    before = CLOUDS["many"]
    step = MotionBlur(shift_std_m=0.3)
    shifts = []
    for n in range(400):
        moved = step.on_cloud(before, moment(n)).xyz().astype(float) - before.xyz()
        assert np.ptp(moved, axis=0).max() < 1e-5
        shifts.append(moved[0])
    assert stats.kstest(np.ravel(shifts), stats.norm(0, 0.3).cdf).pvalue > ALPHA
    assert stats.kstest(np.ravel(shifts), stats.norm(0, 0.4).cdf).pvalue < ALPHA


def test_dark_objects_are_what_a_label_says() -> None:
    label = np.arange(240) % 4
    labelled = with_field(CLOUDS["many"], "instance", 4, label)
    gone = IncompleteEcho(probability=1.0).on_cloud(labelled, moment())
    assert set(gone.points["instance"].tolist()) == {0}
    some = IncompleteEcho(probability=1.0, values=(2,)).on_cloud(labelled, moment())
    assert set(some.points["instance"].tolist()) == {0, 1, 3}
    named = IncompleteEcho(probability=1.0, field="ring", values=(0, 7))
    assert set(named.on_cloud(labelled, moment()).points["ring"].tolist()) == set(range(1, 7))
    with pytest.raises(MessageError, match="'colour'"):
        IncompleteEcho(probability=1.0, field="colour").on_cloud(labelled, moment())


def test_dark_objects_without_a_label_are_boxes_or_faint_points() -> None:
    before = CLOUDS["many"]
    boxed = IncompleteEcho(probability=1.0, boxes=((0, 0, -9, 99, 99, 9),)).on_cloud(
        before, moment()
    )
    inside = (before.points["x"] > 0) & (before.points["y"] > 0)
    assert len(boxed) == 240 - inside.sum()
    both = IncompleteEcho(
        probability=1.0, boxes=((0, 0, -9, 99, 99, 9),), faint_below=100.0
    ).on_cloud(before, moment())
    assert len(both) == 240 - (inside & (before.points["intensity"] < 100)).sum()
    tally = Tally()
    faint = IncompleteEcho(probability=1.0).on_cloud(
        before, Moment((0, "s", "step", 7, 0), STAMP_NS, tally)
    )
    assert faint.points["intensity"].min() >= 10
    assert len(faint) < 240
    assert "no field that labels objects" in tally.warnings[0]
    assert tally["returns lost"] == 240 - len(faint)


def test_incomplete_echo_loses_its_share() -> None:
    before = cloud(MANY)
    after = IncompleteEcho(probability=0.75, faint_below=1e9).on_cloud(before, moment())
    assert share_is(MANY - len(after), MANY, 0.75)
    assert not share_is(MANY - len(after), MANY, 0.77)


@pytest.mark.parametrize(
    ("options", "left"),
    [({"count": 3}, 5), ({"keep": 3}, 3), ({"share": 0.75}, 2), ({"keep": 0}, 0)],
)
def test_exactly_as_many_beams_go_as_said(options: dict[str, Any], left: int) -> None:
    step = BeamMissing.model_validate(options)
    rings = [set(step.on_cloud(CLOUDS["many"], moment(n)).points["ring"].tolist()) for n in (1, 2)]
    assert len(rings[0]) == left
    assert rings[0] == rings[1]  # of the stream, not of the message
    other = Moment((1, "s", "step", 1, 0), STAMP_NS)
    seeds = {
        tuple(sorted(set(step.on_cloud(CLOUDS["many"], other).points["ring"].tolist()))),
        tuple(sorted(rings[0])),
    }
    assert len(seeds) == 2 or left == 0


def test_a_heavier_severity_loses_more_of_the_same_beams() -> None:
    left = [
        set(BeamMissing(count=n).on_cloud(CLOUDS["many"], moment()).points["ring"].tolist())
        for n in (2, 4, 6)
    ]
    assert left[0] > left[1] > left[2]


def test_more_beams_than_there_are_is_told() -> None:
    tally = Tally()
    asked = Moment((0, "s", "step", 7, 0), STAMP_NS, tally)
    assert len(BeamMissing(count=9).on_cloud(CLOUDS["many"], asked)) == 0
    assert len(BeamMissing(keep=9).on_cloud(CLOUDS["many"], asked)) == 240
    assert [w.split(" is ")[0] for w in tally.warnings] == [
        "beam_missing: count 9",
        "beam_missing: keep 9",
    ]


def test_cutout_of_a_cloud_loses_its_patches() -> None:
    before = CLOUDS["many"]
    after = Cutout(patches=5, nearest_share=0.1).on_cloud(before, moment())
    assert len(after) == 120
    assert len(Cutout(patches=5).on_cloud(before, moment())) <= 235  # 3 deg, the middles at least
    assert len(Cutout(patches=200, radius_m=30.0).on_cloud(before, moment())) == 0


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("crosstalk", {"std_m": 2.0}, "std_m is of distribution: normal"),
        ("crosstalk", {"limits_m": [5, 5]}, "limits_m is [5.0, 5.0]"),
        ("crosstalk", {"limits_m": [0, 5]}, "must start above 0"),
        ("crosstalk", {"intensity": [5, 1]}, "intensity must start at 0"),
        ("sun", {"sensor_frame": "a", "sensor_xyz_m": [1, 0, 0]}, "not both"),
        ("motion_blur", {"jitter_std_m": [0, -1, 0]}, "none may be below 0"),
        ("motion_blur", {"parts": 4}, "parts needs shift_std_m or turn_std_deg"),
        ("incomplete_echo", {"boxes": [[0, 0, 0, 1, 0, 1]]}, "boxes[0] is"),
        ("incomplete_echo", {"boxes": []}, "boxes is empty"),
        ("incomplete_echo", {"values": []}, "values is empty"),
        ("beam_missing", {"count": 1, "keep": 1}, "only one of count, keep and share"),
        ("beam_missing", {"keep": 20, "beams": 16}, "keep 20 is more than beams 16"),
        ("cutout", {"radius_m": 1, "radius_deg": 1}, "only one of radius_deg"),
    ],
)
def test_impossible_options_are_found(name: str, options: dict[str, Any], said: str) -> None:
    (found,) = STEPS[name].model_validate(options).check()
    assert said in found
    assert STEPS[name]().check() == []


@pytest.mark.parametrize("step", [*LOSING, *MOVING, BeamMissing(keep=2)], ids=lambda s: s.name)
def test_options_written_out_are_the_same_options(step: CloudStep) -> None:
    """So that the recipe that a bag records, with every default, is a right one."""
    again = type(step).model_validate(step.model_dump())
    assert again == step
    assert again.check() == []
