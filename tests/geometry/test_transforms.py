from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from bagnoise.errors import MessageError
from bagnoise.geometry import (
    BODY_FROM_OPTICAL,
    Track,
    apply,
    inverse,
    matrix_from_quaternion,
    matrix_from_rpy_deg,
    motion_between,
    quaternion_from_matrix,
    rotation_angle_deg,
    rpy_deg_from_matrix,
    transform,
)

RNG = np.random.default_rng(3)
SOME = Rotation.random(50, random_state=4).as_quat()
HALF_TURNS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.6, 0.8, 0, 0], [0, 0, 0, 1]])


def test_quaternions_and_matrices_agree_with_scipy() -> None:
    for q in np.concatenate([SOME, HALF_TURNS]):
        matrix = matrix_from_quaternion(3 * q)
        assert matrix == pytest.approx(Rotation.from_quat(q).as_matrix(), abs=1e-12)
        back = quaternion_from_matrix(matrix)
        assert abs(back @ q) == pytest.approx(1, abs=1e-12)
        assert back[3] >= 0
    assert matrix_from_quaternion(SOME).shape == (50, 3, 3)


def test_roll_pitch_yaw_are_about_fixed_axes() -> None:
    for rpy in RNG.uniform(-80, 80, (30, 3)):
        matrix = matrix_from_rpy_deg(rpy)
        wanted = Rotation.from_euler("xyz", rpy, degrees=True).as_matrix()
        assert matrix == pytest.approx(wanted, abs=1e-12)
        assert rpy_deg_from_matrix(matrix) == pytest.approx(rpy, abs=1e-9)
    upright = matrix_from_rpy_deg([0, 90, 30])
    assert matrix_from_rpy_deg(rpy_deg_from_matrix(upright)) == pytest.approx(upright, abs=1e-9)


def test_optical_frame_is_the_usual_one() -> None:
    assert pytest.approx(matrix_from_quaternion([-0.5, 0.5, -0.5, 0.5])) == BODY_FROM_OPTICAL
    assert (BODY_FROM_OPTICAL @ [0, 0, 1]).tolist() == [1, 0, 0]  # forward
    assert (BODY_FROM_OPTICAL @ [1, 0, 0]).tolist() == [0, -1, 0]  # right


def test_transforms_compose_and_invert() -> None:
    a_from_b = transform(matrix_from_rpy_deg([10, 20, 30]), [1, 2, 3])
    b_from_c = transform(matrix_from_rpy_deg([-5, 0, 90]), [0, -1, 0])
    points = RNG.normal(size=(20, 3))
    one = apply(a_from_b, apply(b_from_c, points))
    assert one == pytest.approx(apply(a_from_b @ b_from_c, points))
    assert inverse(a_from_b) @ a_from_b == pytest.approx(np.eye(4), abs=1e-12)
    stack = np.stack([a_from_b, b_from_c])
    assert inverse(stack) == pytest.approx(np.linalg.inv(stack), abs=1e-12)


def test_misses_stay_misses() -> None:
    moved = apply(np.eye(4), np.array([[np.nan, 1, 2], [np.inf, 0, 0], [1, 2, 3]]))
    assert np.isfinite(moved).all(axis=1).tolist() == [False, False, True]


@pytest.mark.parametrize("q", [[0, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 0]])
def test_no_rotation_is_an_error(q: list[float]) -> None:
    with pytest.raises(MessageError, match="no rotation"):
        matrix_from_quaternion(q)


T0 = 1_700_000_000_000_000_001


def track() -> Track:
    times = T0 + np.array([0, 100, 250, 400]) * 1_000_000
    return Track.of(times, RNG.normal(size=(4, 3)), SOME[:4])


def test_poses_between_samples_are_slerp() -> None:
    poses = track()
    asked = T0 + np.array([0, 1, 99, 100, 180, 250, 399, 400]) * 1_000_000
    seconds = (poses.t_ns - T0) / 1e9
    wanted = Slerp(seconds, Rotation.from_quat(poses.xyzw))((asked - T0) / 1e9).as_matrix()
    got = poses.at(asked)
    assert got[:, :3, :3] == pytest.approx(wanted, abs=1e-9)
    for axis in range(3):
        line = np.interp((asked - T0) / 1e9, seconds, poses.xyz[:, axis])
        assert got[:, axis, 3] == pytest.approx(line)


def test_the_shorter_way_and_nearly_equal_rotations() -> None:
    q = SOME[0]
    still = Track.of([T0, T0 + 100], np.zeros((2, 3)), [q, -q])
    assert still.at(T0 + 50)[:3, :3] == pytest.approx(matrix_from_quaternion(q), abs=1e-12)


def test_nanoseconds_are_not_lost_in_doubles() -> None:
    poses = Track.of([T0, T0 + 200], [[0, 0, 0], [200, 0, 0]], [SOME[0], SOME[0]])
    assert poses.at(T0 + np.arange(0, 201, 25))[:, 0, 3].tolist() == list(range(0, 201, 25))


def test_tracks_are_sorted_held_at_the_ends_and_keep_the_last_of_equal_times() -> None:
    poses = Track.of([T0 + 9, T0, T0], [[9, 0, 0], [1, 0, 0], [2, 0, 0]], SOME[:3])
    assert poses.t_ns.tolist() == [T0, T0 + 9]
    assert poses.at([T0 - 5, T0, T0 + 50])[:, 0, 3].tolist() == [2, 2, 9]
    assert [poses.gap_ns(t) for t in (T0 - 5, T0 + 3, T0 + 50)] == [5, 0, 41]
    one = Track.of([T0], [[7, 0, 0]], [[0, 0, 0, 2]])
    assert one.at(T0 + 5)[0, 3] == 7
    with pytest.raises(MessageError, match="no poses"):
        Track.of([], np.zeros((0, 3)), np.zeros((0, 4)))


def test_motion_and_angle() -> None:
    start = transform(matrix_from_rpy_deg([0, 0, 170]), [1, 1, 0])
    end = transform(matrix_from_rpy_deg([0, 0, -170]), [4, 5, 0])
    moved_m, turned_deg = motion_between(start, end)
    assert (moved_m, turned_deg) == pytest.approx((5, 20))
    assert rotation_angle_deg(np.eye(3)) == 0
    assert rotation_angle_deg(matrix_from_rpy_deg([180, 0, 0])) == pytest.approx(180)
