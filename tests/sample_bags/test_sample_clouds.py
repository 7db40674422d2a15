"""Sample bags: the clouds' layout, and that each point is where a ray meets a surface."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sample_reader import (
    CAMERA,
    COLORS,
    LIDAR,
    TRACK,
    Array,
    Bag,
    Odometry,
    lap,
    scan,
    stamp_ns,
    xy,
)

LIDAR_ON_CAR_M = (1.55, 0.0, 0.5)


def points_of(message: Any) -> npt.NDArray[np.void]:
    """The cloud as an array (height, width), read from its own fields."""
    kinds = {4: "<u2", 7: "<f4"}
    layout = {
        "names": [f.name for f in message.fields],
        "formats": [kinds[f.datatype] for f in message.fields],
        "offsets": [f.offset for f in message.fields],
        "itemsize": message.point_step,
    }
    assert message.row_step == message.point_step * message.width
    cloud = np.frombuffer(message.data, dtype=np.dtype(layout))  # type: ignore[call-overload]
    return np.asarray(cloud.reshape(message.height, message.width))


def place(cloud: npt.NDArray[np.void]) -> Array:
    return np.stack([cloud[axis].astype(np.float64) for axis in "xyz"], axis=-1)


def test_lidar_layout_is_the_velodyne_drivers() -> None:
    for message in scan().messages(LIDAR):
        found = [(f.name, f.offset, f.datatype, f.count) for f in message.fields]
        assert found == [
            ("x", 0, 7, 1),
            ("y", 4, 7, 1),
            ("z", 8, 7, 1),
            ("intensity", 12, 7, 1),
            ("ring", 16, 4, 1),
            ("time", 18, 7, 1),
        ]
        assert (message.point_step, message.width) == (22, 16)
        assert not message.is_dense
        assert message.header.frame_id == "velodyne"


def test_lidar_lasers_fire_in_the_vlp16s_order() -> None:
    for message in scan().messages(LIDAR):
        time = points_of(message)["time"].astype(np.float64)
        order = np.array([0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15])
        np.testing.assert_allclose(np.diff(time[:, order], axis=1), 2.304e-6, atol=1e-8)
        np.testing.assert_allclose(np.diff(time, axis=0), 2 * 55.296e-6, atol=1e-8)


def test_lidar_rings_and_times() -> None:
    for message in scan().messages(LIDAR):
        cloud = points_of(message)
        assert (cloud["ring"] == np.arange(16)).all()
        assert cloud["time"].max() == 0
        assert cloud["time"].min() == pytest.approx(-0.05, abs=1e-3)
        x, y, z = np.moveaxis(place(cloud), -1, 0)
        lost = np.isnan(x)
        assert 0.2 < lost.mean() < 0.6
        assert (np.isnan(cloud["intensity"]) == lost).all()
        elevation = np.rad2deg(np.arctan2(z, np.hypot(x, y)))
        nominal = np.broadcast_to(2.0 * np.arange(16) - 15, cloud.shape)
        np.testing.assert_allclose(elevation[~lost], nominal[~lost], atol=1e-4)
        assert (x[~lost] > 0).mean() > 0.99
        # The head turns clockwise, 3600 degrees a second, and begins at the left.
        turned = 90 - np.rad2deg(np.arctan2(y, x))
        since_first = cloud["time"].astype(np.float64) - cloud["time"].min()
        np.testing.assert_allclose(turned[~lost], 3600 * since_first[~lost], atol=1e-3)


def nearest_cone(points: Array, course: Array) -> npt.NDArray[np.int64]:
    gaps = points[:, None, :2] - course[None, :, :]
    return np.asarray(np.hypot(gaps[..., 0], gaps[..., 1]).argmin(axis=1))


def on_wall(points: Array, start: tuple[float, float], end: tuple[float, float]) -> Any:
    """Whether points lie on the vertical plane through a wall, between its ends."""
    first, along = np.array(start), np.subtract(end, start)
    length = float(np.hypot(*along))
    gap = points[:, :2] - first
    across = (gap[:, 0] * along[1] - gap[:, 1] * along[0]) / length
    share = (gap @ along) / length**2
    return (np.abs(across) < 1e-4) & (share > -1e-4) & (share < 1 + 1e-4)


def test_every_lidar_point_lies_on_ground_wall_or_cone() -> None:
    (track,) = lap().messages(TRACK)
    course = np.concatenate([xy(getattr(track, f"{color}_cones")) for color in COLORS])
    odometry = Odometry.of(scan())
    counts: Counter[str] = Counter()
    for message in scan().messages(LIDAR):
        cloud = points_of(message).reshape(-1)
        cloud = cloud[~np.isnan(cloud["x"])]
        when = stamp_ns(message) + np.round(cloud["time"].astype(np.float64) * 1e9).astype(int)
        in_map = odometry.to_map(when, place(cloud) + LIDAR_ON_CAR_M)
        ground = np.abs(in_map[:, 2]) < 1e-5
        pit = on_wall(in_map, (-26.0, -6.0), (40.0, -6.0)) & (in_map[:, 2] < 1.0)
        garage = on_wall(in_map, (-14.0, 12.0), (4.0, 16.0)) & (in_map[:, 2] < 3.5)
        garage |= on_wall(in_map, (-14.0, 12.0), (-16.0, 21.0)) & (in_map[:, 2] < 3.5)
        gap = in_map[:, :2] - course[nearest_cone(in_map, course)]
        cone = (np.hypot(gap[:, 0], gap[:, 1]) < 0.131) & (in_map[:, 2] < 0.51) & ~ground
        assert (ground | pit | garage | cone).all()
        assert (cloud["intensity"][ground] <= 11).all()
        parts = {"ground": ground, "pit": pit, "garage": garage, "cone": cone}
        counts.update({name: int(part.sum()) for name, part in parts.items()})
    assert min(counts[name] for name in ("ground", "pit", "garage", "cone")) > 100


def quaternion_matrix(q: Any) -> Array:
    v, w = np.array([q.x, q.y, q.z]), float(q.w)
    skew = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.asarray((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew)


def optical_to_car(bag: Bag, points: Array) -> Array:
    """Points of the camera's optical frame in the car's, through /tf_static."""
    (static,) = bag.messages("/tf_static")
    links = {t.child_frame_id: t for t in static.transforms}
    frame = "camera_optical_frame"
    while frame != "base_footprint":
        step = links[frame].transform
        shift = np.array([step.translation.x, step.translation.y, step.translation.z])
        points = points @ quaternion_matrix(step.rotation).T + shift
        frame = links[frame].header.frame_id
    return points


def test_camera_points_project_to_their_pixels() -> None:
    infos = {stamp_ns(m): m for m in scan().messages("/camera/camera_info")}
    for message in scan().messages(CAMERA):
        info = infos[stamp_ns(message)]
        assert info.header.frame_id == message.header.frame_id == "camera_optical_frame"
        assert (info.width, info.height) == (16 * message.width, 16 * message.height)
        points = place(points_of(message))
        pixels = points @ np.asarray(info.k).reshape(3, 3).T
        rows, columns = np.indices(pixels.shape[:2])
        seen = ~np.isnan(pixels[..., 2])
        assert 0.3 < seen.mean() < 0.9
        u, v = (pixels[..., i][seen] / pixels[..., 2][seen] for i in range(2))
        np.testing.assert_allclose(u, 16 * columns[seen] + 7.5, atol=1e-3)
        np.testing.assert_allclose(v, 16 * rows[seen] + 7.5, atol=1e-3)


def test_camera_sees_cones_in_their_colors() -> None:
    (track,) = lap().messages(TRACK)
    odometry = Odometry.of(scan())
    counts: Counter[str] = Counter()
    # Red and blue of the body, whose stripe is white on blue and black on yellow cones.
    for color, brighter, darker in (("blue", 0, 16), ("yellow", 16, 0)):
        course = xy(getattr(track, f"{color}_cones"))
        for message in scan().messages(CAMERA):
            cloud = points_of(message).reshape(-1)
            cloud = cloud[~np.isnan(cloud["x"])]
            when = np.full(len(cloud), stamp_ns(message))
            in_map = odometry.to_map(when, optical_to_car(scan(), place(cloud)))
            gap = in_map[:, :2] - course[nearest_cone(in_map, course)]
            cone = (np.hypot(gap[:, 0], gap[:, 1]) < 0.101) & (in_map[:, 2] > 0.01)
            packed = cloud["rgb"][cone].copy().view(np.uint32)
            strong, weak = packed >> brighter & 255, packed >> darker & 255
            stripe = strong == weak
            assert (stripe | (strong > weak)).all()
            counts[color] += int((~stripe).sum())
    assert min(counts["blue"], counts["yellow"]) >= 10
