"""Ground under water: Fresnel, what is thrown back inside, and the film's absorption."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate

from bagnoise.lidar.wet import (
    Film,
    faintest_by_range,
    fresnel_transmittance,
    internal_reflectance,
    wet_share,
)

WATER = 1.33
FULL = Film(0.002, 0.001, WATER, 0.0)


def cosines(*angles_deg: float) -> np.ndarray:
    return np.cos(np.radians(angles_deg))


def test_fresnel_at_known_angles() -> None:
    normal, brewster, grazing = fresnel_transmittance(
        cosines(0, math.degrees(math.atan(WATER)), 90), WATER
    )
    assert normal == pytest.approx(1 - ((WATER - 1) / (WATER + 1)) ** 2)
    # at Brewster's angle only the light polarised across is reflected
    across = ((WATER**2 - 1) / (WATER**2 + 1)) ** 2
    assert brewster == pytest.approx(1 - across / 2)
    assert grazing == pytest.approx(0, abs=1e-12)
    falling = fresnel_transmittance(cosines(*range(60, 90)), WATER)
    assert (np.diff(falling) < 0).all()


def test_diffuse_light_inside_is_thrown_back_by_about_half() -> None:
    """Integrate Fresnel's reflectance from inside, total reflection included."""

    def part(theta: float) -> float:
        inside, sine = math.cos(theta), WATER * math.sin(theta)
        if sine >= 1:
            return 2 * inside * math.sin(theta)
        outside = math.sqrt(1 - sine**2)
        across = (WATER * inside - outside) / (WATER * inside + outside)
        along = (inside - WATER * outside) / (inside + WATER * outside)
        return (across**2 + along**2) / 2 * 2 * inside * math.sin(theta)

    limit = math.asin(1 / WATER)
    total = integrate.quad(part, 0, math.pi / 2, points=[limit])[0]
    assert internal_reflectance(WATER) == pytest.approx(total, abs=2e-4)
    assert internal_reflectance(WATER) == pytest.approx(0.472, abs=2e-3)
    assert internal_reflectance(1.0) == pytest.approx(0, abs=1e-12)


def test_the_film_at_normal_incidence_by_hand() -> None:
    passed = (1 - ((WATER - 1) / (WATER + 1)) ** 2) ** 2
    expected = passed / WATER**2 / (1 - 0.1 * internal_reflectance(WATER))
    assert wet_share(np.ones(1), 0.1, FULL)[0] == pytest.approx(expected)
    assert expected == pytest.approx(0.57, abs=0.01)


def test_energy_is_kept() -> None:
    """White ground that absorbs nothing returns all light: w over all directions averages to 1."""
    sine2 = (np.arange(20_000) + 0.5) / 20_000
    out = fresnel_transmittance(np.sqrt(1 - sine2), WATER) / WATER**2
    inside = 1 - internal_reflectance(WATER)
    assert out.mean() / inside == pytest.approx(1, abs=1e-3)


def test_depth_covers_the_texture_and_absorbs() -> None:
    half = Film(0.0005, 0.001, WATER, 0.0)
    wet = wet_share(np.ones(1), 0.2, FULL)[0]
    assert wet_share(np.ones(1), 0.2, half)[0] == pytest.approx(0.5 + 0.5 * wet)
    absorbing = Film(0.002, 0.001, WATER, 1100.0)
    assert wet_share(np.ones(1), 0.2, absorbing)[0] == pytest.approx(wet * math.exp(-4.4))
    slant = wet_share(cosines(60), 0.1, absorbing)[0] / wet_share(cosines(60), 0.1, FULL)[0]
    longer = 1 / math.sqrt(1 - 0.75 / WATER**2)
    assert slant == pytest.approx(math.exp(-4.4 * longer))
    assert wet_share(np.ones(1), 0.2, Film(0.0, 0.0, WATER, 0.0))[0] == pytest.approx(wet)


def test_wet_ground_is_darker_the_flatter_the_beam() -> None:
    angles = cosines(0, 30, 60, 80, 88, 90)
    share = wet_share(angles, 0.1 * angles, FULL)
    assert (np.diff(share) < 0).all()
    assert share[-1] == pytest.approx(0)
    assert ((share >= 0) & (share <= 1)).all()


def test_the_faintest_echo_by_range() -> None:
    rng = np.random.default_rng(2)
    ranges = rng.uniform(2, 50, 20_000)
    echo = ranges * rng.uniform(1, 2, len(ranges))
    found = faintest_by_range(ranges, echo)
    inner = (ranges > 4) & (ranges < 45)
    assert found[inner] == pytest.approx(1.02 * ranges[inner], rel=0.12)
    assert (faintest_by_range(ranges[:3], echo[:3]) == 0).all()
    assert np.ptp(faintest_by_range(np.full(50, 7.0), np.arange(50.0))) == 0
