"""sensor_msgs/PointCloud2 as FSSIM writes cones: float32 fields with covariance and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.messages.cones.classes import CLASSES, likeliest, probabilities_of
from bagnoise.messages.cones.common import (
    Holds,
    as_float32,
    flat_2x2,
    full_3x3,
    matching_variant,
    no_options,
    origin_of,
    origin_rows,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import Reader, Writer
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "sensor_msgs/msg/PointCloud2"
OPTION, LAYOUT = "layout", "fssim"
_XYZ = ("x", "y", "z")
_COVARIANCE = tuple(f"covariance_{axes}" for axes in ("xx", "xy", "yx", "yy"))
_PROBABILITIES = tuple(f"probability_{name}" for name in ("blue", "yellow", "orange", "other"))
_COLUMNS = [ConeClass.BLUE, ConeClass.YELLOW, ConeClass.SMALL_ORANGE, ConeClass.UNKNOWN]
INTENSITY = "intensity"
NAMES = (*_XYZ, INTENSITY, *_COVARIANCE, *_PROBABILITIES)
HOLDS = Holds(
    covariance="xy",
    probabilities=True,
    classes=tuple(cone for cone in CLASSES if cone != ConeClass.BIG_ORANGE),
    extra=(INTENSITY,),
)
_FLOAT32 = 7  # PointField.FLOAT32
_U4 = np.dtype("<u4")
_U1 = np.dtype("u1")


class _Field(NamedTuple):
    name: str
    offset: int
    datatype: int
    elements: int


class _Table(NamedTuple):
    """A message's points and how they lie in it."""

    height: int
    fields: tuple[_Field, ...]
    big_endian: int
    point_step: int
    row_step: int
    points: NDArray[Any]
    is_dense: int


_FIELDS = tuple(_Field(name, 4 * at, _FLOAT32, 1) for at, name in enumerate(NAMES))
_POINT = np.dtype([(name, "<f4") for name in NAMES])
_PACKED = _Table(1, _FIELDS, 0, _POINT.itemsize, 0, np.empty(0, _POINT), 1)


class FssimCloudCodec:
    """Orange stands for both orange cones, other for an unknown color."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; fields are found by name, at their own offsets."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        table = _read_table(reader)
        origin = reader.finish(table)
        points = table.points
        probabilities = np.zeros((len(points), len(CLASSES)))
        probabilities[:, _COLUMNS] = _columns(points, _PROBABILITIES)
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=_columns(points, _XYZ),
            color=likeliest(probabilities),
            index=row_index(len(points)),
            source_count=len(points),
            covariance=full_3x3(_columns(points, _COVARIANCE)),
            probabilities=probabilities,
            extra={INTENSITY: points[INTENSITY].copy()},
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message: the fields it came with, else twelve packed ones."""
        origin = origin_of(payload, TYPE)
        table = _PACKED if origin is None else origin.rows
        if len(payload) and not len(table.points):
            table = _PACKED
        whole = table.points.view(f"V{table.points.itemsize}")  # copies filler between fields too
        points = origin_rows(payload, whole, whole.dtype).view(table.points.dtype)
        _put(points, _XYZ, payload.xyz)
        _put(points, _COVARIANCE, flat_2x2(payload))
        probabilities = probabilities_of(payload)
        merged = probabilities[:, _COLUMNS]
        if probabilities[:, ConeClass.BIG_ORANGE].any():
            with np.errstate(over="ignore", invalid="ignore"):  # they may hold any number
                merged[:, 2] += probabilities[:, ConeClass.BIG_ORANGE]
        _put(points, _PROBABILITIES, merged)
        if INTENSITY in payload.extra:
            points[INTENSITY] = payload.extra[INTENSITY]
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        _write_table(writer, table, points)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)


def _columns(points: NDArray[Any], names: tuple[str, ...]) -> NDArray[np.float64]:
    columns = np.empty((len(points), len(names)))
    with np.errstate(invalid="ignore"):  # a signalling NaN is no news
        for at, name in enumerate(names):
            columns[:, at] = points[name]
    return columns


def _put(points: NDArray[Any], names: tuple[str, ...], values: NDArray[np.float64]) -> None:
    """Store values as float32."""
    for at, name in enumerate(names):
        points[name] = as_float32(values[:, at], points[name])


def _read_table(reader: Reader) -> _Table:
    height, width = reader.array(_U4, 2, 4).tolist()
    count = reader.count()
    if count > reader.size:
        reader.fail(f"{count} fields go beyond the end")
    fields = tuple(_read_field(reader) for _ in range(count))
    (big_endian,) = reader.array(_U1, 1, 1).tolist()
    point_step, row_step = reader.array(_U4, 2, 4).tolist()
    raw = reader.sequence(_U1, 1)
    (is_dense,) = reader.array(_U1, 1, 1).tolist()
    if not raw.size and not height * width:
        none = np.empty(0, _POINT)  # whatever its fields: drivers write empty clouds without any
        return _Table(height, fields, big_endian, point_step, row_step, none, is_dense)
    if height * width * point_step != len(raw) or point_step == 0:
        reader.fail(f"{len(raw)} bytes are not {height} x {width} points of {point_step}")
    dtype = _point_dtype(reader, fields, point_step, ">" if big_endian else "<")
    points = raw.view(dtype)
    return _Table(height, fields, big_endian, point_step, row_step, points, is_dense)


def _read_field(reader: Reader) -> _Field:
    name = reader.string()
    (offset,) = reader.array(_U4, 1, 4).tolist()
    (datatype,) = reader.array(_U1, 1, 1).tolist()
    (count,) = reader.array(_U4, 1, 4).tolist()
    return _Field(name, offset, datatype, count)


def _point_dtype(
    reader: Reader, fields: tuple[_Field, ...], point_step: int, order: str
) -> np.dtype[Any]:
    offsets = {
        field.name: field.offset
        for field in fields
        if field.datatype == _FLOAT32 and field.elements <= 1 and field.offset + 4 <= point_step
    }
    missing = [name for name in NAMES if name not in offsets]
    if missing:
        reader.fail(f"FSSIM's cones need the float32 fields {', '.join(missing)}, missing")
    return np.dtype(
        {
            "names": list(NAMES),
            "formats": [f"{order}f4"] * len(NAMES),
            "offsets": [offsets[name] for name in NAMES],
            "itemsize": point_step,
        }
    )


def _write_table(writer: Writer, table: _Table, points: NDArray[Any]) -> None:
    count, step = len(points), table.point_step
    shape, row_step, dense = [1, count], count * step, int(_is_finite(points))
    if count == len(table.points) and table is not _PACKED:
        shape, row_step = [table.height, count // max(table.height, 1)], table.row_step
    if dense or not _is_finite(table.points):
        dense = table.is_dense  # believed unless a row has become non-finite
    writer.array(np.array(shape, _U4), 4)
    writer.count(len(table.fields))
    for field in table.fields:
        writer.string(field.name)
        writer.array(np.array([field.offset], _U4), 4)
        writer.array(np.array([field.datatype], _U1), 1)
        writer.array(np.array([field.elements], _U4), 4)
    writer.array(np.array([table.big_endian], _U1), 1)
    writer.array(np.array([step, row_step], _U4), 4)
    writer.sequence(points.view(np.uint8).reshape(-1), 1)
    writer.array(np.array([dense], _U1), 1)


def _is_finite(points: NDArray[Any]) -> bool:
    return all(bool(np.isfinite(points[name]).all()) for name in _XYZ)


def make(schema: Schema, options: Mapping[str, Any]) -> FssimCloudCodec:
    """Make the codec; the option ``layout: fssim`` asks for it."""
    no_options(schema, options, (OPTION,))
    if options.get(OPTION) != LAYOUT:
        msg = f"{OPTION} of {TYPE} is {options.get(OPTION)!r}; cones have the one of {LAYOUT!r}"
        raise UsageError(msg)
    matching_variant(schema)
    return FssimCloudCodec()
