"""Regressions named after what went wrong elsewhere (reference: resampling.md, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from bagnoise.errors import UsageError
from bagnoise.lidar import plane as plane_module
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar, Mode
from bagnoise.lidar.spacing import source_spacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

BEAMS = revolution(find_model("VLP-16"))
MODES: tuple[Mode, ...] = ("nearest", "visible", "plane")
SPACING = (np.radians(0.15), np.radians(0.15))


def fan(azimuths_deg: Any, elevations_deg: Any) -> NDArray[np.float64]:
    """Unit directions of a grid."""
    azimuth, elevation = np.meshgrid(np.radians(azimuths_deg), np.radians(elevations_deg))
    flat = np.cos(elevation)
    rays = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=-1)
    return rays.reshape(-1, 3)


def on_plane(rays: NDArray[np.float64], normal: Any, distance: float) -> NDArray[np.float32]:
    """Where rays meet the plane normal . p = distance, within 80 m."""
    with np.errstate(divide="ignore"):
        ranges = distance / (rays @ np.asarray(normal, float))
    keep = (ranges > 0) & (ranges < 80)
    points: NDArray[np.float32] = (rays[keep] * ranges[keep, None]).astype(np.float32)
    return points


def off_plane_m(lidar: CameraLidar, cloud: Any, normal: Any, distance: float) -> NDArray[Any]:
    sensed = lidar.sense(cloud)
    unit = np.asarray(normal, float)
    points = lidar.positions(sensed)[sensed.hit].astype(float)
    assert len(points) > 500
    return np.asarray(np.abs(points @ unit - distance) / np.linalg.norm(unit))


DENSE = fan(np.arange(-180, 180, 0.15), np.arange(-18, 18, 0.15))


@pytest.mark.parametrize("tilt_deg", [0, 20, 45, 70])
def test_a_scan_line_on_a_tilted_plane_is_straight(tilt_deg: float) -> None:
    # gz-sensors issue 504: the line was a zigzag
    normal = [np.cos(np.radians(tilt_deg)), 0.0, np.sin(np.radians(tilt_deg))]
    cloud = on_plane(DENSE, normal, 6.0)
    exact = CameraLidar(BEAMS, 0.2, mode="plane", spacing_rad=SPACING)
    error = off_plane_m(exact, cloud, normal, 6.0)
    assert np.quantile(error, 0.99) < 1e-4
    naive = CameraLidar(BEAMS, 0.2, mode="nearest")
    assert np.quantile(off_plane_m(naive, cloud, normal, 6.0), 0.99) > 5e-3


def test_rings_on_the_ground_are_round() -> None:
    # lgsvl simulator issue 772: rings became polygons, webots issue 6505: staircases
    cloud = on_plane(DENSE, [0, 0, -1], 1.8)
    spread = {}
    for mode in MODES:
        lidar = CameraLidar(BEAMS, 0.2, mode=mode, spacing_rad=SPACING)
        ranges = lidar.sense(cloud).range_m.reshape(BEAMS.columns, 16)[:, :4]
        assert np.isfinite(ranges).mean() > 0.95
        spread[mode] = float(np.nanstd(ranges / np.nanmedian(ranges, axis=0)))
    assert spread["plane"] < 1e-5
    assert spread["nearest"] > 1e-3  # what the staircase measures


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("cameras", [4, 5, 8])
def test_no_seam_between_cameras(mode: Mode, cameras: int) -> None:
    # gz-sim issue 3475: the column at +-45 deg wrapped to the opposite edge of the texture
    cloud = (DENSE * 10).astype(np.float32)
    lidar = CameraLidar(BEAMS, 0.2, cameras, mode, SPACING)
    sensed = lidar.sense(cloud)
    seams = -np.pi + 2 * np.pi / cameras * np.arange(cameras + 1)
    gap = np.abs(BEAMS.azimuth_rad[:, None] - seams[None, :]).min(axis=1)
    at_seam = gap < np.radians(0.5)
    assert at_seam.sum() > 300
    missed = np.mean(~sensed.hit[at_seam])
    assert missed <= np.mean(~sensed.hit[~at_seam]) + 0.02
    assert sensed.range_m[sensed.hit] == pytest.approx(10, abs=1e-3)


def two_depths() -> NDArray[np.float32]:
    """A cone-sized object at 3 m before a wall at 10 m, from a depth camera of 64 x 48 pixels."""
    column, row = np.meshgrid(np.arange(64), np.arange(48))
    depth = np.full((48, 64), 10.0)
    depth[20:44, 28:36] = 3.0
    left, up = (31.5 - column) * depth / 60, (23.5 - row) * depth / 60
    return np.stack([depth, left, up], axis=-1).reshape(-1, 3).astype(np.float32)


def between(lidar: CameraLidar, cloud: NDArray[np.float32]) -> int:
    sensed = lidar.sense(cloud)
    forward = lidar.positions(sensed)[sensed.hit][:, 0]
    assert len(forward) > 100
    assert (np.abs(forward - 3) < 0.1).any()
    return int(((forward > 3.1) & (forward < 9.9)).sum())


@pytest.mark.parametrize("error_deg", [0.2, 0.5, 0.66])
@pytest.mark.parametrize("mode", MODES)
def test_no_points_between_two_surfaces(mode: Mode, error_deg: float) -> None:
    # webots issue 2736: values were averaged across the edge
    cloud = two_depths()
    lidar = CameraLidar(BEAMS, error_deg, 4, mode, source_spacing(cloud))
    assert between(lidar, cloud) == 0


def test_without_the_gates_phantoms_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = two_depths()
    lidar = CameraLidar(BEAMS, 0.66, 4, "plane", source_spacing(cloud))
    monkeypatch.setattr(plane_module, "LARGEST_STEP", 0.999)
    monkeypatch.setattr(plane_module, "LARGEST_MISFIT", 1e3)
    assert between(lidar, cloud) > 20


def test_a_step_within_the_depth_gate_makes_no_phantoms_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cloud = two_depths()
    near = cloud[:, 0] < 5
    cloud[near] *= 2.6  # 7.8 m before 10 m: less than LARGEST_STEP
    lidar = CameraLidar(BEAMS, 0.66, 4, "plane", source_spacing(cloud))

    def mixed() -> int:
        sensed = lidar.sense(cloud)
        forward = lidar.positions(sensed)[sensed.hit][:, 0]
        return int(((forward > 8.2) & (forward < 9.7)).sum())

    assert mixed() == 0
    monkeypatch.setattr(plane_module, "LARGEST_MISFIT", 1e3)
    assert mixed() > 20


@pytest.mark.parametrize("error_deg", [0.2, 0.5, 0.66])
@pytest.mark.parametrize("mode", ["visible", "plane"])
@pytest.mark.parametrize("name", ["VLP-16", "HDL-32E", "OS1-128"])
def test_beams_outside_the_field_of_view_return_nothing(
    name: str, mode: Mode, error_deg: float
) -> None:
    # UnitySensors issue 200: they took the border pixel and warped the ground
    column, row = np.meshgrid(np.arange(64), np.arange(32))
    left, up = (31.5 - column) * 8 / 60, (15.5 - row) * 8 / 60
    cloud = np.stack([np.full(left.shape, 8.0), left, up], axis=-1).reshape(-1, 3)
    beams = revolution(find_model(name))
    sensed = CameraLidar(beams, error_deg, 4, mode, source_spacing(cloud)).sense(cloud)
    assert sensed.hit.sum() > 1000
    azimuth = np.degrees(np.abs(beams.azimuth_rad[sensed.hit])).max()
    elevation = np.degrees(np.abs(beams.elevation_rad[sensed.hit])).max()
    assert azimuth <= np.degrees(np.arctan(32 / 60))
    assert elevation <= np.degrees(np.arctan(16 / 60))


@pytest.mark.parametrize("mode", ["visible", "plane"])
def test_what_is_behind_does_not_shine_through(mode: Mode) -> None:
    # a near wall, seen sparsely, before a dense far one
    near = on_plane(fan(np.arange(-30, 30, 0.4), np.arange(-18, 18, 0.4)), [1, 0, 0], 5.0)
    far = on_plane(fan(np.arange(-29, 29, 0.1), np.arange(-17, 17, 0.1)), [1, 0, 0], 20.0)
    cloud = np.concatenate([near, far])
    spacing = (np.radians(0.4), np.radians(0.4))
    sensed = CameraLidar(BEAMS, 0.2, 4, mode, spacing).sense(cloud)
    inside = np.abs(BEAMS.azimuth_rad) < np.radians(28)
    assert sensed.hit[inside].all()
    assert sensed.range_m[inside].max() < 8
    naive = CameraLidar(BEAMS, 0.2, 4, "nearest").sense(cloud)
    assert (naive.range_m[inside] > 8).mean() > 0.1  # a window is what prevents it


@pytest.mark.parametrize("mode", MODES)
def test_misses_of_the_source_are_no_returns(mode: Mode) -> None:
    odd = [
        [np.nan, 0, 0],
        [np.inf, 0, 0],
        [0, 0, 0],
        [5, np.nan, 1],
        [-np.inf, np.inf, 0],
        [1e300, 0, 0],
    ]
    cloud = np.concatenate([np.array(odd * 50), DENSE[::3] * 7])
    lidar = CameraLidar(BEAMS, 0.2, 4, mode, SPACING)
    sensed = lidar.sense(cloud)
    assert sensed.source[sensed.hit].min() >= 300
    assert np.isfinite(sensed.range_m[sensed.hit]).all()
    assert np.isnan(sensed.range_m[~sensed.hit]).all()


@pytest.mark.parametrize("mode", MODES)
def test_a_cloud_of_nothing_gives_misses(mode: Mode) -> None:
    lidar = CameraLidar(BEAMS, 0.5, 4, mode, SPACING)
    for cloud in (np.zeros((0, 3)), np.zeros((4, 3)), np.full((4, 3), np.nan)):
        assert not lidar.sense(cloud).hit.any()


@pytest.mark.parametrize("mode", MODES)
def test_sensing_is_deterministic_and_does_not_touch_its_input(mode: Mode) -> None:
    cloud = on_plane(DENSE, [0, 0, -1], 1.8)
    cloud.flags.writeable = False
    lidar = CameraLidar(BEAMS, 0.2, 4, mode, SPACING)
    one, two = lidar.sense(cloud), lidar.sense(cloud)
    assert one.source.tobytes() == two.source.tobytes()
    assert one.range_m.tobytes() == two.range_m.tobytes()


def test_range_limits_make_misses_that_still_hide_what_is_behind() -> None:
    rays = fan(np.arange(-20, 20, 0.1), np.arange(-16, 16, 0.1))
    cloud = np.concatenate([rays * 0.5, rays * 30])
    lidar = CameraLidar(BEAMS, 0.2)
    sensed = lidar.sense(cloud, (1.0, 100.0))
    assert not sensed.hit.any()
    assert lidar.sense(rays * 30, (1.0, 100.0)).hit.any()
    assert not lidar.sense(rays * 30, (1.0, 29.0)).hit.any()


def test_every_field_comes_from_the_seen_point() -> None:
    cloud = np.concatenate([DENSE * 20, DENSE * 5])
    for mode in MODES:
        lidar = CameraLidar(BEAMS, 0.2, 4, mode, SPACING)
        sensed = lidar.sense(cloud)
        assert sensed.source[sensed.hit].min() >= len(DENSE)
        seen = cloud[sensed.source[sensed.hit]]
        directions = lidar.directions[sensed.hit]
        cosine = (seen * directions).sum(axis=1) / np.linalg.norm(seen, axis=1)
        angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
        assert angle.max() <= (max(lidar.window) + 1) * 0.2


def test_window_modes_need_the_spacing_and_a_texture_that_fits() -> None:
    with pytest.raises(UsageError, match="need the spacing"):
        CameraLidar(BEAMS, 0.2, mode="plane")
    with pytest.raises(UsageError, match="use a larger value, or mode nearest"):
        CameraLidar(BEAMS, 0.005, mode="visible", spacing_rad=SPACING)
