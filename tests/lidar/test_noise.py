from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from statistics_checks import are_uncorrelated, is_normal, mean_is, std_is

from bagnoise.errors import UsageError
from bagnoise.lidar.noise import (
    beam_biases,
    bias_of_rows,
    noisy_intensity,
    quantized,
    quantized_ranges,
    range_noise,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

COUNT = 40_000
ORIGIN = np.array([1.2, 0.0, 0.8])


def rng() -> np.random.Generator:
    return np.random.default_rng(77)


def sphere(range_m: float, dtype: Any = np.float64) -> NDArray[Any]:
    rays = np.random.default_rng(1).normal(size=(COUNT, 3))
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    return (ORIGIN + range_m * rays).astype(dtype)


def ranges(xyz: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.linalg.norm(np.asarray(xyz, float) - ORIGIN, axis=1))


@pytest.mark.parametrize("range_m", [5.0, 50.0])
def test_sigma_grows_with_range(range_m: float) -> None:
    cloud = sphere(range_m)
    moved = range_noise(cloud, ORIGIN, 0.02, rng(), std_per_m=0.001, bias_m=0.05)
    shift = ranges(moved.xyz) - range_m
    sigma = 0.02 + 0.001 * range_m
    assert is_normal(shift, 0.05, sigma)
    assert std_is(shift, sigma)
    assert mean_is(shift, 0.05, sigma)
    assert not std_is(shift, sigma * 1.05)
    assert not mean_is(shift, 0.05 + sigma / 20, sigma)


def test_noise_is_along_the_beam_from_the_sensor() -> None:
    cloud = np.array([[6.2, 0, 0.8], [1.2, 5, 0.8], [4.2, 4.0, 0.3]], np.float32)
    moved = range_noise(cloud, ORIGIN, 0.5, rng())
    across = np.cross(moved.xyz - ORIGIN, cloud - ORIGIN)
    assert np.abs(across).max() < 1e-5
    assert moved.changed.all()
    wrong = range_noise(cloud, np.zeros(3), 0.5, rng())
    assert np.abs(np.cross(wrong.xyz - ORIGIN, cloud - ORIGIN)).max() > 1e-2


def test_misses_keep_their_bits_and_never_become_points() -> None:
    cloud = np.full((32, 3), np.inf, np.float32)
    cloud[::3] = [5, 0, 0.1]
    cloud[1] = np.frombuffer(b"\x01\x00\xa0\x7f" * 3, "<f4")  # a signalling NaN
    cloud[2] = 0
    moved = range_noise(cloud, np.zeros(3), 0.02, rng(), angle_std_deg=0.1)
    assert np.isfinite(moved.xyz).all(axis=1).sum() == 12
    rest = np.ones(32, bool)
    rest[::3] = False
    assert moved.xyz[rest].tobytes() == cloud[rest].tobytes()
    assert not moved.changed[rest].any()
    assert np.linalg.norm(moved.xyz[::3], axis=1).max() < 6


def test_rows_removed_before_do_not_move_the_noise() -> None:
    cloud = sphere(9.0)
    holed = cloud.copy()
    holed[::2] = np.nan
    whole, part = (range_noise(c, ORIGIN, 0.1, rng(), angle_std_deg=0.1) for c in (cloud, holed))
    assert (whole.xyz[1::2] == part.xyz[1::2]).all()


def test_no_noise_changes_no_bit() -> None:
    cloud = sphere(9.0, np.float32)
    moved = range_noise(cloud, ORIGIN, 0.0, rng())
    assert moved.xyz.tobytes() == cloud.tobytes()
    assert not moved.changed.any()


def test_a_near_return_does_not_cross_the_sensor() -> None:
    cloud = sphere(0.05)
    moved = range_noise(cloud, ORIGIN, 1.0, rng())
    assert ((moved.xyz - ORIGIN) * (cloud - ORIGIN)).sum(axis=1).min() > 0
    at_sensor = range_noise(np.array([ORIGIN, ORIGIN + 1]), ORIGIN, 1.0, rng())
    assert at_sensor.changed.tolist() == [False, True]


def test_directions_turn_by_their_sigma_about_both_axes() -> None:
    cloud = ORIGIN + np.tile([7.0, 0.0, 0.0], (COUNT, 1))
    moved = range_noise(cloud, ORIGIN, 0.0, rng(), angle_std_deg=0.3)
    arms = moved.xyz - ORIGIN
    assert ranges(moved.xyz) == pytest.approx(7)
    left, up = (np.degrees(np.arctan2(arms[:, axis], arms[:, 0])) for axis in (1, 2))
    assert std_is(left, 0.3)
    assert std_is(up, 0.3)
    assert are_uncorrelated(left, up)
    assert not std_is(left, 0.3 * 1.05)
    upright = range_noise(np.array([[0, 0, 5.0]] * 9), np.zeros(3), 0, rng(), angle_std_deg=1)
    assert np.isfinite(upright.xyz).all()


def test_beam_biases_are_by_ring() -> None:
    biases = beam_biases(COUNT, 0.03, rng())
    assert std_is(biases, 0.03)
    assert not std_is(biases, 0.0315)
    rows = bias_of_rows(np.array([0.1, 0.2]), np.array([1, 0, -1, 5], np.int32))
    assert rows.tolist() == [0.2, 0.1, 0, 0]


def test_ranges_are_rounded_to_steps_of_the_lidar() -> None:
    cloud = np.concatenate([sphere(7.0013), [[np.nan, 0, 0], [0, 0, 0]]])
    moved = quantized_ranges(cloud, ORIGIN, 0.004)
    assert ranges(moved.xyz[:-2]) == pytest.approx(7.0, abs=1e-9)
    assert moved.changed.tolist()[-2:] == [False, False]
    assert moved.xyz[-2:].tobytes() == cloud[-2:].tobytes()
    near = quantized_ranges(np.array([[0.001, 0, 0]]), np.zeros(3), 0.004)
    assert near.xyz[0, 0] == pytest.approx(0.004)
    assert quantized(np.array([0.26, np.nan]), 0.1)[0] == pytest.approx(0.3)


def test_intensity_noise_is_clamped_to_the_field() -> None:
    middle = noisy_intensity(np.full(COUNT, 100.0), 5.0, rng(), std_relative=0.02)
    assert is_normal(middle, 100, 7)
    assert not std_is(middle, 7 * 1.05)
    bytes_ = noisy_intensity(np.array([0, 255] * 500, np.uint8), 20.0, rng())
    assert (bytes_.min(), bytes_.max()) == (0, 255)
    assert noisy_intensity(np.full(1000, 0.9), 1.0, rng(), most=1.0).max() == 1
    kept = noisy_intensity(np.array([np.nan, 3.0], np.float32), 0.0, rng())
    assert np.isnan(kept[0])
    assert kept[1] == 3


@pytest.mark.parametrize("sigma", [-0.1, float("nan"), float("inf")])
def test_impossible_options(sigma: float) -> None:
    cloud = np.ones((2, 3))
    with pytest.raises(UsageError, match="std_m is"):
        range_noise(cloud, ORIGIN, sigma, rng())
    with pytest.raises(UsageError, match="std is"):
        noisy_intensity(np.ones(2), sigma, rng())
    with pytest.raises(UsageError, match="above 0"):
        quantized_ranges(cloud, ORIGIN, sigma)
