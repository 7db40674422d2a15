from __future__ import annotations

import numpy as np
import pytest

from bagnoise.errors import UsageError
from bagnoise.geometry import matrix_from_rpy_deg, transform
from bagnoise.lidar.camera_sensing import CameraSensingComponent, Frame, SampleStamp

ELEVATIONS = np.arange(-10, 11, 5.0)


def wall() -> np.ndarray:
    y, z = np.meshgrid(np.arange(-20, 20, 0.02), np.arange(-4, 4, 0.02))
    return np.stack([np.full_like(y, 10.0), y, z], axis=-1).reshape(-1, 3)


def pose(yaw_deg: float, x_m: float = 0, roll_deg: float = 0) -> np.ndarray:
    return transform(matrix_from_rpy_deg([roll_deg, 0, yaw_deg]), [x_m, 0, 0])


def component(frames: list[Frame]) -> CameraSensingComponent:
    made = CameraSensingComponent(0.2, wall())
    made.update_sampling_offsets(np.zeros(5), ELEVATIONS)
    made.activate(frames.append)
    return made


def test_samples_are_spread_between_first_and_last_pose_at_the_last_position() -> None:
    frames: list[Frame] = []
    sensing = component(frames)
    stamps = [SampleStamp(pose(-30, -1.0), 1), SampleStamp(pose(0), 10), SampleStamp(pose(30), 20)]
    frame = sensing.update_sensing_component(stamps)
    assert frames == [frame]
    assert frame is not None
    assert (frame.samples, frame.beams) == (31, 5)
    assert frame.sensed.hit.all()
    yaw = np.radians(np.linspace(-30, 30, 31))
    ranges = frame.sensed.range_m.reshape(31, 5)[:, 2]
    assert ranges == pytest.approx(10 / np.cos(yaw), rel=0.01)
    inside = frame.xyz @ pose(30)[:3, :3].T
    assert inside[:, 0] == pytest.approx(10, abs=0.1)


def test_inactive_components_sense_nothing() -> None:
    frames: list[Frame] = []
    sensing = component(frames)
    sensing.deactivate()
    assert sensing.update_sensing_component([SampleStamp(pose(0), 1)]) is None
    assert frames == []


def test_what_the_camera_cannot_do_is_refused() -> None:
    sensing = component([])
    with pytest.raises(UsageError, match="less than 120 deg"):
        sensing.update_sensing_component([SampleStamp(pose(0), 1), SampleStamp(pose(121), 9)])
    with pytest.raises(UsageError, match="rolls 5"):
        sensing.update_sensing_component([SampleStamp(pose(0), 1), SampleStamp(pose(9, 0, 5), 9)])
    with pytest.raises(UsageError, match="at least one sample"):
        sensing.update_sensing_component([])
    with pytest.raises(UsageError, match="2 azimuths and 1 elevations"):
        sensing.update_sampling_offsets([0, 1], [0])
    fresh = CameraSensingComponent(0.2)
    fresh.activate(print)
    with pytest.raises(UsageError, match="not set"):
        fresh.update_sensing_component([SampleStamp(pose(0), 1)])
