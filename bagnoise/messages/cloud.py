"""The payload of a point cloud: the message's own fields, as one packed array of points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.point_fields import PointField, copy_rows, fitted, take_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

XYZ: Final = ("x", "y", "z")
INTENSITY_NAMES: Final = ("intensity", "i", "intensities", "reflectivity", "reflectance")
RING_NAMES: Final = ("ring", "channel", "line", "laser_id", "ring_id")


class Wire(NamedTuple):
    """How the source spelled what stands before and after the points' bytes.

    Serializers differ in padding, in the ends of strings and in trailing bytes. While the facts
    hold, an encoder repeats the source's own bytes.
    """

    head: bytes
    tail: bytes
    facts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of one message, n = height * width rows; arrays are never changed in place.

    Attributes:
        stamp_ns: measurement time (header stamp), 0 where unset.
        frame_id: coordinate frame of x, y, z.
        fields: in the order of the message.
        points: (n,) structured; the fields at their own offsets, in the message's byte order.
        height: rows of an organised cloud, else 1.
        width: points a row.
        point_step: bytes a point, padding included.
        is_bigendian: byte order of the points.
        is_dense: as the message says; what is written is computed from the values.
        row_padding: (height, bytes) uint8 after the points of each row, or None.
        trailing: bytes after the last row.
        notes: what is odd about the message, each fit for a warning.
        wire: the source's spelling, or None where the cloud is new.
        source_rows: (n,) row that each point had when the cloud was decoded or made, or None where
            no point has gone since; what is drawn for a point belongs to that row.
        source_count: rows that there were then; counts only beside ``source_rows``.
    """

    stamp_ns: int
    frame_id: str
    fields: tuple[PointField, ...]
    points: NDArray[np.void]
    height: int
    width: int
    point_step: int
    is_bigendian: bool = False
    is_dense: bool = True
    row_padding: NDArray[np.uint8] | None = None
    trailing: bytes = b""
    notes: tuple[str, ...] = ()
    wire: Wire | None = None
    source_rows: NDArray[np.intp] | None = None
    source_count: int = 0

    def __len__(self) -> int:
        """Count the points."""
        return len(self.points)

    @property
    def is_organised(self) -> bool:
        """Whether rows and columns mean something, so that points may not simply vanish."""
        return self.height > 1

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the fields, in the order of the message."""
        return tuple(field.name for field in self.fields)

    def find(self, *names: str) -> str | None:
        """Return the first of these names that is a field."""
        present = set(self.names)
        return next((name for name in names if name in present), None)

    def need(self, *names: str, why: str) -> str:
        """Return the first of these names that is a field.

        Raises:
            MessageError: none of them is.
        """
        found = self.find(*names)
        if found is None:
            wanted = " or ".join(repr(name) for name in names)
            have = ", ".join(self.names) or "none"
            msg = f"{why} needs the point field {wanted}; this cloud's fields are: {have}"
            raise MessageError(msg)
        return found

    def column(self, name: str) -> NDArray[Any]:
        """Return a field as a read-only view, (n,) or (n, count)."""
        view: NDArray[Any] = self.points[self.need(name, why="this step")]
        view = view.view()
        view.flags.writeable = False
        return view

    def xyz(self) -> NDArray[Any]:
        """Copy the positions, (n, 3), each column contiguous.

        float32 where all three fields are, else float64.
        """
        columns = [self._coordinate(name) for name in XYZ]
        narrow = all(column.dtype.base == np.dtype("f4") for column in columns)
        out = np.empty((3, len(self)), np.float32 if narrow else np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # signalling NaNs among the misses
            for row, column in zip(out, columns, strict=True):
                row[:] = column
        return out.T

    def finite(self) -> NDArray[np.bool_]:
        """Tell which points have a finite position, (n,)."""
        good = np.ones(len(self), np.bool_)
        for name in XYZ:
            if name in self.names:
                # a damaged count makes several values a point of one coordinate
                known = np.isfinite(self.points[name])
                good &= known if known.ndim == 1 else known.all(axis=1)
        return good

    def _coordinate(self, name: str) -> NDArray[Any]:
        column: NDArray[Any] = self.points[self.need(name, why="a point's position")]
        if column.ndim > 1:
            msg = (
                f"point field {name!r} holds {column.shape[1]} values a point; a coordinate is one"
            )
            raise MessageError(msg)
        return column

    def take(self, rows: NDArray[Any]) -> Cloud:
        """Return the points that a boolean mask or an index array picks, unorganised."""
        points = take_rows(self.points, rows)
        known = np.arange(len(self)) if self.source_rows is None else self.source_rows
        count = len(self) if self.source_rows is None else self.source_count
        taken = self._reshaped(points, 1, len(points))
        return replace(taken, source_rows=known[rows], source_count=count)

    def with_columns(
        self, columns: Mapping[str, ArrayLike], where: NDArray[np.bool_] | None = None
    ) -> Cloud:
        """Return a cloud with these fields replaced, (n,) each; every other bit stays.

        Integer fields are rounded and clamped. ``where`` limits the change to some rows; the
        others keep their bits in these fields too.
        """
        points = copy_rows(self.points)
        for name, values in columns.items():
            target = points[self.need(name, why="this step")]
            spelled = fitted(np.asarray(values), target.dtype)
            np.copyto(target, spelled, where=True if where is None else where)
        return replace(self, points=points)

    def with_xyz(self, xyz: NDArray[Any], where: NDArray[np.bool_] | None = None) -> Cloud:
        """Return a cloud with new positions, (n, 3), in the rows that ``where`` picks."""
        return self.with_columns(dict(zip(XYZ, xyz.T, strict=True)), where)

    def with_points(
        self, points: NDArray[np.void], fields: tuple[PointField, ...], height: int, width: int
    ) -> Cloud:
        """Return a cloud of the same points in other fields; padding of the rows is gone."""
        changed = replace(self, fields=fields, point_step=points.dtype.itemsize)
        return changed._reshaped(points, height, width)  # noqa: SLF001

    def _reshaped(self, points: NDArray[np.void], height: int, width: int) -> Cloud:
        return replace(
            self, points=points, height=height, width=width, row_padding=None, trailing=b""
        )
