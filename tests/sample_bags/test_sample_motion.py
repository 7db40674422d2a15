"""Sample bags: a racing lap whose topics tell the same motion."""

from __future__ import annotations

import numpy as np
import pytest
from sample_reader import ODOMETRY, Odometry, lap, stamp_ns


def test_lap_is_whole_and_at_racing_speed() -> None:
    odometry = Odometry.of(lap())
    times, place = odometry.stamp_ns, odometry.pose[:, :2]
    at_line = (place[:-1, 0] < 6) & (place[1:, 0] >= 6) & (np.abs(place[1:, 1]) < 2)
    start, finish = times[1:][at_line]
    assert 20 < (finish - start) / 1e9 < 35
    inside = (times >= start) & (times <= finish)
    assert 250 < np.hypot(*np.diff(place[inside], axis=0).T).sum() < 400
    speed = np.array([m.twist.twist.linear.x for m in lap().messages(ODOMETRY)])
    assert speed[0] == 0
    assert 14 < speed.max() < 20
    assert speed[inside].min() > 3


def test_twist_is_the_motion() -> None:
    odometry = Odometry.of(lap())
    twists = [m.twist.twist for m in lap().messages(ODOMETRY)]
    speed, rate = np.array([(t.linear.x, t.angular.z) for t in twists]).T
    step_s = np.diff(odometry.stamp_ns) / 1e9
    moved = np.hypot(*np.diff(odometry.pose[:, :2], axis=0).T) / step_s
    np.testing.assert_allclose(moved, (speed[1:] + speed[:-1]) / 2, atol=0.02)
    yaw = np.unwrap(2 * np.arctan2(odometry.pose[:, 2], odometry.pose[:, 3]))
    np.testing.assert_allclose(np.diff(yaw) / step_s, (rate[1:] + rate[:-1]) / 2, atol=0.02)


def test_tf_is_the_odometry() -> None:
    transforms = [m.transforms[0] for m in lap().messages("/tf")]
    found = [
        (v.translation.x, v.translation.y, v.rotation.z, v.rotation.w)
        for v in (t.transform for t in transforms)
    ]
    odometry = Odometry.of(lap())
    np.testing.assert_array_equal(np.array(found), odometry.pose)
    assert [stamp_ns(m) for m in lap().messages("/tf")] == odometry.stamp_ns.tolist()
    (static,) = lap().messages("/tf_static")
    links = {t.child_frame_id: t.header.frame_id for t in static.transforms}
    links[transforms[0].child_frame_id] = transforms[0].header.frame_id
    for frame in ("velodyne", "camera_optical_frame", "imu_link"):
        while frame != "map":
            frame = links[frame]  # noqa: PLW2901


def test_imu_feels_the_motion() -> None:
    samples = lap().messages("/imu/data")
    stamps = np.array([stamp_ns(m) for m in samples])
    odometry = Odometry.of(lap())
    inside = (stamps >= odometry.stamp_ns[0]) & (stamps <= odometry.stamp_ns[-1])
    twists = [m.twist.twist for m in lap().messages(ODOMETRY)]
    since, known = stamps[inside] - stamps[0], odometry.stamp_ns - stamps[0]
    speed, rate = (
        np.interp(since, known, [getattr(getattr(t, a), b) for t in twists])
        for a, b in (("linear", "x"), ("angular", "z"))
    )
    gyro = np.array([m.angular_velocity.z for m in samples])[inside]
    left = np.array([m.linear_acceleration.y for m in samples])[inside]
    up = np.array([m.linear_acceleration.z for m in samples])[inside]
    # 0.003 rad/s and 0.06 m/s^2 of noise; a wrong sign or scale would be far outside.
    assert np.std(gyro - rate) < 0.006
    assert np.std(left - speed * rate) < 0.09
    assert up.mean() == pytest.approx(9.80665, abs=0.01)
