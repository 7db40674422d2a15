from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bagnoise.errors import UsageError
from bagnoise.geometry import apply, inverse, matrix_from_rpy_deg, transform
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model
from bagnoise.lidar.sweep import SweepLidar, sub_sweeps

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEAMS = revolution(find_model("VLP-16"), columns=360)
WALL_Y_M = 12.0
SPEED_M_S = 15.0
YAW_DEG_S = 30.0


def world_from_lidar(t_ns: float) -> NDArray[np.float64]:
    t = t_ns / 1e9
    yaw = matrix_from_rpy_deg([2 * np.sin(20 * t), 3 * np.sin(15 * t), YAW_DEG_S * t])
    return transform(yaw, [SPEED_M_S * t, 0, 0])


def truth_m() -> NDArray[np.float64]:
    """Range to the wall of every beam from the pose at its own time, exactly."""
    poses = [world_from_lidar(t) for t in BEAMS.time_ns]
    directions = BEAMS.directions()
    ranges = np.full(len(BEAMS), np.nan)
    for row, (pose, ray) in enumerate(zip(poses, directions, strict=True)):
        away = (pose[:3, :3] @ ray)[1]
        if away > 0.3:
            ranges[row] = (WALL_Y_M - pose[1, 3]) / away
    return ranges


def wall() -> NDArray[np.float64]:
    x, z = np.meshgrid(np.arange(-40, 40, 0.1), np.arange(-12, 12, 0.1))
    return np.stack([x, np.full_like(x, WALL_Y_M), z], axis=-1).reshape(-1, 3)


def errors_m(count: int, truth: NDArray[Any], cloud: NDArray[Any]) -> NDArray[Any]:
    parts = sub_sweeps(BEAMS, count)
    lidar = SweepLidar(parts, 0.35, 4, "plane", (np.radians(0.48), np.radians(0.48)))
    views = [apply(inverse(world_from_lidar(part.middle_ns)), cloud) for part in parts]
    sensed = lidar.sense(views)
    both = sensed.hit & np.isfinite(truth)
    assert both.sum() > 1000
    return np.asarray(np.abs(sensed.range_m - truth)[both])


def test_sub_sweeps_converge_to_the_moving_truth() -> None:
    truth, cloud = truth_m(), wall()
    snapshot, few, many = (np.median(errors_m(n, truth, cloud)) for n in (1, 5, 20))
    assert snapshot > 0.1  # 100 ms at 15 m/s and 30 deg/s
    assert few < snapshot / 4
    assert many < few / 2
    assert many < 0.02


def test_parts_cover_the_turn_once_and_in_order() -> None:
    for count in (1, 7, 360):
        parts = sub_sweeps(BEAMS, count)
        joined = np.concatenate([part.beams.azimuth_rad for part in parts])
        assert joined.tolist() == BEAMS.azimuth_rad.tolist()
        assert len(parts) == count
        assert all(one.end_ns < two.start_ns for one, two in pairwise(parts))


@pytest.mark.parametrize("count", [0, -1, 361])
def test_impossible_numbers_of_parts(count: int) -> None:
    with pytest.raises(UsageError, match="from 1 to the 360 columns"):
        sub_sweeps(BEAMS, count)


def test_one_part_is_the_whole_lidar() -> None:
    cloud = BEAMS.directions() * 9
    lidar = SweepLidar(sub_sweeps(BEAMS, 1), 0.2)
    sensed = lidar.sense([cloud])
    assert sensed.hit.all()
    assert np.linalg.norm(lidar.positions(sensed), axis=1) == pytest.approx(9, rel=1e-6)
