from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bagnoise.lidar.beams import revolution
from bagnoise.lidar.camera import texture_for
from bagnoise.lidar.models import find_model
from bagnoise.lidar.resample import CameraLidar
from bagnoise.lidar.zbuffer import (
    SparsePixels,
    pack,
    pixel_numbers,
    project,
    two_layers,
    unpack_depths,
    unpack_rows,
)

BEAMS = revolution(find_model("VLP-16"))


def brute_force(pixels: Any, depths: Any, beams: Any) -> list[int]:
    nearest: dict[int, tuple[float, int]] = {}
    for row, (pixel, depth) in enumerate(zip(pixels.tolist(), depths.tolist(), strict=True)):
        nearest[pixel] = min(nearest.get(pixel, (np.inf, -1)), (depth, row))
    return [nearest.get(pixel, (np.inf, -1))[1] for pixel in beams.tolist()]


@pytest.mark.parametrize("span", [1_000, 2_000_000, 2**40])
def test_sparse_buffer_equals_brute_force(span: int) -> None:
    rng = np.random.default_rng(1)
    beams = rng.integers(0, span, 3000)
    pixels = np.concatenate([rng.choice(beams, 2000), rng.integers(0, span, 5000)])
    # pixels that share the filter's remainder with one that is read
    pixels = np.concatenate([pixels, rng.choice(beams, 500) + (1 << 18)])
    depths = rng.choice(np.array([1.5, 2.0, 7.25], np.float32), len(pixels))
    sparse = SparsePixels(beams)
    places, slots = sparse.find(pixels)
    packed = sparse.nearest(slots, pack(depths[places], places))
    wanted = brute_force(pixels, depths, beams)
    assert unpack_rows(packed).tolist() == wanted
    assert np.isinf(unpack_depths(packed)).tolist() == [row < 0 for row in wanted]


def test_equal_depths_go_to_the_first_row() -> None:
    layers = two_layers(
        texture_for(BEAMS, 2, 4), np.array([5, 5, 5]), np.array([3.0, 2.0, 2.0], np.float32)
    )
    rows = unpack_rows(layers.reshape(-1)).reshape(2, -1)
    assert rows[:, 5].tolist() == [1, 2]
    assert (np.delete(rows, 5, axis=1) == -1).all()


def test_depth_bits_sort_like_depths() -> None:
    depths = np.sort(np.random.default_rng(2).uniform(1e-6, 1e6, 1000).astype(np.float32))
    assert (np.diff(pack(depths, np.zeros(1000, np.intp)).astype(object)) >= 0).all()


def test_what_no_camera_sees_is_left_out() -> None:
    texture = texture_for(BEAMS, 0.5, 4)
    nan, inf = np.nan, np.inf
    odd = [
        (nan, 0, 0),
        (5, nan, 0),
        (5, 0, nan),
        (inf, 0, 0),
        (5, inf, 0),
        (5, 0, inf),
        (0, 0, 0),
        (-5, 0, 0),
        (5, 0, 9),
        (5, 0, -9),
        (5, 6, 0),
        (1e-9, 0, 0),
        (inf, inf, inf),
    ]
    axis = texture.axis_rad(0)
    turn = np.array([[np.cos(axis), -np.sin(axis), 0], [np.sin(axis), np.cos(axis), 0], [0, 0, 1]])
    cloud = np.array([*odd, (5, 1, 0.5)], np.float64)
    with np.errstate(invalid="ignore"):
        x, y, z = (turn @ cloud.T).astype(np.float32)
    found = project(x, y, z, texture, 0)
    assert found.rows.tolist() == [len(odd)]
    assert (pixel_numbers(found, texture) < texture.pixels).all()


def test_memory_of_nearest_does_not_depend_on_e() -> None:
    sizes = []
    for error_deg in (0.2, 0.02, 0.002):
        lidar = CameraLidar(BEAMS, error_deg)
        sizes.append(sum(sector.sparse.nbytes for sector in lidar.sectors))
        sensed = lidar.sense(lidar.directions * 10)
        assert sensed.hit.mean() > 0.99  # float32 puts a few on the other side of a border
    assert max(sizes) < 1.1 * min(sizes) < 6e6
