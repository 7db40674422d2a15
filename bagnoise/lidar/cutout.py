"""Patches of a scan that do not return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.lidar.noise import arms_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from bagnoise.rng import Draws


_STRIDE: Final = 16


class PatchSize(NamedTuple):
    """How large a patch is; exactly one of these.

    Attributes:
        radius_deg: angle from the beam through its middle.
        radius_m: distance from its middle.
        nearest_share: of the cloud's returns, those nearest to its middle.
    """

    radius_deg: float | None = None
    radius_m: float | None = None
    nearest_share: float | None = None


def in_patches(
    xyz: NDArray[Any], sensor_xyz: ArrayLike, patches: int, size: PatchSize, rng: Draws
) -> NDArray[np.bool_]:
    """Tell which returns lie in patches about random returns, (n,).

    The middles are different returns, each as likely as any other: those with the least of
    uniform numbers that every row has, so that a row's chance does not depend on its place.
    ``nearest_share`` is the cutout of 3D_Corruptions_AD (Dong et al., CVPR 2023), where each patch
    takes 2 percent of the points that were there, from what the patches before it left.

    Args:
        xyz: (n, 3) metres; misses are in none.
        sensor_xyz: (3,) origin of the beams.
        patches: their number; all returns are middles if there are fewer.
        size: of each.
        rng: drawn from once for every row.

    Raises:
        UsageError: not exactly one size, or one that is not above 0.
    """
    sizes = [value for value in size if value is not None]
    if len(sizes) != 1 or not sizes[0] > 0:
        msg = f"{size}; a patch needs exactly one size, above 0"
        raise UsageError(msg)
    order = rng.random(len(xyz))
    arms = arms_of(xyz, np.asarray(sensor_xyz, np.float64))
    rows = np.flatnonzero(arms.hit)
    places = np.stack([arm[rows] for arm in arms.xyz])
    if size.radius_deg is not None:
        places /= arms.ranges[rows]
    lost = np.zeros(len(rows), np.bool_)
    squares, axis_squares = np.empty(len(rows)), np.empty(len(rows))
    for middle in _least(order[rows], patches):
        squares[:] = 0
        for axis in places:  # in place: the arrays stay in the cache
            np.subtract(axis, axis[middle], out=axis_squares)
            np.square(axis_squares, out=axis_squares)
            squares += axis_squares
        lost |= _within(squares, size, lost)
    out = np.zeros(len(xyz), np.bool_)
    out[rows] = lost
    return out


def _least(order: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return where the least of some numbers, (n,), are, least first, (count,)."""
    if count < len(order):
        some = np.argpartition(order, count)[:count]
        return np.asarray(some[np.argsort(order[some])])
    return np.argsort(order)


def _within(
    squares: NDArray[np.float64], size: PatchSize, lost: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Tell which squared distances, (n,), are of a patch; may change them where lost."""
    if size.radius_deg is not None:
        chord = 2 * np.sin(np.radians(min(size.radius_deg, 180.0)) / 2)
        return np.asarray(squares <= chord**2)
    if size.radius_m is not None:
        return np.asarray(squares <= size.radius_m**2)
    assert size.nearest_share is not None
    count = round(size.nearest_share * len(lost))
    if count == 0:
        return np.zeros(len(lost), np.bool_)
    squares[lost] = np.inf
    return np.asarray(squares <= _smallest(squares, count))  # what is equally far goes, too


def _smallest(values: NDArray[np.float64], count: int) -> float:
    """Return the ``count``-th smallest of values, (n,).

    Partitioning all is slow; some of them tell a bound below which the wanted one nearly always is.
    """
    some = values[::_STRIDE]
    place = 2 * (count // _STRIDE) + _STRIDE
    if place < len(some):
        few = values[values <= np.partition(some, place)[place]]
        if len(few) >= count:
            values = few
    return float(np.partition(values, count - 1)[count - 1])
