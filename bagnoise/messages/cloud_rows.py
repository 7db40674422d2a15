"""Where the points of a PointCloud2 are: its head, and the rows of its data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.point_fields import NUMPY_CODES, PointField, point_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud_cdr import CdrReader

_SMALLEST_FIELD_BYTES: Final = 13  # string length, offset, datatype, count
_NS_PER_S: Final = 1_000_000_000


class Head(NamedTuple):
    """What stands before the points."""

    stamp_ns: int
    frame_id: str
    height: int
    width: int
    fields: tuple[PointField, ...]
    is_bigendian: bool
    point_step: int
    row_step: int
    data_bytes: int


def read_head(reader: CdrReader) -> Head:
    """Read everything before the points."""
    seconds = reader.number("i", "header.stamp")
    nanoseconds = reader.number("I", "header.stamp")
    return Head(
        stamp_ns=seconds * _NS_PER_S + nanoseconds,
        frame_id=reader.text("header.frame_id"),
        height=reader.number("I", "height"),
        width=reader.number("I", "width"),
        fields=_read_fields(reader),
        is_bigendian=bool(reader.number("B", "is_bigendian")),
        point_step=reader.number("I", "point_step"),
        row_step=reader.number("I", "row_step"),
        data_bytes=reader.number("I", "the length of data"),
    )


def _read_fields(reader: CdrReader) -> tuple[PointField, ...]:
    count = reader.number("I", "the number of fields")
    if count * _SMALLEST_FIELD_BYTES > reader.remaining:
        msg = f"message announces {count} point fields, but only {reader.remaining} bytes are left"
        raise MessageError(msg)
    return tuple(
        PointField(
            name=reader.text("a field's name"),
            offset=reader.number("I", "a field's offset"),
            datatype=reader.number("B", "a field's datatype"),
            count=reader.number("I", "a field's count"),
        )
        for _ in range(count)
    )


class Rows(NamedTuple):
    """The points, and the bytes between and after their rows."""

    points: NDArray[np.void]
    padding: NDArray[np.uint8] | None
    trailing: bytes
    notes: tuple[str, ...]


def rows_of(head: Head, raw: memoryview) -> Rows:
    """Find the points in the data.

    ``row_step`` is honoured where rows of that length fit the data; else rows are read as tightly
    packed, which is what drivers that write a wrong row_step mean.
    """
    count = head.height * head.width
    if count == 0:
        return _empty_rows(head, raw)
    tight_step = head.width * head.point_step
    needed = head.height * tight_step
    if needed > len(raw) or head.point_step == 0:
        msg = (
            f"cloud of {head.height} x {head.width} points of {head.point_step} bytes needs"
            f" {needed} bytes of data, the message holds {len(raw)}"
        )
        raise MessageError(msg)
    dtype = point_dtype(head.fields, head.point_step, is_bigendian=head.is_bigendian)
    last_row_at = (head.height - 1) * head.row_step
    if head.row_step > tight_step and needed < last_row_at + tight_step <= len(raw):
        return _padded_rows(head, raw, dtype)
    points = np.frombuffer(raw[:needed], dtype)
    points.flags.writeable = False
    notes = _row_step_note(head, tight_step) if head.row_step != tight_step else ()
    return Rows(points, None, bytes(raw[needed:]), notes)


def _padded_rows(head: Head, raw: memoryview, dtype: np.dtype[np.void]) -> Rows:
    """Split honestly padded rows; a last row without its padding is given it."""
    size = head.height * head.row_step
    flat = np.frombuffer(raw, np.uint8)[:size]
    table = np.pad(flat, (0, size - len(flat))).reshape(head.height, head.row_step)
    tight_step = head.width * head.point_step
    points = np.ascontiguousarray(table[:, :tight_step]).reshape(-1).view(dtype)
    points.flags.writeable = False
    return Rows(points, table[:, tight_step:], bytes(raw[size:]), ())


def _empty_rows(head: Head, raw: memoryview) -> Rows:
    """Make no points; their type still tells the fields, even where point_step says 0."""
    known = [field for field in head.fields if field.datatype in NUMPY_CODES]
    step = max((field.end for field in known), default=0)
    dtype = point_dtype(head.fields, step, is_bigendian=head.is_bigendian)
    return Rows(np.zeros(0, dtype), None, bytes(raw), ())


def _row_step_note(head: Head, tight_step: int) -> tuple[str, ...]:
    note = (
        f"row_step {head.row_step} does not fit {head.width} points of {head.point_step} bytes a"
        f" row: rows are read as tightly packed, row_step is written as {tight_step}"
    )
    return (note,)
