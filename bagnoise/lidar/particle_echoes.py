"""Echoes of single particles in the beam: the strongest of them, or the farthest that is detected.

Particles are a Poisson process along the beam. One of diameter D at range r returns

    p = rho min(1, (D / d)^2) xi(r) exp(-2 alpha r) / r^2,    d = exit diameter + divergence r

(Kilic et al., Lidar light scattering augmentation, arXiv 2107.07004, 2021, who draw every drop of
every beam in a loop). Here mu(p, R) is the expected number of particles before R that return more
than p; the strongest of them returns less than p with the probability exp(-mu(p, R)). Table and
inversion give the same distribution as drawing all drops, at two numbers a beam.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.lidar.receiver import Echoes, crossover, transmission

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.lidar.particles import Particles
    from bagnoise.rng import Draws

_RANGES: Final = 384
_POWERS: Final = 384
_MM_A_M: Final = 1000.0


@dataclass(frozen=True)
class ParticleAir:
    """What the particles, the beam and the receiver are like.

    Attributes:
        particles: their sizes and numbers.
        alpha_per_m: extinction.
        exit_diameter_mm: of the beam at the lidar.
        divergence_mrad: full angle.
        crossover_m: ranges at which the receiver begins and ends to see all of the beam.
        least: power that is detected.
    """

    particles: Particles
    alpha_per_m: float
    exit_diameter_mm: float
    divergence_mrad: float
    crossover_m: tuple[float, float]
    least: float

    def beam_mm(self, range_m: NDArray[Any]) -> NDArray[Any]:
        """Return the diameter of the beam, (n,)."""
        return self.exit_diameter_mm + self.divergence_mrad * range_m

    def full_power(self, range_m: NDArray[Any]) -> NDArray[np.float64]:
        """Return what a particle that fills the beam returns, (n,)."""
        share = crossover(range_m, self.crossover_m) * transmission(range_m, self.alpha_per_m)
        return np.asarray(self.particles.reflectivity * share / range_m**2)


@dataclass(frozen=True, eq=False)
class ParticleTable:
    """Expected numbers of particles.

    Attributes:
        range_m: (k,) in a geometric row, from the crossover's start to the farthest echo.
        power: (m,) in a geometric row from the least that is detected to the greatest.
        count: mu, (k, m), of particles before a range that return more than a power.
        keys: row number plus the share of the row's particles that return at most a power,
            (k * m,), rising: one search finds a power in any row.
        places: the same along columns, for particles between two powers: (m - 1) * k, rising.
    """

    range_m: NDArray[np.float64]
    power: NDArray[np.float64]
    count: NDArray[np.float64]
    keys: NDArray[np.float64]
    places: NDArray[np.float64]


@lru_cache(maxsize=8)
def particle_table(air: ParticleAir) -> ParticleTable | None:
    """Count particles by range and power; None where no particle is ever detected."""
    start = air.crossover_m[0]
    # a particle returns at most rho / r^2
    reach = math.sqrt(air.particles.reflectivity / air.least)
    if reach <= start:
        return None
    ranges = np.geomspace(start, reach, _RANGES)
    full = air.full_power(ranges)
    if full.max() <= air.least:
        return None
    # a little beyond the greatest, so that no particle returns more than the last
    powers = np.geomspace(air.least, full.max() * (1 + 1e-9), _POWERS)
    counts = _counts(air, ranges, powers)
    keys = np.arange(_RANGES)[:, None] + _shares(counts[:, :1] - counts, axis=1)
    between = counts[:, :-1] - counts[:, 1:]
    places = np.arange(_POWERS - 1)[:, None] + _shares(between.T, axis=1)
    return ParticleTable(ranges, powers, counts, keys.ravel(), places.ravel())


def _counts(
    air: ParticleAir, ranges: NDArray[np.float64], powers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Integrate the particles above each power along the beam, (k, m)."""
    sizes = air.particles
    beam = air.beam_mm(ranges)
    area_m2 = np.pi / 4 * (beam / _MM_A_M) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = powers[None, :] / air.full_power(ranges)[:, None]
    needed_mm = beam[:, None] * np.sqrt(share) / sizes.swelling
    needed_mm = np.maximum(needed_mm, sizes.smallest_mm)
    above = np.where(share <= 1, np.exp(-sizes.slope * needed_mm), 0)
    per_m = area_m2[:, None] * sizes.density / sizes.slope * above
    counts = np.zeros_like(per_m)
    widths = np.diff(ranges)[:, None]
    np.cumsum((per_m[1:] + per_m[:-1]) / 2 * widths, axis=0, out=counts[1:])
    return counts


def _shares(rising: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Scale rows that rise from 0 to end just below 1, so that they can stand one after another."""
    last = rising.take([-1], axis=axis)
    scaled = np.divide(rising, last, out=np.zeros_like(rising), where=last > 0)
    return np.minimum(np.maximum.accumulate(scaled, axis=axis), 1 - 1e-9)


def expected_above(
    table: ParticleTable, range_m: NDArray[Any], power: NDArray[Any]
) -> NDArray[np.float64]:
    """Return mu(p, R), (n,), for powers from the least on."""
    row, row_share = _place(table.range_m, range_m)
    column, column_share = _place(table.power, power)
    count = table.count
    near = count[row, column] * (1 - column_share) + count[row, column + 1] * column_share
    far = count[row + 1, column] * (1 - column_share) + count[row + 1, column + 1] * column_share
    return np.asarray(near * (1 - row_share) + far * row_share)


def _place(
    geometric: NDArray[np.float64], values: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Find values in a geometric row: the entry before each, and how far on to the next, (n,)."""
    step = math.log(geometric[-1] / geometric[0]) / (len(geometric) - 1)
    inside = np.clip(values, geometric[0], geometric[-1])
    at = np.log(inside / geometric[0]) / step
    index = np.minimum(at.astype(np.intp), len(geometric) - 2)
    low = geometric[index]
    share = (inside - low) / (geometric[index + 1] - low)
    return index, np.clip(share, 0, 1)


def strongest_echoes(
    table: ParticleTable, range_m: NDArray[Any], above: NDArray[Any], rng: Draws
) -> Echoes:
    """Return the strongest particle before each target, where it returns more than ``above``, (n,).

    Args:
        table: of the air.
        range_m: (n,) of the targets.
        above: (n,) powers, at least the least that is detected.
        rng: drawn from for every row, twice.
    """
    height, share = rng.random(len(range_m)), rng.random(len(range_m))
    found = Echoes(np.zeros(len(range_m)), np.zeros(len(range_m)))
    # -ln(1 - u) particles are above the strongest; most draws exceed the number of all
    maybe = np.flatnonzero(height < -np.expm1(-table.count[-1, 0]))
    count = -np.log1p(-height[maybe])
    expected = expected_above(table, range_m[maybe], above[maybe])
    inside = (count < expected) & (above[maybe] < table.power[-1])
    won, count, expected = maybe[inside], count[inside], expected[inside]
    if not len(won):
        return found
    row, _ = _place(table.range_m, range_m[won])
    row += 1  # up to the next entry; the place is cut at the target below
    # the exact share of particles above the power, carried over to the row's own number
    own = expected_above(table, table.range_m[row], above[won])
    rank = count / expected * own
    column, power = _power_of(table, row, rank)
    found.power[won] = np.maximum(power, np.nextafter(above[won], np.inf))
    found.range_m[won] = _range_of(table, column, range_m[won], share[won])
    return found


def _power_of(
    table: ParticleTable, row: NDArray[np.intp], rank: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Find the power that ``rank`` particles of a row exceed, and its column, (n,) each."""
    total = table.count[row, 0]
    key = row + np.clip(1 - rank / total, 0, 1 - 2e-9)
    after = np.searchsorted(table.keys, key, side="right")
    column = np.clip(after - 1 - row * _POWERS, 0, _POWERS - 2)
    low, high = table.count[row, column], table.count[row, column + 1]
    share = np.divide(low - rank, low - high, out=np.zeros(len(row)), where=low > high)
    power = table.power[column]
    return column, power + np.clip(share, 0, 1) * (table.power[column + 1] - power)


def _range_of(
    table: ParticleTable, column: NDArray[np.intp], range_m: NDArray[Any], share: NDArray[Any]
) -> NDArray[np.float64]:
    """Find where the particle between two powers is, before each target, (n,)."""
    at = column * _RANGES
    row, part = _place(table.range_m, range_m)
    low, high = table.places[at + row], table.places[at + row + 1]
    end = low + part * (high - low) - column
    key = column + share * end
    after = np.clip(np.searchsorted(table.places, key, side="right") - at, 1, _RANGES - 1)
    low, high = table.places[at + after - 1], table.places[at + after]
    within = np.divide(key - low, high - low, out=np.zeros(len(key)), where=high > low)
    near, far = table.range_m[after - 1], table.range_m[after]
    return np.asarray(np.minimum(near + np.clip(within, 0, 1) * (far - near), range_m))


def farthest_echoes(
    table: ParticleTable,
    air: ParticleAir,
    range_m: NDArray[Any],
    wanted: NDArray[np.bool_],
    rng: Draws,
) -> Echoes:
    """Return the farthest particle before each target that is detected, (n,); power 0: none.

    Args:
        table: of the air.
        air: the particles, the beam and the receiver.
        range_m: (n,) of the targets.
        wanted: (n,) of which targets.
        rng: drawn from for every row, twice.
    """
    height, share = rng.random(len(range_m)), rng.random(len(range_m))
    found = Echoes(np.zeros(len(range_m)), np.zeros(len(range_m)))
    here = np.flatnonzero(wanted)
    least = np.full(len(here), air.least)
    rest = expected_above(table, range_m[here], least) + np.log1p(-height[here])
    here, rest = here[rest > 0], rest[rest > 0]
    if not len(here):
        return found
    spot = np.minimum(np.interp(rest, table.count[:, 0], table.range_m), range_m[here])
    full, beam = air.full_power(spot), air.beam_mm(spot)
    sizes = air.particles
    needed_mm = beam * np.sqrt(np.minimum(air.least / full, 1)) / sizes.swelling
    # beyond what is needed, sizes are exponential again
    size_mm = np.maximum(needed_mm, sizes.smallest_mm) - np.log1p(-share[here]) / sizes.slope
    found.range_m[here] = spot
    filled = np.minimum(1, (sizes.swelling * size_mm / beam) ** 2)
    found.power[here] = np.maximum(full * filled, air.least)
    return found
