"""sensor_msgs/msg/PointCloud2 on the wire <-> `Cloud`, without copying the points on the way in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.cloud import XYZ, Cloud, Wire
from bagnoise.messages.cloud_cdr import CdrReader, CdrWriter
from bagnoise.messages.cloud_checks import implausible_values
from bagnoise.messages.cloud_rows import read_head, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_NS_PER_S: Final = 1_000_000_000


class PointCloud2Codec:
    """The codec of sensor_msgs/msg/PointCloud2."""

    def decode(self, data: bytes | memoryview) -> Cloud:
        """Read a cloud; its points are a read-only view of ``data``.

        Raises:
            MessageError: lengths, offsets or datatypes contradict each other or the message.
        """
        reader = CdrReader(data)
        head = read_head(reader)
        data_at = reader.position
        raw = reader.take(head.data_bytes, "the points")
        tail = bytes(reader.take(reader.remaining, "the end"))
        if not tail:
            msg = "message ends before is_dense"
            raise MessageError(msg)
        rows = rows_of(head, raw)
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
