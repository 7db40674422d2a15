from __future__ import annotations

import math

import numpy as np
import pytest
from analytic_scene import scan

from bagnoise.errors import MessageError
from bagnoise.lidar.beams import revolution
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar, Sensed
from bagnoise.lidar.spacing import source_spacing
from bagnoise.lidar.summary import (
    SenseFigures,
    incidence_tangents,
    sense_figures,
    summarise,
)


def test_rings_give_both_spacings() -> None:
    spacing = source_spacing(scan())
    assert np.degrees(spacing) == pytest.approx([360 / 2048, 45 / 127], rel=1e-3)
    assert spacing.auto_error_deg == pytest.approx(45 / 127 / math.sqrt(2), rel=1e-3)


def test_a_ring_field_counts_where_there_is_one() -> None:
    cloud = scan(columns=360, rings=8)
    rings = np.arange(len(cloud)) % 2
    found = source_spacing(cloud, rings.astype(np.int32))
    assert found != source_spacing(cloud)


@pytest.mark.parametrize("seed", [1, 2])
def test_without_rings_the_fourth_neighbour_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 40_000
    azimuth, z = rng.uniform(-np.pi, np.pi, count), rng.uniform(-0.4, 0.4, count)
    flat = np.sqrt(1 - z * z)
    cloud = 9 * np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), z], axis=1)
    spacing = source_spacing(cloud)
    area = 2 * np.pi * 0.8 / count
    assert spacing.azimuth_rad == spacing.elevation_rad
    assert spacing.azimuth_rad == pytest.approx(1.1 * np.sqrt(area), rel=0.1)


def test_misses_do_not_count_and_nothing_is_an_error() -> None:
    cloud = scan(columns=360, rings=16)
    holed = np.concatenate([cloud, np.zeros((50, 3), np.float32), np.full((50, 3), np.nan)])
    assert source_spacing(holed.astype(np.float32)) == source_spacing(cloud)
    with pytest.raises(MessageError, match="at least 8"):
        source_spacing(np.zeros((100, 3)))


def test_summary_warns_of_a_texture_finer_than_its_source() -> None:
    beams = revolution(find_model("VLP-16"))
    spacing = source_spacing(scan())
    fine = summarise(CameraLidar(beams, 0.05), spacing, 0.03)
    assert "0.25 would fit" in fine.warnings[0]
    assert (fine.texture_columns, fine.texture_rows) == (1621, 615)
    assert fine.bound_deg == pytest.approx(0.05)
    assert fine.beam_to_point_deg == pytest.approx(0.1)
    assert fine.ignored_origin_offset_m == 0.03
    fitting = summarise(CameraLidar(beams, 0.2, mode="plane", spacing_rad=spacing), spacing)
    assert fitting.warnings == ()
    assert fitting.beam_to_point_deg == pytest.approx(6 * 0.2)


def test_incidence_on_the_ground_is_that_of_the_beam() -> None:
    beams = revolution(find_model("VLP-16"))
    down = beams.elevation_rad < 0
    ranges = np.full(len(beams), np.nan, np.float32)
    ranges[down] = 1.8 / -np.sin(beams.elevation_rad[down])
    tangents = incidence_tangents(beams, ranges).reshape(beams.columns, 16)
    truth = 1 / np.tan(np.radians(14))  # between the beams at -15 and -13 deg
    assert np.median(tangents[:, 0][:-1]) == pytest.approx(truth, rel=0.02)
    figures = sense_figures(beams, Sensed(np.where(down, 0, -1), ranges), 0.2)
    assert figures.miss_share == 0.5
    assert figures.worst_relative == pytest.approx(np.radians(0.2) / np.tan(np.radians(6)), rel=0.3)
    assert figures.plus(SenseFigures(10, 10)).misses == figures.misses + 10
    assert SenseFigures().miss_share == 0
