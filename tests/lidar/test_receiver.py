from __future__ import annotations

import math

import numpy as np
import pytest
from statistics_checks import is_normal, std_is

from bagnoise.lidar.receiver import (
    crossover,
    faint_range_noise,
    least_power,
    seen,
    target_power,
    transmission,
)

COUNT = 40_000


def test_attenuation_is_beer_lambert_both_ways() -> None:
    ranges = np.array([0.0, 10.0, 50.0])
    assert transmission(ranges, 0.02) == pytest.approx([1, math.exp(-0.4), math.exp(-2)])


def test_a_target_is_just_detected_at_its_farthest_range() -> None:
    least = least_power(200.0, 0.9)
    powers = target_power(np.array([199.9, 200.1, 50.0]), np.array([0.9, 0.9, 0.1]), 0.0)
    assert (powers >= least).tolist() == [True, False, True]
    # what was recorded was detected
    assert target_power(np.array([300.0]), np.array([0.0]), least)[0] == least


def test_the_crossover_is_linear_between_its_ranges() -> None:
    ranges = np.array([0.5, 1.0, 3.0, 5.0, 9.0])
    assert crossover(ranges, (1.0, 5.0)) == pytest.approx([0, 0, 0.5, 1, 1])


def test_which_echo_is_reported() -> None:
    target = np.array([5.0, 2.0, 5.0, 0.5, 0.5, 2.0])
    air = np.array([1.0, 3.0, 9.0, 0.9, 3.0, 2.0])
    strongest = seen(target, air, 1.0)
    assert strongest.target.tolist() == [True, False, False, False, False, True]
    assert strongest.air.tolist() == [False, True, True, False, True, False]
    last = seen(target, air, 1.0, last=True)
    assert last.target.tolist() == [True, True, True, False, False, True]
    assert last.air.tolist() == [False, False, False, False, True, False]


def test_range_noise_is_what_fading_adds() -> None:
    clear, left, least = 10.0, 1.5, 1.0
    errors = faint_range_noise(
        np.full(COUNT, clear), np.full(COUNT, left), least, 0.09, np.random.default_rng(8)
    )
    sigma = math.sqrt(0.09**2 / (2 * left) - 0.09**2 / (2 * clear))
    assert std_is(errors, sigma)
    assert is_normal(errors, 0, sigma)
    assert not std_is(errors, 0.09 / math.sqrt(2 * left))  # twice the noise of clear air


def test_no_fading_adds_no_noise() -> None:
    power = np.full(10, 3.0)
    assert (faint_range_noise(power, power, 1.0, 0.09, np.random.default_rng(8)) == 0).all()
    gone = faint_range_noise(power, np.zeros(10), 1.0, 0.09, np.random.default_rng(8))
    assert np.isfinite(gone).all()
