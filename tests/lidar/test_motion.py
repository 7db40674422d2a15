from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm
from statistics_checks import are_uncorrelated, is_normal, std_is

from bagnoise.errors import UsageError
from bagnoise.lidar.motion import jittered, pose_errors, posed, sectors, swept


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("yaw_rate_deg_s", [0.0, 1e-6, 3.0, -90.0, 400.0])
def test_a_swept_scan_is_the_exponential_of_the_twist_undone(yaw_rate_deg_s: float) -> None:
    velocity = (15.0, -2.0, 0.4)
    points = rng().uniform(-40, 40, (200, 3))
    time_s = rng(1).uniform(-0.1, 0.1, 200)
    moved = swept(points, time_s, velocity, yaw_rate_deg_s)
    turn = np.radians(yaw_rate_deg_s)
    twist = np.zeros((4, 4))
    twist[0, 1], twist[1, 0], twist[:3, 3] = -turn, turn, velocity
    for point, t, found in zip(points, time_s, moved.xyz, strict=True):
        expected = (np.linalg.inv(expm(twist * t)) @ (*point, 1.0))[:3]
        assert found == pytest.approx(expected, abs=1e-9)
    assert moved.changed.all()


def test_a_lidar_that_drives_at_a_wall_sees_it_come_nearer() -> None:
    wall = np.array([[10.0, 0.0, 0.0], [10.0, 0.0, 0.0], [10.0, 0.0, 0.0]])
    moved = swept(wall, np.array([-0.1, 0.0, 0.1]), (20.0, 0.0, 0.0), 0.0)
    assert moved.xyz[:, 0].tolist() == [12.0, 10.0, 8.0]
    assert moved.changed.tolist() == [True, False, True]


def test_misses_keep_their_bits() -> None:
    points = np.array([[np.nan, 1, 1], [0, 0, 0], [np.inf, 2, 2], [3, 4, 5]], np.float32)
    for moved in (
        swept(points, np.full(4, 0.05), (9.0, 1.0, 0.0), 30.0),
        posed(points, np.zeros(4, np.intp), np.eye(3)[None], np.ones((1, 3))),
        jittered(points, (1.0, 1.0, 1.0), rng()),
    ):
        assert moved.xyz[:3].tobytes() == points[:3].tobytes()
        assert moved.changed.tolist() == [False, False, False, True]
        assert (moved.xyz[3] != points[3]).any()


def test_pose_errors_are_normal_in_each_axis() -> None:
    rotations, shifts = pose_errors(20_000, 0.3, 0.5, rng())
    for axis in range(3):
        assert std_is(shifts[:, axis], 0.3)
        assert is_normal(shifts[:, axis], 0.0, 0.3)
        assert not std_is(shifts[:, axis], 0.32)
    assert are_uncorrelated(shifts[:, 0], shifts[:, 1])
    assert not are_uncorrelated(shifts[:, 0], shifts[:, 0] + shifts[:, 1])
    yaw = np.degrees(np.arctan2(rotations[:, 1, 0], rotations[:, 0, 0]))
    assert std_is(yaw, 0.5)
    assert not std_is(yaw, 0.53)
    assert rotations @ np.swapaxes(rotations, 1, 2) == pytest.approx(
        np.broadcast_to(np.eye(3), rotations.shape), abs=1e-12
    )
    with pytest.raises(UsageError, match="0 parts"):
        pose_errors(0, 0.1, 0.1, rng())


def test_every_part_has_its_own_pose() -> None:
    azimuth = np.linspace(-np.pi, np.pi, 400, endpoint=False)
    part = sectors(azimuth, 4)
    assert np.bincount(part).tolist() == [100] * 4
    assert part[0] == 2
    assert sectors(np.array([np.nan, -1e-20, 0.0]), 4).tolist() == [0, 3, 0]
    points = np.column_stack([np.cos(azimuth), np.sin(azimuth), np.ones(400)]) * 10
    rotations, shifts = pose_errors(4, 0.2, 1.0, rng())
    moved = posed(points, part, rotations, shifts)
    for row in (0, 150, 399):
        expected = rotations[part[row]] @ points[row] + shifts[part[row]]
        assert moved.xyz[row] == pytest.approx(expected, abs=1e-12)


def test_jitter_has_a_deviation_for_each_axis() -> None:
    points = np.full((30_000, 3), 20.0)
    error = jittered(points, (0.1, 0.2, 0.0), rng()).xyz - points
    assert std_is(error[:, 0], 0.1)
    assert std_is(error[:, 1], 0.2)
    assert not std_is(error[:, 1], 0.21)
    assert not error[:, 2].any()
    assert are_uncorrelated(error[:, 0], error[:, 1])
