"""Point fields that repeat what the position says: the measured range, beside x, y and z."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.messages.cloud import XYZ

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from bagnoise.messages.cloud import Cloud

LENGTH_NAMES: Final = ("range", "distance")
_MILLIMETRES: Final = 1000.0
_LOOKED_AT: Final = 1000  # returns that tell whether a field is what its name says
_ALIKE: Final = 2.0  # most that a field and the position's range may differ, as a ratio


def per_metre(dtype: np.dtype[Any]) -> float:
    """Return what a metre is in a field of this type: 1, or 1000 for integers (Ouster)."""
    return 1.0 if dtype.kind == "f" else _MILLIMETRES


def with_measured(
    cloud: Cloud,
    xyz: NDArray[Any],
    where: NDArray[np.bool_],
    origin: NDArray[np.float64],
    more: Mapping[str, ArrayLike] | None = None,
) -> Cloud:
    """Return a cloud whose lidar has measured other positions.

    A field ``range`` or ``distance`` becomes longer or shorter by as much as its point has moved
    away from the lidar or towards it: it need not be the position's exact distance (Ouster's leaves
    out the way from the lidar's origin to its mirror). A field that is something else, and lengths
    of points that do not move, stay.

    Args:
        cloud: before.
        xyz: (n, 3) metres, in its frame.
        where: (n,), the rows that change.
        origin: (3,) where the lidar is in that frame.
        more: other fields that change in these rows, (n,) each.
    """
    columns: dict[str, ArrayLike] = dict(more or {})
    columns |= dict(zip(XYZ, xyz.T, strict=True))
    names = [name for name in length_fields(cloud) if name not in columns]
    rows = np.flatnonzero(where)
    if names and len(rows):
        old_m = _ranges(cloud.xyz(), origin)
        longer_m = _ranges(xyz[rows], origin) - old_m[rows]
        for name in names:
            field = cloud.column(name)
            if not _is_length(field, old_m):
                continue
            unit = per_metre(field.dtype)
            values = field.astype(np.float64)
            with np.errstate(invalid="ignore", over="ignore"):
                values[rows] = np.maximum(values[rows] + unit * longer_m, 0)
            columns[name] = values
    return cloud.with_columns(columns, where)


def length_fields(cloud: Cloud) -> list[str]:
    """Name the fields that hold one length a point."""
    return [name for name in LENGTH_NAMES if name in cloud.names and cloud.points[name].ndim == 1]


def _ranges(xyz: NDArray[Any], origin: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(len(xyz))
    with np.errstate(invalid="ignore", over="ignore"):
        for axis in range(3):
            total += (xyz[:, axis].astype(np.float64) - origin[axis]) ** 2
    return np.sqrt(total)


def _is_length(field: NDArray[Any], range_m: NDArray[np.float64]) -> bool:
    """Whether a field is, for most returns, about what their positions say."""
    known = np.flatnonzero(np.isfinite(range_m) & (range_m > 0) & np.isfinite(field) & (field != 0))
    some = known[:: len(known) // _LOOKED_AT + 1]
    if not len(some):
        return False
    ratio = float(np.median(field[some] / (per_metre(field.dtype) * range_m[some])))
    return 1 / _ALIKE < ratio < _ALIKE
