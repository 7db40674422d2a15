"""Sizes of raindrops and snowflakes, how many there are, and how they weaken a beam.

Both fall off exponentially: N(D) = N0 exp(-slope D), with D the diameter of a drop, or of the drop
that a flake melts to. Rain: Marshall and Palmer, The distribution of raindrops with size, Journal
of Meteorology 5, 1948. Snow: Gunn and Marshall, The distribution with size of aggregate snowflakes,
Journal of Meteorology 15, 1958.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

WATER_KG_M3: Final = 1000.0
_RAIN_DENSITY: Final = 8000.0  # N0, per m^3 and mm
_RAIN_SLOPE: Final = (4.1, -0.21)  # a R^b, per mm
_SNOW_DENSITY: Final = (3800.0, -0.87)
_SNOW_SLOPE: Final = (2.55, -0.48)
_EXTINCTION_EFFICIENCY: Final = 2.0  # of what is far larger than the wavelength (van de Hulst 1957)
_SECONDS_AN_HOUR: Final = 3600.0
_MM3_A_M3: Final = 1e-9
_MM2_A_M2: Final = 1e-6


@dataclass(frozen=True)
class Particles:
    """An exponential distribution of sizes.

    Attributes:
        density: N0, particles a cubic metre and millimetre of D.
        slope: per millimetre of D.
        swelling: diameter of a particle over that of the drop it melts to.
        reflectivity: of its cross-section, 1: white.
        smallest_mm: D from which it returns an echo of its own.
    """

    density: float
    slope: float
    swelling: float
    reflectivity: float
    smallest_mm: float

    @property
    def extinction_per_m(self) -> float:
        """Return the integral of Q pi/4 (swelling D)^2 N(D) dD, Q = 2: geometric optics, 1/m."""
        area_mm2 = math.pi / 4 * self.swelling**2 * self.density * 2 / self.slope**3
        return _EXTINCTION_EFFICIENCY * area_mm2 * _MM2_A_M2

    @property
    def water_kg_m3(self) -> float:
        """Return the water in a cubic metre of air, the integral of rho pi/6 D^3 N(D) dD."""
        return math.pi * WATER_KG_M3 * self.density / self.slope**4 * _MM3_A_M3


def raindrops(rate_mm_h: float, reflectivity: float, smallest_mm: float) -> Particles:
    """Return the drops of rain of a rate above 0."""
    slope = _RAIN_SLOPE[0] * rate_mm_h ** _RAIN_SLOPE[1]
    return Particles(_RAIN_DENSITY, slope, 1.0, reflectivity, smallest_mm)


def snowflakes(
    rate_mm_h: float,
    terminal_velocity_m_s: float | None,
    flake_density: float,
    reflectivity: float,
    smallest_mm: float,
) -> Particles:
    """Return the flakes of snow of a rate above 0, in millimetres of water an hour.

    Given a fall speed v, N0 is such that the air holds the water that falls, rate / v: half the
    speed is twice the flakes (the relation of Hahner et al., Lidar snowfall simulation, CVPR 2022,
    here by conservation of mass). Without one it is that of Gunn and Marshall, which amounts to
    about 1 m/s at every rate.

    Args:
        rate_mm_h: water.
        terminal_velocity_m_s: at which flakes fall.
        flake_density: of a flake over that of water; its volume is as many times the drop's.
        reflectivity: of a flake's cross-section.
        smallest_mm: melted diameter from which a flake returns an echo of its own.
    """
    slope = _SNOW_SLOPE[0] * rate_mm_h ** _SNOW_SLOPE[1]
    density = _SNOW_DENSITY[0] * rate_mm_h ** _SNOW_DENSITY[1]
    swelling = flake_density ** (-1 / 3)
    if terminal_velocity_m_s is not None:
        flux = rate_mm_h / 1000 / _SECONDS_AN_HOUR * WATER_KG_M3  # kg a square metre and second
        one = Particles(1.0, slope, swelling, reflectivity, smallest_mm)
        density = flux / terminal_velocity_m_s / one.water_kg_m3
    return Particles(density, slope, swelling, reflectivity, smallest_mm)
