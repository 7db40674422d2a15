from __future__ import annotations

import numpy as np
import pytest
from analytic_scene import scan
from numpy.typing import NDArray

from bagnoise.lidar.ground import Plane, evenly, ground_plane, plane_of

ORIGIN = np.zeros(3)


def street(
    pitch_deg: float, roll_deg: float, height_m: float, seed: int = 0
) -> NDArray[np.float64]:
    """Make ground that is tilted, two house fronts, a car's roof, leaves of trees, and outliers."""
    rng = np.random.default_rng(seed)
    flat = np.exp(rng.uniform(np.log(2), np.log(50), 8000))
    turn = rng.uniform(-np.pi, np.pi, 8000)
    ground = np.stack([flat * np.cos(turn), flat * np.sin(turn), np.full(8000, -height_m)], 1)
    ground[:, 2] += rng.normal(0, 0.015, 8000)
    front = np.stack(
        [
            rng.uniform(-30, 30, 6000),
            rng.choice([-9.0, 12.0], 6000),
            rng.uniform(-height_m, 8, 6000),
        ],
        1,
    )
    roof = rng.uniform([3, -1, -0.4], [7, 1, -0.3], (3000, 3))
    leaves = rng.uniform([-20, -20, 1], [20, 20, 6], (2000, 3))
    below = rng.uniform([-20, -20, -height_m - 3], [20, 20, -height_m], (60, 3))
    points = np.concatenate([ground, front, roof, leaves, below])
    p, r = np.radians([pitch_deg, roll_deg])
    pitch = np.array([[np.cos(p), 0, np.sin(p)], [0, 1, 0], [-np.sin(p), 0, np.cos(p)]])
    roll = np.array([[1, 0, 0], [0, np.cos(r), -np.sin(r)], [0, np.sin(r), np.cos(r)]])
    turned: NDArray[np.float64] = points @ (roll @ pitch).T
    return turned


def normal_of(pitch_deg: float, roll_deg: float) -> NDArray[np.float64]:
    p, r = np.radians([pitch_deg, roll_deg])
    return np.array([np.sin(p), -np.sin(r) * np.cos(p), np.cos(r) * np.cos(p)])


@pytest.mark.parametrize(
    ("pitch_deg", "roll_deg", "height_m"),
    [(0, 0, 1.8), (0, 0, 0.5), (5, 0, 1.8), (-3, 4, 1.2), (12, -6, 2.5)],
)
def test_tilted_ground_among_walls_and_outliers(
    pitch_deg: float, roll_deg: float, height_m: float
) -> None:
    plane = ground_plane(street(pitch_deg, roll_deg, height_m), ORIGIN, 0.1)
    assert plane is not None
    off_deg = np.degrees(np.arccos(np.clip(plane.normal @ normal_of(pitch_deg, roll_deg), -1, 1)))
    assert off_deg < 0.15
    assert plane.offset == pytest.approx(height_m, abs=0.02)


def test_the_lidar_may_be_elsewhere_in_the_frame() -> None:
    mount = np.array([1.2, 0.3, 2.0])
    plane = ground_plane(street(2, 0, 1.8) + mount, mount, 0.1)
    assert plane is not None
    assert plane.heights_m(mount[None])[0] == pytest.approx(1.8, abs=0.02)


def test_the_analytic_scene() -> None:
    cloud = scan()
    plane = ground_plane(cloud, ORIGIN, 0.1)
    assert plane is not None
    ground = np.abs(plane.heights_m(cloud)) < 0.1
    assert np.degrees(np.arccos(plane.normal[2])) < 0.2
    assert ground.mean() > 0.2


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 3)),
        np.array([[5.0, 0, -1]]),
        np.random.default_rng(0).uniform([-9, -9, 1], [9, 9, 5], (3000, 3)),
        np.stack([np.full(900, 6.0), np.linspace(-0.3, 0.3, 900), np.linspace(-5, 5, 900)], 1),
    ],
    ids=["empty", "one point", "all above", "a post"],
)
def test_there_may_be_no_ground(points: NDArray[np.float64]) -> None:
    assert ground_plane(points, ORIGIN, 0.2) is None


def test_a_given_plane_is_upward_and_of_length_1() -> None:
    plane = plane_of((0.0, 0.0, -2.0, -3.0))
    assert plane == Plane(plane.normal, 1.5)
    assert plane.normal.tolist() == [0, 0, 1]
    assert plane.heights_m(np.array([[4.0, 5.0, -1.5], [0, 0, 0]])).tolist() == [0, 1.5]


@pytest.mark.parametrize("rings", [16, 32, 40, 64, 128])
@pytest.mark.parametrize("columns", [900, 1024, 1800, 2048])
def test_a_part_of_a_cloud_has_all_its_rings_and_columns(rings: int, columns: int) -> None:
    count = rings * columns
    for most in (3000, 8192, 12_000):
        rows = np.arange(count)[evenly(count, most)]
        assert len(rows) <= most + 1
        assert len(rows) > min(count, most) / 7  # the worst: from 2 to 7
        assert len(set((rows % rings).tolist())) == rings
        assert len(set((rows // columns).tolist())) == rings


def test_ground_of_one_ring_in_sixteen_is_found_in_a_big_cloud() -> None:
    """Rings in turn, as drivers publish them; only the lowest four see the ground."""
    turn, ring = np.divmod(np.arange(16 * 12_000), 16)
    azimuth = turn / 12_000 * 2 * np.pi
    flat = np.where(ring < 4, 1.5 / np.tan(np.radians(18.0 - 4 * ring)), 40.0)
    height = np.where(ring < 4, -1.5, flat * np.tan(np.radians(ring - 3.0)))
    cloud = np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), height], 1)
    plane = ground_plane(cloud, ORIGIN, 0.1)
    assert plane is not None
    assert plane.offset == pytest.approx(1.5, abs=0.01)
