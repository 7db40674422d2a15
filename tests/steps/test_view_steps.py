"""What a sensor sees: views, hidden cones, other frames, by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cone_runs import cones_at, run

from bagnoise.errors import MessageError
from bagnoise.geometry import inverse, matrix_from_rpy_deg, transform
from bagnoise.messages.payload import ConeClass
from bagnoise.steps.context import NoContext
from bagnoise.steps.field_of_view import FieldOfView
from bagnoise.steps.occlusion import Occlusion, hidden_shares
from bagnoise.steps.sensor import Sensor
from bagnoise.steps.view import MountedView


def kept(step: Any, cones: Any) -> list[int]:
    made = next(run(step, cones, 1))
    return list(made.index.tolist())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [0, 1, 2, 3, 4]),
        ({"min_range_m": 5.0}, [0, 3, 4]),
        ({"max_range_m": 5.0}, [0, 1, 2]),
        ({"horizontal_deg": 90.0}, [1, 4]),
        ({"horizontal_deg": 106.3}, [0, 1, 4]),  # 2 atan(4/3) = 106.26
        ({"vertical_deg": 40.0}, [0, 1, 2, 3]),
        ({"min_x_m": 0.0}, [0, 1, 4]),
    ],
)
def test_view_by_each_limit(options: dict[str, Any], expected: list[int]) -> None:
    cones = cones_at([(3, 4, 0), (1, 0, 0), (-1, 0.5, 0), (-9, 0, 0), (8, 0, 4)])
    assert kept(FieldOfView(**options), cones) == expected


def test_a_view_from_a_sensor_aside_and_not_level() -> None:
    # at (0, 0, 2), looking 45 deg down: the ground at (2, 0, 0) is straight ahead, 2.83 m off
    cones = cones_at([(2, 0, 0), (20, 0, 0), (0.2, 0, 0), (2, 3, 0)])
    mounted = next(run(Sensor(xyz_m=(0.0, 0.0, 2.0), rpy_deg=(0.0, 45.0, 0.0)), cones, 1))
    assert kept(FieldOfView(vertical_deg=60.0, horizontal_deg=60.0), mounted) == [0]
    assert kept(FieldOfView(vertical_deg=100.0, horizontal_deg=60.0), mounted) == [0, 1, 2]
    assert kept(FieldOfView(max_range_m=2.83), mounted) == [0, 2]


def test_not_a_number_is_not_seen() -> None:
    assert kept(FieldOfView(), cones_at([(np.nan, 0, 0), (1, 0, 0)])) == [1]


def test_a_cone_right_behind_another_is_hidden() -> None:
    cones = cones_at([(4, 0, 0), (8, 0, 0), (8, 3, 0)])
    low = next(run(Sensor(xyz_m=(0.0, 0.0, 0.2)), cones, 1))
    assert kept(Occlusion(), low) == [0, 2]
    assert kept(Occlusion(max_hidden=1.0), low) == [0, 1, 2]


def test_a_high_sensor_sees_over_cones() -> None:
    """From 2 m up, the near cone's tip is at -22.7 deg, the far one spans -14.0 to -11.8 deg."""
    cones = cones_at([(4, 0, 0), (8, 0, 0)])
    high = next(run(Sensor(xyz_m=(0.0, 0.0, 2.0)), cones, 1))
    assert kept(Occlusion(), high) == [0, 1]


def test_what_is_hidden_is_the_share_of_the_rectangle() -> None:
    """A sensor at half the height: bearings overlap by a part, elevations wholly."""
    xyz = np.array([(4.0, 0, 0), (8.0, 0.3, 0)])
    width, height = np.array([0.2, 0.2]), np.array([0.4, 0.4])
    sensor = transform(np.eye(3), (0, 0, 0.2))
    near_half, far_half = np.arctan(0.1 / 4), np.arctan(0.1 / np.hypot(8, 0.3))
    left = np.arctan2(0.3, 8) - far_half
    wide = (near_half - left) / (2 * far_half)
    assert 0 < wide < 1
    assert hidden_shares(xyz, width, height, sensor) == pytest.approx([0, wide])


def test_lost_cones_hide_and_ghosts_neither_hide_nor_are_hidden() -> None:
    cones = cones_at([(4, 0, 0), (8, 0, 0)])
    low = next(run(Sensor(xyz_m=(0.0, 0.0, 0.2)), cones, 1))
    far = low.take(np.array([1]))
    assert kept(Occlusion(), far) == []
    ghost = replace(low, index=np.array([-1, 1], np.int32))
    assert kept(Occlusion(), ghost) == [-1]


def test_a_big_cone_is_bigger() -> None:
    cones = cones_at([(4, 0, 0), (8, 0, 0)], color=ConeClass.BIG_ORANGE)
    high = next(run(Sensor(xyz_m=(0.0, 0.0, 0.5)), cones, 1))
    shares = hidden_shares(high.xyz, np.array([0.285] * 2), np.array([0.505] * 2), high.sensor)
    small = hidden_shares(high.xyz, np.array([0.228] * 2), np.array([0.325] * 2), high.sensor)
    assert shares[1] > small[1] > 0


def test_a_sensor_moves_nothing_unless_told() -> None:
    cones = cones_at([(3, 4, 0)])
    made = next(run(Sensor(xyz_m=(1.0, 2.0, 3.0), rpy_deg=(10.0, 20.0, 30.0)), cones, 1))
    assert made.xyz is cones.xyz
    assert made.frame_id == "car"


def test_output_in_the_sensors_frame() -> None:
    # sensor at (1, 2, 0.5), turned left by 90 deg: the car's (1, 5, 0.5) is 3 m straight ahead
    cones = cones_at([(1, 5, 0.5)])
    step = Sensor(xyz_m=(1.0, 2.0, 0.5), rpy_deg=(0.0, 0.0, 90.0), output_frame="sensor")
    made = next(run(step, cones, 1))
    assert made.xyz[0] == pytest.approx((3, 0, 0), abs=1e-12)
    assert made.truth is not None
    assert made.truth.xyz[0] == pytest.approx((3, 0, 0), abs=1e-12)
    assert made.sensor == pytest.approx(np.eye(4), abs=1e-12)


def test_a_miscalibrated_sensor_reports_from_where_it_believes_to_be() -> None:
    # really 0.1 m ahead and turned left by 2 deg: what is straight ahead of it is reported 0.1 m
    # too near and, without the turn, straight ahead
    real = transform(matrix_from_rpy_deg((0, 0, 2)), (1.1, 0, 0))
    there = real @ np.array((10, 0, 0, 1.0))
    step = Sensor(xyz_m=(1.0, 0.0, 0.0), error_xyz_m=(0.1, 0.0, 0.0), error_rpy_deg=(0.0, 0.0, 2.0))
    made = next(run(step, cones_at([there[:3]]), 1))
    assert made.xyz[0] == pytest.approx((11, 0, 0), abs=1e-12)


def test_a_drawn_miscalibration_is_the_same_for_the_whole_stream() -> None:
    step = Sensor(error_std_m=0.05, error_std_deg=1.0)
    one, other = (made.xyz[0] for made in run(step, cones_at([(10, 0, 0)]), 2))
    assert one.tolist() == other.tolist() != [10, 0, 0]
    (another,) = (made.xyz[0] for made in run(step, cones_at([(10, 0, 0)]), 1, seed=5))
    assert another.tolist() != one.tolist()


def test_a_mounted_view_by_hand() -> None:
    view = MountedView(xyz_m=(0.0, 0.0, 0.0), rpy_deg=(0.0, 0.0, 180.0), horizontal_deg=90.0)
    mount = view.mounted("car", 0, NoContext())
    behind = np.array([(-3.0, 1, 0), (3, 1, 0)]) @ inverse(mount)[:3, :3].T
    assert view.sees(behind).tolist() == [True, False]


def test_options_that_exclude_each_other() -> None:
    assert Sensor(frame="velodyne", xyz_m=(1.0, 0.0, 0.0)).check()
    assert FieldOfView(min_range_m=5.0, max_range_m=1.0).check()
    assert not Sensor(frame="velodyne").check()


class WithCamera(NoContext):
    """A camera at (0, 0, 1) of the car that looks ahead, its principal point off the centre."""

    def transform(self, *frames_and_stamp: Any) -> Any:
        assert frames_and_stamp[:2] == ("optical", "car")
        car_from_optical = transform([[0, 0, 1], [-1, 0, 0], [0, -1, 0]], (0, 0, 1))
        return inverse(car_from_optical)

    def camera(self, *topic_and_stamp: Any) -> Any:
        assert topic_and_stamp[0] == "/info"
        p = [100.0, 0, 10, 0, 0, 100, 50, 0, 0, 0, 1, 0]
        return SimpleNamespace(
            header=SimpleNamespace(frame_id="optical"),
            width=100,
            height=100,
            k=[0.0] * 9,
            d=[],
            r=np.eye(3).ravel(),
            p=p,
            distortion_model="plumb_bob",
            binning_x=0,
            binning_y=0,
            roi=SimpleNamespace(width=0, height=0, x_offset=0, y_offset=0),
        )


def test_a_cameras_image_cuts_what_is_beside_and_behind() -> None:
    """At 10 m one pixel is 0.1 m; 10 columns are to the left of the axis, 89 to the right."""
    cones = cones_at(
        [(10, 0, 0), (10, 1, 0), (10, 1.2, 0), (10, -8.9, 0), (10, -9.1, 0), (-10, 0, 2)]
    )
    (made,) = run(FieldOfView(camera_topic="/info"), cones, 1, context=WithCamera())
    assert made.index.tolist() == [0, 1, 3]


def test_many_cones_are_compared_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(4)
    xyz = draw.uniform((1, -3, 0), (30, 3, 0.1), (57, 3))
    size = np.full(57, 0.3)
    whole = hidden_shares(xyz, size, size, None)
    assert 0 < (whole > 0).sum() < 57
    monkeypatch.setattr("bagnoise.steps.occlusion._MOST_PAIRS", 5 * 57 + 3)
    assert hidden_shares(xyz, size, size, None).tobytes() == whole.tobytes()


def test_too_many_cones_for_one_message_are_refused() -> None:
    cones = cones_at(np.ones((20_001, 3)))
    with pytest.raises(MessageError, match="20001 cones in a message; occlusion takes at most"):
        kept(Occlusion(), cones)
