"""Echoes of single particles against drawing every drop of every beam, and against integrals."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats
from statistics_checks import ALPHA, share_is

from bagnoise.lidar.particle_echoes import (
    ParticleAir,
    expected_above,
    farthest_echoes,
    particle_table,
    strongest_echoes,
)
from bagnoise.lidar.particles import Particles, raindrops, snowflakes
from bagnoise.lidar.receiver import Echoes, least_power

COUNT = 40_000
BEAMS = 12_000  # drawn drop by drop
LEAST = least_power(200.0, 0.9)
SNOW = ParticleAir(snowflakes(2.0, None, 0.1, 0.9, 0.05), 0.005, 10.0, 3.0, (1.0, 10.0), LEAST)
NARROW = ParticleAir(raindrops(30.0, 0.02, 0.05), 0.003, 0.0, 3.0, (1.0, 1.1), LEAST / 10)
AIRS = {"snow": SNOW, "rain, beam of no width at the lidar": NARROW}


def rng(seed: int = 11) -> np.random.Generator:
    return np.random.default_rng(seed)


def one_power(air: ParticleAir, range_m: Any, size_mm: Any) -> Any:
    """The formula of the module's first lines, spelled again."""
    start, end = air.crossover_m
    seen = np.clip((range_m - start) / (end - start), 0, 1)
    beam_mm = air.exit_diameter_mm + air.divergence_mrad * range_m
    filled = np.minimum(1, (air.particles.swelling * size_mm / beam_mm) ** 2)
    loss = np.exp(-2 * air.alpha_per_m * range_m)
    return air.particles.reflectivity * filled * seen * loss / range_m**2


def all_drops(
    air: ParticleAir, range_m: float, generator: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw every particle of one beam: ranges in its cone by rejection, sizes; their powers."""
    sizes = air.particles
    widest_mm = air.exit_diameter_mm + air.divergence_mrad * range_m
    per_m3 = sizes.density / sizes.slope * np.exp(-sizes.slope * sizes.smallest_mm)
    tube_m3 = np.pi / 4 * (widest_mm / 1000) ** 2 * range_m
    place = generator.random(generator.poisson(per_m3 * tube_m3)) * range_m
    beam_mm = air.exit_diameter_mm + air.divergence_mrad * place
    place = place[generator.random(len(place)) < (beam_mm / widest_mm) ** 2]
    size_mm = sizes.smallest_mm + generator.exponential(1 / sizes.slope, len(place))
    return place, one_power(air, place, size_mm)


@cache
def drawn(kind: str, range_m: float, *, farthest: bool = False) -> Echoes:
    """Return what single drops give: the strongest, or the farthest that is detected."""
    generator = rng(99)
    places, powers = np.zeros(BEAMS), np.zeros(BEAMS)
    for beam in range(BEAMS):
        place, power = all_drops(AIRS[kind], range_m, generator)
        found = np.flatnonzero(power > AIRS[kind].least)
        if len(found):
            best = found[(place if farthest else power)[found].argmax()]
            places[beam], powers[beam] = place[best], power[best]
    return Echoes(places, powers)


def made(air: ParticleAir, range_m: float, *, farthest: bool = False) -> Echoes:
    table = particle_table(air)
    assert table is not None
    ranges = np.full(COUNT, range_m)
    if farthest:
        return farthest_echoes(table, air, ranges, np.ones(COUNT, bool), rng())
    return strongest_echoes(table, ranges, np.full(COUNT, air.least), rng())


def same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Two-sample Kolmogorov-Smirnov test."""
    return bool(stats.ks_2samp(one, other).pvalue > ALPHA)


def as_often(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> bool:
    """Fisher's exact test of two frequencies."""
    table = [[int(x.sum()), int((~x).sum())] for x in (one, other)]
    return bool(stats.fisher_exact(table).pvalue > ALPHA)


@pytest.mark.parametrize("range_m", [6.0, 25.0])
@pytest.mark.parametrize("kind", AIRS)
def test_the_strongest_is_that_of_drops_drawn_one_by_one(kind: str, range_m: float) -> None:
    truth, fast = drawn(kind, range_m), made(AIRS[kind], range_m)
    hits, echoes = truth.power > 0, fast.power > 0
    assert 100 < hits.sum() < BEAMS
    assert as_often(hits, echoes)
    assert same(np.log(truth.power[hits]), np.log(fast.power[echoes]))
    assert same(truth.range_m[hits], fast.range_m[echoes])
    assert (fast.range_m <= range_m).all()


def test_the_comparison_sees_a_wider_beam_and_other_flakes() -> None:
    truth = drawn("snow", 25.0)
    hits = truth.power > 0
    wide = made(replace(SNOW, divergence_mrad=4.0), 25.0)
    assert not same(truth.range_m[hits], wide.range_m[wide.power > 0])
    assert not as_often(hits, made(replace(SNOW, least=1.2 * LEAST), 25.0).power > 0)
    smaller = replace(SNOW.particles, slope=1.1 * SNOW.particles.slope)
    light = made(replace(SNOW, particles=smaller), 25.0)
    assert not same(np.log(truth.power[hits]), np.log(light.power[light.power > 0]))


@pytest.mark.parametrize("kind", AIRS)
def test_the_farthest_is_that_of_drops_drawn_one_by_one(kind: str) -> None:
    truth, fast = drawn(kind, 25.0, farthest=True), made(AIRS[kind], 25.0, farthest=True)
    hits, echoes = truth.power > 0, fast.power > 0
    assert as_often(hits, echoes)
    assert same(truth.range_m[hits], fast.range_m[echoes])
    assert same(np.log(truth.power[hits]), np.log(fast.power[echoes]))
    strongest = made(AIRS[kind], 25.0)
    assert not same(truth.range_m[hits], strongest.range_m[strongest.power > 0])


def expected(air: ParticleAir, range_m: float, power: float) -> float:
    """Integrate mu(p, R) by quadrature over range, sizes by their closed form."""
    sizes = air.particles

    def per_m(r: float) -> float:
        full = one_power(air, r, 1e9)
        if full < power:
            return 0.0
        beam_mm = air.exit_diameter_mm + air.divergence_mrad * r
        needed_mm = max(beam_mm * np.sqrt(power / full) / sizes.swelling, sizes.smallest_mm)
        many = sizes.density / sizes.slope * np.exp(-sizes.slope * needed_mm)
        return float(np.pi / 4 * (beam_mm / 1000) ** 2 * many)

    start = air.crossover_m[0]
    pieces = [p for p in (1.05, air.crossover_m[1], 5.0, 14.0) if start < p < range_m]
    return float(integrate.quad(per_m, start, range_m, limit=500, points=pieces)[0])


@pytest.mark.parametrize("strength", [1.0, 4.0, 30.0])
@pytest.mark.parametrize("range_m", [3.0, 12.0, 80.0])
def test_the_table_is_the_integral(range_m: float, strength: float) -> None:
    table = particle_table(SNOW)
    assert table is not None
    at, power = np.array([range_m]), np.array([strength * LEAST])
    found = float(expected_above(table, at, power)[0])
    assert found == pytest.approx(expected(SNOW, range_m, strength * LEAST), rel=0.01, abs=1e-6)


def test_the_chance_of_an_echo_is_that_of_a_poisson_process() -> None:
    table = particle_table(SNOW)
    assert table is not None
    above = 3 * LEAST
    got = strongest_echoes(table, np.full(COUNT, 30.0), np.full(COUNT, above), rng(4))
    chance = 1 - np.exp(-expected(SNOW, 30.0, above))
    hits = int((got.power > 0).sum())
    assert share_is(hits, COUNT, chance)
    assert not share_is(hits, COUNT, chance * 1.1)
    assert (got.power[got.power > 0] > above).all()


def test_nothing_is_seen_of_particles_that_are_too_dark() -> None:
    dark = replace(SNOW, particles=replace(SNOW.particles, reflectivity=1e-5))
    assert particle_table(dark) is None
    black = replace(SNOW, particles=replace(SNOW.particles, reflectivity=0.0))
    assert particle_table(black) is None


@pytest.mark.parametrize("rate", [0.5, 2.0, 10.0, 50.0])
def test_raindrops_hold_the_water_of_marshall_and_palmer(rate: float) -> None:
    drops = raindrops(rate, 0.02, 0.05)
    assert drops.water_kg_m3 == pytest.approx(88.9e-6 * rate**0.84, rel=2e-3)
    assert drops.extinction_per_m == pytest.approx(quadrature(drops), rel=1e-6)
    assert drops.extinction_per_m == pytest.approx(3.65e-4 * rate**0.63, rel=5e-3)


def quadrature(sizes: Particles) -> float:
    """Integrate the extinction over sizes, 1/m."""

    def per_mm(d: float) -> float:
        shadow_m2 = np.pi / 4 * (sizes.swelling * d / 1000) ** 2
        return float(2 * shadow_m2 * sizes.density * np.exp(-sizes.slope * d))

    return float(integrate.quad(per_mm, 0, 60 / sizes.slope)[0])


@pytest.mark.parametrize("rate", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("fall_m_s", [0.4, 1.2, 1.6, 2.0])
def test_snow_falls_as_much_as_it_is_told_to(rate: float, fall_m_s: float) -> None:
    flakes = snowflakes(rate, fall_m_s, 0.1, 0.9, 0.05)
    assert flakes.water_kg_m3 * fall_m_s * 3600 == pytest.approx(rate)  # kg/m^2 is mm
    assert flakes.extinction_per_m == pytest.approx(quadrature(flakes), rel=1e-6)


def test_gunn_and_marshalls_snow_falls_at_about_a_metre_a_second() -> None:
    for rate in (0.3, 1.0, 2.5):
        flakes = snowflakes(rate, None, 0.1, 0.9, 0.05)
        assert rate / 3600 / flakes.water_kg_m3 == pytest.approx(1.0, abs=0.1)
        heavier = snowflakes(rate, None, 0.8, 0.9, 0.05)
        assert flakes.extinction_per_m == pytest.approx(4 * heavier.extinction_per_m)
