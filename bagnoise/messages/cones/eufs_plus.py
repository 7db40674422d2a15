"""eufs_msgs/ConeArrayWithCovariancePlus: one array, with ids and class probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.classes import ids_of, likeliest, probabilities_of
from bagnoise.messages.cones.common import (
    Holds,
    flat_2x2,
    full_3x3,
    lost_ids,
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

TYPE = "eufs_msgs/msg/ConeArrayWithCovariancePlus"
HOLDS = Holds(covariance="xy", probabilities=True, ids=True)
_CONE = np.dtype(
    [("id", "<i4"), ("gap", "V4"), ("classes", "<f8", 4), ("point", "<f8", 3), ("cov", "<f8", 4)]
)
_AHEAD = 8  # bytes of a cone in front of its doubles; the first cone may have 4 only
_ID_BITS = 32


class EufsPlusCodec:
    """The probability that is missing to 1 is that of an unknown color."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; the class is the likeliest."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        rows = _read_rows(reader)
        origin = reader.finish(rows)
        classes = rows["classes"]
        probabilities = np.empty((len(rows), 5))
        probabilities[:, :4] = classes
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond any sum leaves nothing
            probabilities[:, ConeClass.UNKNOWN] = np.maximum(0.0, 1.0 - classes.sum(axis=1))
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=rows["point"],
            color=likeliest(probabilities),
            index=row_index(len(rows)),
            source_count=len(rows),
            covariance=full_3x3(rows["cov"]),
            probabilities=probabilities,
            ids=rows["id"].astype(np.int64),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message, rows in their order; a cone without id gets -1."""
        origin = origin_of(payload, TYPE)
        rows = origin_rows(payload, None if origin is None else origin.rows, _CONE)
        rows["id"] = ids_of(payload, _ID_BITS)
        rows["classes"] = probabilities_of(payload)[:, :4]
        rows["point"] = payload.xyz
        rows["cov"] = flat_2x2(payload)
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.count(len(rows))
        if len(rows):
            writer.array(rows["id"][:1], 4)
            writer.align(8)
            if not writer.little:
                rows = rows.astype(_CONE.newbyteorder(">"))
            writer.put(rows.tobytes()[_AHEAD:])
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload) + lost_ids(payload, _ID_BITS)


def _read_rows(reader: Reader) -> NDArray[Any]:
    count = reader.count()
    if count == 0:
        return np.empty(0, _CONE)
    first_id = reader.array(np.dtype("<i4"), 1, 4)
    reader.align(8)
    size = count * _CONE.itemsize - _AHEAD
    if size > reader.size - reader.pos:
        reader.fail(f"{count} cones go beyond the end")
    rows = np.empty(count, _CONE)
    flat = rows.view(np.uint8)
    flat[:_AHEAD] = 0
    flat[_AHEAD:] = np.frombuffer(reader.data, np.uint8, size, reader.pos)
    reader.pos += size
    if not reader.little:
        rows = rows.view(_CONE.newbyteorder(">")).astype(_CONE)
    rows["id"][0] = first_id[0]
    return rows


def make(schema: Schema, options: Mapping[str, Any]) -> EufsPlusCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return EufsPlusCodec()
