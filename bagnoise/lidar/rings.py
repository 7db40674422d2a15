"""Which beam a point belongs to, from its elevation alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_RING: Final = -1
_USUAL_BEAMS: Final = (1, 2, 4, 8, 16, 32, 40, 64, 80, 128, 192, 256, 512, 1024)
_MOST_RINGS: Final = 256
_FLATTEST: Final = 0.5  # a ring's spread over the gap to the next one
_SHARE_IN_RINGS: Final = 0.9
_FEWEST_POINTS: Final = 4  # of a ring, on average: fewer are scattered points, no rings
_SMALLEST_GAP_DEG: Final = 0.04  # the densest known beams (VLS-128) are 0.1 deg apart


def elevations_deg(xyz: NDArray[Any]) -> NDArray[np.float64]:
    """Return elevations above the sensor's horizon, (n,) deg, of positions about it, (n, 3)."""
    with np.errstate(invalid="ignore"):  # signalling NaNs among the misses
        wide = np.asarray(xyz, np.float64)
        flat = np.hypot(wide[:, 0], wide[:, 1])
        return np.degrees(np.arctan2(wide[:, 2], flat))


def rings_from_elevation(
    xyz: NDArray[Any], smallest_gap_deg: float = _SMALLEST_GAP_DEG
) -> NDArray[np.int32]:
    """Number the beams by the bands in which elevations lie, lowest first.

    Args:
        xyz: (n, 3) metres, in the sensor's frame; misses (not finite, or at the origin) allowed.
        smallest_gap_deg: bands closer than this are one.

    Returns:
        (n,) ring numbers, `NO_RING` for misses.

    Raises:
        MessageError: elevations form no separate bands (a merged or noisy cloud, or another frame).
    """
    rings = np.full(len(xyz), NO_RING, np.int32)
    elevations = elevations_deg(xyz)
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(xyz).all(axis=1) & (np.asarray(xyz) != 0).any(axis=1)
    if not usable.any():
        return rings
    kept = elevations[usable]
    order = np.argsort(kept, kind="stable")
    steps = np.diff(kept[order])
    _check_bands(kept[order], steps > smallest_gap_deg)
    numbers = np.empty(len(kept), np.int32)
    numbers[order] = np.concatenate([[0], np.cumsum(steps > smallest_gap_deg)])
    rings[usable] = numbers
    return rings


def _check_bands(ordered: NDArray[np.float64], breaks: NDArray[np.bool_]) -> None:
    """Refuse what is no set of rings: too many bands, or points in bands as wide as their gaps."""
    starts = np.concatenate([[0], np.flatnonzero(breaks) + 1])
    counts = np.diff(np.concatenate([starts, [len(ordered)]]))
    spreads = ordered[starts + counts - 1] - ordered[starts]
    gaps = ordered[starts[1:]] - ordered[starts[1:] - 1]
    gap = float(np.median(gaps)) if len(gaps) else 2 * _SMALLEST_GAP_DEG
    # counted in points: among many small bands, one wide one may hold nearly all of a cloud
    in_flat = counts[spreads <= _FLATTEST * gap].sum() / len(ordered)
    crowded = len(starts) == 1 or len(ordered) >= _FEWEST_POINTS * len(starts)
    if len(starts) > _MOST_RINGS or in_flat < _SHARE_IN_RINGS or not crowded:
        msg = (
            "the cloud has no ring field, and its elevations form no separate rings: they fall"
            f" into {len(starts)} bands up to {float(np.max(spreads)):.3g} deg wide,"
            f" {gap:.3g} deg apart"
        )
        raise MessageError(msg)


def usual_beams(ring: NDArray[np.int32]) -> int:
    """Return a lidar's number of beams from rings, (n,), seen.

    It is the same where a cloud happens to lack its top rings.
    """
    seen = int(ring.max(initial=0)) + 1
    return next((usual for usual in _USUAL_BEAMS if usual >= seen), seen)
