"""sensor_msgs/msg/PointCloud2 on the wire <-> `Cloud`, without copying the points on the way in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.cloud import XYZ, Cloud, Wire
from bagnoise.messages.cloud_cdr import CdrReader, CdrWriter
from bagnoise.messages.cloud_checks import implausible_values
from bagnoise.messages.point_fields import NUMPY_CODES, PointField, point_dtype

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE_NAMES: Final = ("sensor_msgs/msg/PointCloud2", "sensor_msgs/PointCloud2")
_MEMBERS: Final = (
    "Header header",
    "uint32 height",
    "uint32 width",
    "PointField[] fields",
    "bool is_bigendian",
    "uint32 point_step",
    "uint32 row_step",
    "uint8[] data",
    "bool is_dense",
)
_SMALLEST_FIELD_BYTES: Final = 13  # string length, offset, datatype, count
_NS_PER_S: Final = 1_000_000_000


class PointCloud2Codec:
    """The codec of sensor_msgs/msg/PointCloud2."""

    def decode(self, data: bytes | memoryview) -> Cloud:
        """Read a cloud; its points are a read-only view of ``data``.

        Raises:
            MessageError: lengths, offsets or datatypes contradict each other or the message.
        """
        reader = CdrReader(data)
        head = _read_head(reader)
        data_at = reader.position
        raw = reader.take(head.data_bytes, "the points")
        tail = bytes(reader.take(reader.remaining, "the end"))
        if not tail:
            msg = "message ends before is_dense"
            raise MessageError(msg)
        rows = _rows(head, raw)
        cloud = Cloud(
            stamp_ns=head.stamp_ns,
            frame_id=head.frame_id,
            fields=head.fields,
            points=rows.points,
            height=head.height,
            width=head.width,
            point_step=head.point_step,
            is_bigendian=head.is_bigendian,
            is_dense=bool(tail[0]),
            row_padding=rows.padding,
            trailing=rows.trailing,
            notes=rows.notes,
        )
        wire = Wire(
            bytes(reader.data[:data_at]), tail, _facts(cloud, head.row_step, head.data_bytes)
        )
        return _noted(cloud, wire)

    def encode(self, payload: Cloud) -> bytes:
        """Write a cloud; row_step and is_dense are made true.

        Raises:
            MessageError: a number does not fit the message (e.g. a stamp before 1901).
        """
        row_step = _row_step(payload)
        is_dense = _is_dense(payload)
        wire = payload.wire
        if wire is not None and wire.facts == _facts(payload, row_step, _data_bytes(payload)):
            head, tail = wire.head, wire.tail
        else:
            head, tail = _write_head(payload, row_step), b"\0"
        flag = tail[:1] if bool(tail[0]) == is_dense else bytes([is_dense])
        return b"".join((head, *_row_bytes(payload), flag, tail[1:]))

    def losses(self, payload: Cloud) -> tuple[str, ...]:  # noqa: ARG002
        """Name nothing: the type holds every cloud."""
        return ()


def point_cloud2_codec(schema: Schema, options: Mapping[str, Any]) -> PointCloud2Codec:
    """Make the codec of a PointCloud2 channel; there are no options.

    Raises:
        MessageError: another type, or a definition that is not the known one.
    """
    if schema.name not in TYPE_NAMES:
        msg = f"{schema.name!r} is no point cloud; expected {TYPE_NAMES[0]!r}"
        raise MessageError(msg)
    if options:
        msg = f"{TYPE_NAMES[0]} takes no codec options, got {', '.join(sorted(options))}"
        raise MessageError(msg)
    if schema.encoding == "ros2msg" and schema.data.strip():
        _check_definition(schema.data.decode("utf-8", "replace"))
    return PointCloud2Codec()


def _check_definition(text: str) -> None:
    """Compare the members with the known ones; comments and package prefixes do not matter."""
    members = []
    for line in text.split("\n=", maxsplit=1)[0].splitlines():
        words = line.split("#", maxsplit=1)[0].split()
        if words:
            members.append(" ".join([words[0].rsplit("/", 1)[-1], *words[1:]]))
    if tuple(members) != _MEMBERS:
        msg = (
            f"the recording's definition of {TYPE_NAMES[0]} differs from the known one: it has"
            f" {members}, expected {list(_MEMBERS)}"
        )
        raise MessageError(msg)


class _Head(NamedTuple):
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


def _read_head(reader: CdrReader) -> _Head:
    seconds = reader.number("i", "header.stamp")
    nanoseconds = reader.number("I", "header.stamp")
    return _Head(
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


class _Rows(NamedTuple):
    """The points, and the bytes between and after their rows."""

    points: NDArray[np.void]
    padding: NDArray[np.uint8] | None
    trailing: bytes
    notes: tuple[str, ...]


def _rows(head: _Head, raw: memoryview) -> _Rows:
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
    return _Rows(points, None, bytes(raw[needed:]), notes)


def _padded_rows(head: _Head, raw: memoryview, dtype: np.dtype[np.void]) -> _Rows:
    """Split honestly padded rows; a last row without its padding is given it."""
    size = head.height * head.row_step
    flat = np.frombuffer(raw, np.uint8)[:size]
    table = np.pad(flat, (0, size - len(flat))).reshape(head.height, head.row_step)
    tight_step = head.width * head.point_step
    points = np.ascontiguousarray(table[:, :tight_step]).reshape(-1).view(dtype)
    points.flags.writeable = False
    return _Rows(points, table[:, tight_step:], bytes(raw[size:]), ())


def _empty_rows(head: _Head, raw: memoryview) -> _Rows:
    """Make no points; their type still tells the fields, even where point_step says 0."""
    known = [field for field in head.fields if field.datatype in NUMPY_CODES]
    step = max((field.end for field in known), default=0)
    dtype = point_dtype(head.fields, step, is_bigendian=head.is_bigendian)
    return _Rows(np.zeros(0, dtype), None, bytes(raw), ())


def _row_step_note(head: _Head, tight_step: int) -> tuple[str, ...]:
    note = (
        f"row_step {head.row_step} does not fit {head.width} points of {head.point_step} bytes a"
        f" row: rows are read as tightly packed, row_step is written as {tight_step}"
    )
    return (note,)


def _noted(cloud: Cloud, wire: Wire) -> Cloud:
    return replace(cloud, wire=wire, notes=cloud.notes + implausible_values(cloud))


def _facts(cloud: Cloud, row_step: int, data_bytes: int) -> tuple[Any, ...]:
    """List what the head of a message says."""
    return (
        cloud.stamp_ns,
        cloud.frame_id,
        cloud.height,
        cloud.width,
        cloud.fields,
        cloud.is_bigendian,
        cloud.point_step,
        row_step,
        data_bytes,
    )


def _data_bytes(cloud: Cloud) -> int:
    padding = 0 if cloud.row_padding is None else cloud.row_padding.size
    return len(cloud) * cloud.points.dtype.itemsize + padding + len(cloud.trailing)


def _row_step(cloud: Cloud) -> int:
    padding = 0 if cloud.row_padding is None else cloud.row_padding.shape[1]
    return cloud.width * cloud.point_step + padding


def _is_dense(cloud: Cloud) -> bool:
    if len(cloud) == 0 or not set(XYZ) & set(cloud.names):
        return cloud.is_dense
    return bool(cloud.finite().all())


def _write_head(cloud: Cloud, row_step: int) -> bytes:
    order = "<"
    if cloud.wire is not None and cloud.wire.head[1] == 0:
        order = ">"
    writer = CdrWriter(order)
    seconds, nanoseconds = divmod(cloud.stamp_ns, _NS_PER_S)
    writer.number("i", seconds, "header.stamp.sec")
    writer.number("I", nanoseconds, "header.stamp.nanosec")
    writer.text(cloud.frame_id, "header.frame_id")
    writer.number("I", cloud.height, "height")
    writer.number("I", cloud.width, "width")
    writer.number("I", len(cloud.fields), "the number of fields")
    for field in cloud.fields:
        writer.text(field.name, "a field's name")
        writer.number("I", field.offset, f"offset of field {field.name!r}")
        writer.number("B", field.datatype, f"datatype of field {field.name!r}")
        writer.number("I", field.count, f"count of field {field.name!r}")
    writer.number("B", cloud.is_bigendian, "is_bigendian")
    writer.number("I", cloud.point_step, "point_step")
    writer.number("I", row_step, "row_step")
    writer.number("I", _data_bytes(cloud), "the length of data")
    return bytes(writer.parts)


def _row_bytes(cloud: Cloud) -> tuple[Any, ...]:
    """Return the parts of ``data``, in order."""
    if cloud.points.dtype.itemsize == 0 or len(cloud) == 0:
        return (cloud.trailing,)
    raw = np.ascontiguousarray(cloud.points).view(np.uint8)
    if cloud.row_padding is None:
        return raw.data, cloud.trailing
    table = np.hstack([raw.reshape(cloud.height, -1), cloud.row_padding])
    return np.ascontiguousarray(table).reshape(-1).data, cloud.trailing
