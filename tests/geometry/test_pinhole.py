from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bagnoise.errors import MessageError, UsageError
from bagnoise.geometry import (
    BODY_FROM_OPTICAL,
    Distortion,
    PinholeCamera,
    apply,
    camera_from_info,
    inverse,
    transform,
)


def info(**changes: Any) -> SimpleNamespace:
    values: dict[str, Any] = {
        "width": 640,
        "height": 480,
        "distortion_model": "plumb_bob",
        "d": [],
        "k": [400, 0, 319.5, 0, 400, 239.5, 0, 0, 1],
        "r": np.eye(3).ravel(),
        "p": [400, 0, 319.5, 0, 0, 400, 239.5, 0, 0, 0, 1, 0],
        "binning_x": 0,
        "binning_y": 0,
        "roi": SimpleNamespace(x_offset=0, y_offset=0, width=0, height=0, do_rectify=False),
    }
    return SimpleNamespace(**{**values, **changes})


def seen_from(height_m: float, camera: PinholeCamera, points: Any, **limits: float) -> list[bool]:
    optical_from_base = inverse(transform(BODY_FROM_OPTICAL, [0, 0, height_m]))
    inside = camera.sees(apply(optical_from_base, np.array(points, float)), **limits)
    return [bool(value) for value in inside]


def test_points_behind_and_at_the_camera_are_out() -> None:
    camera = camera_from_info(info(), rectified=True)
    points = [(5, 1, 0), (-5, -1, 0), (-5, 1, 0), (0, 0, 0), (5, -1, 0), (5, -6, 0), (60, 0, 0)]
    assert seen_from(1.0, camera, points) == [True, False, False, False, True, False, True]
    assert seen_from(1.0, camera, points, far_m=30)[-1] is False
    assert seen_from(1.0, camera, points, near_m=5) == [False] * 6 + [True]
    u, v, depth = camera.pixels(
        apply(inverse(transform(BODY_FROM_OPTICAL, [0, 0, 1.0])), np.array([[5.0, 1, 0]]))
    )
    assert (u[0], v[0], depth[0]) == pytest.approx((239.5, 319.5, 5))


def test_the_principal_point_need_not_be_central() -> None:
    camera = camera_from_info(
        info(k=[400, 0, 219.5, 0, 400, 239.5, 0, 0, 1], p=np.zeros(12)), rectified=False
    )
    points = [(10, -10 * (column - 219.5) / 400, 0) for column in (630, 650, 5, -15)]
    assert seen_from(0.5, camera, points) == [True, False, True, False]
    edges = [(10, -10 * (column - 219.5) / 400, 0) for column in (-0.51, -0.49, 639.49, 639.51)]
    assert seen_from(0.5, camera, edges) == [False, True, True, False]


def pixel_points(columns: Any, rows: Any, focal: float = 400.0) -> Any:
    u, v = np.asarray(columns, float), np.asarray(rows, float)
    return np.stack([(u - 319.5) / focal, (v - 239.5) / focal, np.ones_like(u)], axis=1)


def test_region_of_interest_and_binning() -> None:
    roi = SimpleNamespace(x_offset=100, y_offset=50, width=201, height=101, do_rectify=False)
    camera = camera_from_info(info(roi=roi, binning_x=2, binning_y=4), rectified=True)
    columns = [99, 100, 299, 300, 200, 200, 200, 200]
    rows = [60, 60, 60, 60, 49, 50, 149, 150]
    expected = [False, True, True, False, False, True, True, False]
    assert camera.sees(pixel_points(columns, rows)).tolist() == expected
    rays = camera.pixel_rays()
    assert rays.shape == (25, 100, 3)
    u, v, _ = camera.pixels(rays.reshape(-1, 3))
    assert (u[0], v[0]) == pytest.approx((100.5, 51.5))  # the middle of 2 x 4 sensor pixels


LENSES = [
    Distortion("plumb_bob", (-0.3, 0.12, 0.001, -0.0007, -0.02)),
    Distortion("rational_polynomial", (0.4, 0.1, 0.0005, 0.0002, 0.01, 0.7, 0.2, 0.03)),
    Distortion("equidistant", (-0.01, 0.02, -0.005, 0.001)),
]


@pytest.mark.parametrize("lens", LENSES, ids=lambda lens: lens.model)
def test_undistort_inverts_distort(lens: Distortion) -> None:
    x, y = np.meshgrid(np.linspace(-0.6, 0.6, 21), np.linspace(-0.5, 0.5, 17))
    back_x, back_y = lens.undistort(*lens.distort(x, y))
    assert back_x == pytest.approx(x, abs=1e-6)
    assert back_y == pytest.approx(y, abs=1e-6)


def test_plumb_bob_by_hand() -> None:
    x, y = LENSES[0].distort(np.array([0.3]), np.array([-0.4]))
    radial = 1 - 0.3 * 0.25 + 0.12 * 0.0625 - 0.02 * 0.015625
    assert x[0] == pytest.approx(0.3 * radial + 2 * 0.001 * -0.12 - 0.0007 * (0.25 + 0.18))
    assert y[0] == pytest.approx(-0.4 * radial + 0.001 * (0.25 + 0.32) + 2 * -0.0007 * -0.12)


def test_equidistant_by_hand() -> None:
    lens = Distortion("equidistant", (0.1,))
    x, y = lens.distort(np.array([1.0, 0.0]), np.array([0.0, 0.0]))
    angle = np.pi / 4
    assert x.tolist() == pytest.approx([angle * (1 + 0.1 * angle**2), 0])
    assert y.tolist() == [0, 0]


def test_a_lens_does_not_fold_the_far_outside_into_the_image() -> None:
    camera = camera_from_info(info(d=[-0.3, 0, 0, 0, 0]), rectified=False)
    radius = 1.8  # 61 deg from the axis: the polynomial gives 0.05, near the middle
    point = np.array([[radius, 0.0, 1.0]])
    assert radius * (1 - 0.3 * radius**2) < 0.1
    assert not camera.sees(point)[0]
    assert camera.sees(np.array([[0.5, 0.0, 1.0]]))[0]


def test_raw_uses_k_and_d_rectified_uses_p_and_r() -> None:
    turned = np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 1.0]])
    both = info(
        d=[-0.2, 0, 0, 0, 0], p=[300, 0, 300, -30, 0, 300, 200, 0, 0, 0, 1, 0], r=turned.ravel()
    )
    point = np.array([[0.2, 0.1, 1.0]])
    raw, rectified = (camera_from_info(both, rectified=flag) for flag in (False, True))
    u, v, _ = rectified.pixels(point)
    assert (u[0], v[0]) == pytest.approx((300 * 0.1 + 300 - 30, 300 * -0.2 + 200))
    u, v, _ = raw.pixels(point)
    scale = 1 - 0.2 * 0.05
    assert (u[0], v[0]) == pytest.approx((400 * 0.2 * scale + 319.5, 400 * 0.1 * scale + 239.5))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": np.zeros(9), "p": np.zeros(12)}, "uncalibrated"),
        ({"distortion_model": "banana", "d": [0.1]}, "'banana'; known are: plumb_bob"),
        ({"d": [0.1] * 8}, "8 coefficients, plumb_bob uses 5"),
        ({"k": np.full(9, np.nan)}, "finite numbers"),
        ({"width": 0}, "0 x 480 pixels"),
    ],
)
def test_useless_infos_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MessageError, match=message):
        camera_from_info(info(**changes), rectified=False)


def test_camera_from_a_field_of_view() -> None:
    camera = PinholeCamera.from_fov(90, 640, 480)
    assert seen_from(0, camera, [(10, 9.9, 0), (10, -9.9, 0), (10, 10.1, 0)]) == [True, True, False]
    with pytest.raises(UsageError, match="180 deg"):
        PinholeCamera.from_fov(180, 640, 480)


def test_points_that_are_no_numbers_are_out() -> None:
    camera = PinholeCamera.from_fov(90, 640, 480)
    odd = np.array([[np.nan, 0, 1], [0, 0, np.inf], [np.inf, 0, 1], [0, 0, np.nan], [0, 0, 1]])
    assert camera.sees(odd).tolist() == [False, False, False, False, True]
