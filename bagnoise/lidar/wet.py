"""How much fainter ground is under a film of water.

Light enters the film (Fresnel), is reflected diffusely by the pavement, and leaves again; what the
film's surface throws back inside is reflected once more, and so on. Against dry pavement of
reflectivity rho, a lidar receives of its own beam

    w = T(theta)^2 / n^2 * exp(-2 a d / cos theta_w) / (1 - rho R_i)

with T the unpolarised transmittance of the surface, theta_w by Snell's law, d the film's depth, a
the water's absorption, R_i the share of diffuse light that the surface throws back inside, and
1 / n^2 for the wider solid angle outside (Lekner and Dorf, Why some things are darker when wet,
Applied Optics 27, 1988). The film covers the share f = min(1, d / h) of a pavement of texture depth
h, so I' = I (1 - f + f w) (the wet ground of Hahner et al., Lidar snowfall simulation, CVPR 2022).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.lidar.ground import evenly

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DIRECTIONS: Final = 2000
_BINS: Final = 20
_FAINTEST_SHARE: Final = 0.02
_MOST_ECHOES: Final = 16_000
_FEWEST_IN_BIN: Final = 10


@dataclass(frozen=True)
class Film:
    """Water on the ground: its depth and the texture's, in metres, and the water's optics."""

    depth_m: float
    texture_m: float
    refractive_index: float
    absorption_per_m: float

    @property
    def covered(self) -> float:
        """Return the share of the ground that is under water."""
        return min(1.0, self.depth_m / self.texture_m) if self.texture_m > 0 else 1.0


def fresnel_transmittance(cosine: NDArray[Any], refractive_index: float) -> NDArray[np.float64]:
    """Return the unpolarised transmittance of a water surface, (n,), from above.

    Args:
        cosine: (n,) of the angle of incidence in air, 0 to 1.
        refractive_index: of the water; Fresnel's equations are symmetric, so that light on the
            same way out is transmitted as well.
    """
    inside = _cosine_inside(cosine, refractive_index)
    across = (cosine - refractive_index * inside) / (cosine + refractive_index * inside)
    along = (refractive_index * cosine - inside) / (refractive_index * cosine + inside)
    return np.asarray(1 - (across**2 + along**2) / 2)


def _cosine_inside(cosine: NDArray[Any], refractive_index: float) -> NDArray[np.float64]:
    return np.asarray(np.sqrt(1 - (1 - np.square(cosine)) / refractive_index**2))


@lru_cache(maxsize=16)
def internal_reflectance(refractive_index: float) -> float:
    """Return R_i: of diffuse light from below, what the surface throws back; 0.47 for water.

    R_i = 1 - (1 - R_e) / n^2, with R_e that of diffuse light from above, the integral of
    2 cos sin R(theta) dtheta (Lekner and Dorf 1988).
    """
    sine2 = (np.arange(_DIRECTIONS) + 0.5) / _DIRECTIONS  # 2 sin cos dtheta = d sin^2
    passing = float(fresnel_transmittance(np.sqrt(1 - sine2), refractive_index).mean())
    return 1 - passing / refractive_index**2


def wet_share(
    cosine: NDArray[Any], reflectivity: NDArray[Any] | float, film: Film
) -> NDArray[np.float64]:
    """Return what a film leaves of the echoes of ground, (n,), from 0 to 1.

    Args:
        cosine: (n,) of the angle of incidence, 0 to 1.
        reflectivity: of the dry ground, apparent: its cosine included; 1 is the most it can be.
        film: the water.
    """
    inside = _cosine_inside(cosine, film.refractive_index)
    index2 = film.refractive_index**2
    passed = fresnel_transmittance(cosine, film.refractive_index) ** 2 / index2
    passed *= np.exp(-2 * film.absorption_per_m * film.depth_m / np.maximum(inside, 1e-9))
    with np.errstate(divide="ignore", invalid="ignore"):
        albedo = np.nan_to_num(np.minimum(reflectivity / np.asarray(cosine), 1), nan=1.0)
    wet = passed / (1 - albedo * internal_reflectance(film.refractive_index))
    return np.asarray(1 - film.covered + film.covered * np.minimum(wet, 1))


def faintest_by_range(range_m: NDArray[Any], echo: NDArray[Any]) -> NDArray[np.float64]:
    """Return the faintest echo, (n,), of those at about the range of each, by linear interpolation.

    The second percentile in 20 geometric steps of range; steps with few echoes do not count.
    """
    if len(range_m) < _FEWEST_IN_BIN:
        return np.zeros(len(range_m))
    wanted, some = range_m, evenly(len(range_m), _MOST_ECHOES)
    range_m, echo = range_m[some], echo[some]
    low = max(float(range_m.min()), 1e-3)
    edges = np.geomspace(low, max(float(range_m.max()), 1.01 * low), _BINS + 1)
    bins = np.clip(np.searchsorted(edges, range_m) - 1, 0, _BINS - 1)
    order = np.lexsort((echo, bins))
    starts = np.searchsorted(bins[order], np.arange(_BINS + 1))
    counts = np.diff(starts)
    full = np.flatnonzero(counts >= _FEWEST_IN_BIN)
    if not len(full):
        return np.full(len(wanted), float(np.quantile(echo, _FAINTEST_SHARE)))
    picked = starts[full] + (counts[full] * _FAINTEST_SHARE).astype(np.intp)
    middles = np.sqrt(edges[full] * edges[full + 1])
    faintest = np.asarray(echo, np.float64)[order[picked]]
    return np.asarray(np.interp(wanted, middles, faintest))
