from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from bagnoise.errors import UsageError
from bagnoise.lidar.beams import Beams, revolution
from bagnoise.lidar.camera import (
    BeamPixels,
    beam_pixels,
    error_of_pitch,
    pixel_pitch,
    texture_for,
)
from bagnoise.lidar.models import find_model, lidar_models

ERRORS_DEG = (2.0, 0.5, 0.2, 0.1, 0.02)
LEVEL = [name for name in lidar_models() if name != "RS-Bpearl"]


def dense_beams(steepest_deg: float = 20.0) -> Beams:
    """Make beams at random everywhere: no grid may be favoured."""
    rng = np.random.default_rng(5)
    count = 200_000
    return Beams(
        rng.uniform(-np.pi, np.pi, count),
        np.radians(rng.uniform(-steepest_deg, steepest_deg, count)),
        np.zeros(count, np.int32),
        np.zeros(count, np.int64),
        count,
        1,
    )


@pytest.mark.parametrize("name", LEVEL)
def test_no_beam_is_farther_than_e_from_its_pixel_centre(name: str) -> None:
    beams = revolution(find_model(name))
    for error_deg, cameras in (*((error, 4) for error in ERRORS_DEG), (0.2, 7)):
        where = beam_pixels(beams, texture_for(beams, error_deg, cameras))
        assert where.angles_to_centres_deg().max() <= error_deg


@pytest.mark.parametrize("error_deg", ERRORS_DEG)
def test_the_bound_is_tight_and_a_coarser_pitch_breaks_it(error_deg: float) -> None:
    beams = dense_beams()
    texture = texture_for(beams, error_deg, 4)
    angles = beam_pixels(beams, texture).angles_to_centres_deg()
    assert 0.98 * error_deg < angles.max() <= error_deg
    coarse = replace(texture, pitch=texture.pitch * 1.02, columns=texture.columns + 1)
    assert beam_pixels(beams, coarse).angles_to_centres_deg().max() > error_deg


def test_half_a_pixel_matters() -> None:
    beams = dense_beams()
    texture = texture_for(beams, 0.2, 4)
    where = beam_pixels(beams, texture)
    shifted = replace(texture, left=texture.left - texture.pitch / 2)
    wrong = BeamPixels(shifted, where.camera, where.u, where.v, where.column, where.row)
    assert wrong.angles_to_centres_deg().max() > 0.2


def test_corners_are_covered_only_with_the_rows_factor() -> None:
    beams = revolution(find_model("VLP-16"))
    texture = texture_for(beams, 0.2, 4)
    clipped_rows = math.ceil(2 * math.tan(math.radians(15)) / texture.pitch)
    clipped = replace(texture, rows=clipped_rows, top=clipped_rows * texture.pitch / 2)
    assert beam_pixels(beams, texture).angles_to_centres_deg().max() <= 0.2
    assert beam_pixels(beams, clipped).angles_to_centres_deg().max() > 3


def test_the_nearest_pixel_in_the_plane_is_not_always_the_nearest_ray_yet_within_e() -> None:
    beams = dense_beams(45)
    texture = texture_for(beams, 0.5, 4)
    where = beam_pixels(beams, texture)
    own = where.angles_to_centres_deg()
    best = own.copy()
    for across in (-1, 0, 1):
        for down in (-1, 0, 1):
            other = replace(where, column=where.column + across, row=where.row + down)
            best = np.minimum(best, other.angles_to_centres_deg())
    not_nearest = float(np.mean(best < own - 1e-12))
    assert 0.01 < not_nearest < 0.2
    assert own.max() <= 0.5


@pytest.mark.parametrize("azimuth_deg", [-135, -45, 45, 135, -180, 180, 0, 90])
def test_beams_on_a_border_take_its_pixel_not_the_opposite_edge(azimuth_deg: float) -> None:
    beams = replace(
        dense_beams(),
        azimuth_rad=np.full(3, np.radians(azimuth_deg)),
        elevation_rad=np.radians([-15.0, 0.0, 15.0]),
    )
    where = beam_pixels(beams, texture_for(beams, 0.2, 4))
    assert where.angles_to_centres_deg().max() <= 0.2


@pytest.mark.parametrize(
    ("name", "error_deg", "cameras", "size"),
    [
        ("VLP-16", 0.2, 4, (406, 154)),
        ("VLP-16", 0.02, 4, (4052, 1536)),
        ("VLP-16", 0.1, 6, (468, 251)),
        ("HDL-32E", 0.5, 4, (163, 90)),
        ("HDL-32E", 0.05, 6, (936, 732)),
    ],
)
def test_known_texture_sizes(
    name: str, error_deg: float, cameras: int, size: tuple[int, int]
) -> None:
    texture = texture_for(revolution(find_model(name)), error_deg, cameras)
    assert (texture.columns, texture.rows) == size


def test_pitch_and_error_are_inverse() -> None:
    for error_deg in ERRORS_DEG:
        assert error_of_pitch(pixel_pitch(error_deg)) == pytest.approx(error_deg, rel=1e-9)
        assert error_of_pitch(pixel_pitch(error_deg)) <= error_deg


@pytest.mark.parametrize("cameras", [3, 2, 1, 0, -4])
def test_a_sweep_of_120_deg_is_refused(cameras: int) -> None:
    with pytest.raises(UsageError, match="less than 120 deg: use 4 cameras"):
        texture_for(revolution(find_model("VLP-16")), 0.2, cameras)


def test_steep_beams_are_refused_with_the_limit() -> None:
    with pytest.raises(UsageError, match=r"89\.5 deg steep.* 60 deg"):
        texture_for(revolution(find_model("RS-Bpearl")), 0.2, 4)


@pytest.mark.parametrize("error_deg", [0, -1, 11, float("nan"), float("inf")])
def test_impossible_errors(error_deg: float) -> None:
    with pytest.raises(UsageError, match="max_approx_error_deg"):
        texture_for(revolution(find_model("VLP-16")), error_deg, 4)


def test_beams_of_a_turn() -> None:
    beams = revolution(find_model("VLP-16"), 10)
    assert (len(beams), beams.columns, beams.channels) == (28_928, 1808, 16)
    assert np.degrees(beams.elevation_rad[:16]).tolist() == pytest.approx(range(-15, 16, 2))
    ahead = np.abs(beams.azimuth_rad.reshape(1808, 16)[904]).max()
    assert ahead < 1e-9
    clockwise = np.diff(beams.azimuth_rad.reshape(1808, 16)[1:, 0])
    assert (clockwise < 0).all()
    times = beams.time_ns.reshape(1808, 16)
    assert times[0].max() == 34_560
    assert 99_900_000 < times[-1, 0] < 100_000_000
    assert np.linalg.norm(beams.directions(), axis=1) == pytest.approx(1)


def test_azimuth_offsets_are_counterclockwise() -> None:
    model = find_model("VLP-32C")
    beams = revolution(model)
    middle = beams.azimuth_rad.reshape(beams.columns, 32)[904]
    assert np.degrees(middle).tolist() == pytest.approx(model.azimuth_offsets_deg, abs=1e-9)
