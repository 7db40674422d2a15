"""The fields of a point, and packed arrays of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

NUMPY_CODES: Final = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
DATATYPES: Final = {code: datatype for datatype, code in NUMPY_CODES.items()}
_LARGEST_POINT_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class PointField:
    """One field of a point, as sensor_msgs/msg/PointField spells it."""

    name: str
    offset: int
    datatype: int
    count: int = 1

    @property
    def end(self) -> int:
        """The first byte after the field."""
        return self.offset + np.dtype(NUMPY_CODES[self.datatype]).itemsize * max(self.count, 1)


def column_names(fields: tuple[PointField, ...]) -> list[str]:
    """Name the columns: a field's own name, made unique where a message repeats or omits it."""
    names: list[str] = []
    for position, field in enumerate(fields):
        taken = not field.name or field.name in names
        names.append(f"{field.name}#{position}" if taken else field.name)
    return names


@lru_cache(maxsize=64)
def point_dtype(
    fields: tuple[PointField, ...], point_step: int, *, is_bigendian: bool = False
) -> np.dtype[np.void]:
    """Make the packed type of a point.

    Raises:
        MessageError: an unknown datatype, or a field that ends beyond ``point_step``.
    """
    if point_step > _LARGEST_POINT_BYTES:
        msg = f"points of {point_step} bytes; at most {_LARGEST_POINT_BYTES} are believed"
        raise MessageError(msg)
    order = ">" if is_bigendian else "<"
    formats = []
    for field in fields:
        if field.datatype not in NUMPY_CODES:
            msg = f"point field {field.name!r} has datatype {field.datatype}; known are 1 to 8"
            raise MessageError(msg)
        if field.end > point_step:
            msg = (
                f"point field {field.name!r} ends at byte {field.end}, beyond the"
                f" point_step of {point_step}"
            )
            raise MessageError(msg)
        # PCL reads a count of 0 as 1, and so do we
        code = order + NUMPY_CODES[field.datatype]
        formats.append(code if field.count <= 1 else (code, (field.count,)))
    return np.dtype(
        {
            "names": column_names(fields),
            "formats": formats,
            "offsets": [field.offset for field in fields],
            "itemsize": point_step,
        }
    )


def take_rows(points: NDArray[np.void], rows: NDArray[Any]) -> NDArray[np.void]:
    """Pick points whole: as plain bytes, for numpy copies structures field by field."""
    if points.dtype.itemsize == 0:
        count = len(np.arange(len(points))[rows])
        return np.zeros(count, points.dtype)
    whole: NDArray[np.void] = points.view(f"V{points.dtype.itemsize}")[rows]
    return whole.view(points.dtype)


def copy_rows(points: NDArray[np.void]) -> NDArray[np.void]:
    """Copy points to a writable array, padding included."""
    if points.dtype.itemsize == 0:
        return points.copy()
    whole: NDArray[np.void] = points.view(f"V{points.dtype.itemsize}").copy()
    return whole.view(points.dtype)


def fitted(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert values to a field's type: rounded and clamped where it is an integer, NaN as 0."""
    if dtype.kind not in "iu" or values.dtype == dtype:
        with np.errstate(invalid="ignore", over="ignore"):
            return values.astype(dtype)
    limits = np.iinfo(dtype)
    if values.dtype.kind == "f":
        # the largest float below 2^63 or 2^64, for the limit itself would round up out of range
        highest = np.nextafter(float(limits.max) + 1.0, 0.0)
        with np.errstate(invalid="ignore"):
            wide = np.rint(np.nan_to_num(values.astype(np.float64), nan=0.0))
        return np.clip(wide, float(limits.min), highest).astype(dtype)
    have = np.iinfo(values.dtype)
    low, high = max(limits.min, have.min), min(limits.max, have.max)
    clamped: NDArray[Any] = np.clip(values, low, high)
    return clamped.astype(dtype)
