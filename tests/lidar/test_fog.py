"""Echoes of fog against integrals of the lidar equation, and their distributions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats
from statistics_checks import ALPHA, share_is

from bagnoise.lidar.fog import (
    FogAir,
    backscatter_of,
    extinction_of,
    fog_echoes,
    fog_profile,
)
from bagnoise.lidar.receiver import Echoes, least_power

COUNT = 40_000
ALPHA_PER_M = extinction_of(50.0)
LEAST = least_power(200.0, 0.9)
AIR = FogAir(ALPHA_PER_M, backscatter_of(ALPHA_PER_M), 5.0, (1.0, 10.0), 0.25, LEAST)
LONG = FogAir(0.06, 0.02, 20.0, (0.9, 1.0), 0.0, LEAST)  # pulse and crossover of Hahner et al.


def response(air: FogAir, range_m: float) -> float:
    """J(R) by quadrature, as the module's first lines spell it."""
    pulse_m = 0.299792458 * air.pulse_ns / 2
    start, end = air.crossover_m

    def part(r: float) -> float:
        seen = min(max((r - start) / (end - start), 0.0), 1.0)
        pulse = math.cos(math.pi * (range_m - r) / (2 * pulse_m)) ** 2
        return pulse * seen * math.exp(-2 * air.alpha_per_m * r) / r**2

    low, high = max(range_m - pulse_m, start), range_m + pulse_m
    corners = [end] if low < end < high else None
    return float(integrate.quad(part, low, high, points=corners, limit=200)[0])


@pytest.mark.parametrize("air", [AIR, LONG], ids=["defaults", "long pulse"])
@pytest.mark.parametrize("range_m", [1.0, 1.4, 2.5, 4.0, 9.5, 17.0])
def test_the_profile_is_the_lidar_equation(air: FogAir, range_m: float) -> None:
    profile = fog_profile(air)
    found = np.interp(range_m, profile.range_m, profile.power)
    expected = math.pi * air.beta_per_m_sr * response(air, range_m)
    assert found == pytest.approx(expected, rel=0.01)


def test_a_faint_echo_needs_no_table_beyond_it() -> None:
    profile = fog_profile(AIR)
    assert profile.power[-1] < LEAST / 10
    assert len(profile.range_m) < 40_000


def made(air: FogAir, range_m: float, above: float = 0.0) -> Echoes:
    ranges, powers = np.full(COUNT, range_m), np.full(COUNT, above)
    return fog_echoes(fog_profile(air), air, ranges, powers, np.random.default_rng(3))


@pytest.mark.parametrize(("target_m", "peak_m"), [(30.0, None), (1.2, 1.2), (1.5, 1.5)])
def test_even_fog_returns_its_peak_or_what_is_before_the_target(
    target_m: float, peak_m: float | None
) -> None:
    echo = made(replace(AIR, patchiness=0.0), target_m)
    where = np.linspace(1, 10, 901)
    powers = np.array([response(AIR, r) for r in where])
    if peak_m is None:
        peak_m = float(where[powers.argmax()])
        assert 1.5 < peak_m < 3
    assert echo.range_m == pytest.approx(np.full(COUNT, peak_m), abs=0.05)
    power = math.pi * AIR.beta_per_m_sr * response(AIR, peak_m)
    assert echo.power == pytest.approx(np.full(COUNT, power), rel=0.05)


def places_follow(found: NDArray[Any], air: FogAir, target_m: float) -> bool:
    """Kolmogorov-Smirnov test against the density J^(1/s) up to the target."""
    grid = np.linspace(air.crossover_m[0], target_m, 3000)
    density = np.array([response(air, r) for r in grid]) ** (1 / air.patchiness)
    steps = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    share = steps / steps[-1]
    return bool(stats.kstest(found, lambda x: np.interp(x, grid, share)).pvalue > ALPHA)


def log_sum(air: FogAir, target_m: float) -> float:
    grid = np.linspace(air.crossover_m[0], target_m, 3000)
    powers = math.pi * air.beta_per_m_sr * np.array([response(air, r) for r in grid])
    total = integrate.trapezoid(powers ** (1 / air.patchiness), grid)
    return math.log(total / (0.299792458 * air.pulse_ns / 2))


def powers_follow(found: NDArray[Any], air: FogAir, target_m: float) -> bool:
    """Kolmogorov-Smirnov test against the Gumbel distribution of the logarithm."""
    s = air.patchiness
    place = s * log_sum(air, target_m) - math.lgamma(1 - s)
    return bool(stats.kstest(np.log(found), stats.gumbel_r(place, s).cdf).pvalue > ALPHA)


@pytest.mark.parametrize("target_m", [2.5, 20.0])
def test_places_and_powers_of_patchy_fog(target_m: float) -> None:
    echo = made(AIR, target_m)
    assert places_follow(echo.range_m, AIR, target_m)
    assert powers_follow(echo.power, AIR, target_m)
    assert echo.range_m.max() <= target_m


def test_the_tests_see_another_crossover_pulse_and_patchiness() -> None:
    echo = made(AIR, 20.0)
    assert not places_follow(echo.range_m, replace(AIR, crossover_m=(1.2, 10.0)), 20.0)
    assert not powers_follow(echo.power, replace(AIR, beta_per_m_sr=1.03 * AIR.beta_per_m_sr), 20.0)
    assert not powers_follow(echo.power, replace(AIR, patchiness=0.26), 20.0)


def test_the_chance_that_fog_outshines_a_target() -> None:
    """P = 1 - exp(-C (Gamma(1 - s) p)^(-1/s)): the closed form of the strongest of many spots."""
    s, target_m = AIR.patchiness, 15.0
    power = 0.1 / target_m**2 * math.exp(-2 * ALPHA_PER_M * target_m)
    won = int((made(AIR, target_m, power).power > 0).sum())
    rate = math.exp(log_sum(AIR, target_m)) * (math.gamma(1 - s) * power) ** (-1 / s)
    chance = 1 - math.exp(-rate)
    assert 0.1 < chance < 0.9
    assert share_is(won, COUNT, chance)
    assert not share_is(won, COUNT, chance * 1.1)


def test_nothing_before_the_crossover_and_nothing_without_backscatter() -> None:
    profile = fog_profile(AIR)
    echo = fog_echoes(
        profile, AIR, np.array([0.3, 0.99, 1.0]), np.zeros(3), np.random.default_rng(0)
    )
    assert (echo.power == 0).all()
    clear = replace(AIR, beta_per_m_sr=0.0)
    assert (made(clear, 20.0).power == 0).all()


def test_meteorological_range() -> None:
    assert extinction_of(100.0) * 100 == pytest.approx(math.log(20))
    assert backscatter_of(extinction_of(100.0)) == pytest.approx(0.046 / 100)
