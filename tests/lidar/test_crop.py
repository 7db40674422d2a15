from __future__ import annotations

import numpy as np
import pytest

from bagnoise.errors import MessageError, UsageError
from bagnoise.geometry import PinholeCamera
from bagnoise.lidar.crop import azimuths_rad, in_box, in_rings, in_sector, ranges_m, within
from bagnoise.lidar.depth_image import positions

CLOUD = np.array(
    [[1, 0, 0], [0, 2, 0], [-3, 0, 0], [0, -4, 0], [0, 0, 5], [np.nan, 0, 0], [np.inf, 1, 0]]
)


def test_ranges_and_azimuths_are_about_the_sensor() -> None:
    assert ranges_m(CLOUD)[:5].tolist() == [1, 2, 3, 4, 5]
    assert not np.isfinite(ranges_m(CLOUD)[5:]).any()
    assert ranges_m(CLOUD, (1, 0, 0))[0] == 0
    degrees = np.degrees(azimuths_rad(CLOUD)[:4])
    assert degrees.tolist() == [0, 90, 180, -90]
    assert np.degrees(azimuths_rad(CLOUD, (0, 0, 0))[3]) == -90


def test_limits_are_strict_and_misses_are_outside() -> None:
    r = ranges_m(CLOUD)
    assert within(r, 1, 4).tolist() == [False, True, True, False, False, False, False]
    assert within(r, high=4).tolist() == [True, True, True, False, False, False, False]
    assert within(r).tolist() == [True] * 5 + [False] * 2


def test_boxes() -> None:
    low, high = (-2, -5, -np.inf), (2, 5, np.inf)
    assert in_box(CLOUD, low, high).tolist() == [True, True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("sector", "kept"),
    [
        ((-45, 45), [0]),
        ((315, 405), [0]),
        ((90, 180), [90, 180]),
        ((170, 190), [180]),
        ((170, -170), [180]),
        ((100, 80), [0, 180, -90]),
        ((0, 360), [0, 90, 180, -90]),
        ((-400, 400), [0, 90, 180, -90]),
        ((0, 0), [0]),
    ],
)
def test_sectors_run_counterclockwise_over_the_seam(
    sector: tuple[float, float], kept: list[int]
) -> None:
    azimuths = [0, 90, 180, -90]
    inside = in_sector(np.radians(np.array([*azimuths, np.nan])), *sector)
    assert [a for a, keep in zip(azimuths, inside[:4], strict=True) if keep] == kept
    assert not inside[4]


def test_rings() -> None:
    assert in_rings(np.array([0, 3, -1, 3]), {3}).tolist() == [False, True, False, True]
    with pytest.raises(UsageError, match="no ring"):
        in_rings(np.array([1]), [])


@pytest.mark.parametrize(("encoding", "unit"), [("16UC1", 1000), ("mono16", 1000), ("32FC1", 1)])
def test_depth_images_become_points(encoding: str, unit: int) -> None:
    camera = PinholeCamera.from_fov(90, 4, 3)
    kind = np.float32 if unit == 1 else np.uint16
    depth = (np.arange(12).reshape(3, 4) * unit).astype(kind)
    points = positions(depth, camera.pixel_rays(), encoding)
    assert points.dtype == np.float32
    assert np.isnan(points[0]).all()
    assert points[1:, 2].tolist() == list(range(1, 12))
    u, v, _ = camera.pixels(points[1:])
    assert u.tolist() == pytest.approx([1, 2, 3, *[0, 1, 2, 3] * 2], abs=1e-5)
    assert v.tolist() == pytest.approx([0] * 3 + [1] * 4 + [2] * 4, abs=1e-5)


def test_depths_that_mean_no_return() -> None:
    rays = PinholeCamera.from_fov(90, 2, 2).pixel_rays()
    points = positions(np.array([[0, -1], [np.nan, np.inf]], np.float32), rays, "32FC1")
    assert np.isnan(points).all()
    with pytest.raises(MessageError, match="'rgb8'"):
        positions(np.ones((2, 2)), rays, "rgb8")
    with pytest.raises(MessageError, match="3 x 2 pixels"):
        positions(np.ones((2, 3)), rays, "32FC1")
