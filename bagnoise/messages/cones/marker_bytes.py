"""Cylinders of a MarkerArray straight to bytes: twenty times as fast as through objects."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

from bagnoise.messages.cones.looks import CYLINDER, DELETE_ALL, LOOKS
from bagnoise.messages.cones.wire import HEAD, Writer
from bagnoise.messages.schema_text import structure
from bagnoise.messages.typestore import blank_message, encode, message_class

if TYPE_CHECKING:
    from bagnoise.bags.model import Schema
    from bagnoise.messages.payload import Cones

MARKER = "visualization_msgs/msg/Marker"
_FRONT = ("header", "ns", "id", "type", "action", "pose", "scale", "color")
_IDS = struct.Struct("<3i")
_SHAPE = struct.Struct("<10d4f")  # position, orientation, scale, color
_BLANK_REST = HEAD + 136  # where the color ends in an array of one blank marker


@lru_cache(maxsize=16)
def rest_of_marker(schema: Schema) -> bytes | None:
    """Return the bytes of a blank marker behind its color.

    None where a distribution had other fields in front of it.
    """
    (markers,) = structure(schema)
    if tuple(field[0] for field in markers[1])[: len(_FRONT)] != _FRONT:
        return None
    array = message_class(schema)(markers=[blank_message(schema, MARKER)])
    return encode(schema, array)[_BLANK_REST:]


def cylinders(payload: Cones, rest: bytes) -> bytes:
    """Write a MarkerArray: one marker that deletes all, then a cylinder a cone."""
    writer = Writer()
    writer.count(1 + len(payload))
    _begin(writer, payload, "")
    writer.put(_IDS.pack(0, 0, DELETE_ALL))
    writer.align(8)
    writer.put(bytes(_SHAPE.size) + rest)
    gap = bytes(-len(rest) % 4)  # the next marker begins aligned; the last has no filler
    fronts: dict[int, tuple[bytes, bytes]] = {}
    parts: list[bytes] = []
    rows = zip(payload.color.tolist(), payload.xyz.tolist(), strict=True)
    for row, (cone, (x, y, z)) in enumerate(rows):
        look = LOOKS[cone]
        if cone not in fronts:
            fronts[cone] = _front(writer.pos + len(gap), payload, look.namespace)
        front, filler = fronts[cone]
        size = (look.width_m, look.width_m, look.height_m)
        shape = _SHAPE.pack(
            x, y, z + look.height_m / 2, 0.0, 0.0, 0.0, 1.0, *size, *look.rgb, 1.0
        )  # fmt: skip
        parts += (gap, front, _IDS.pack(row, CYLINDER, 0), filler, shape, rest)
    return writer.finish() + b"".join(parts)


def _begin(writer: Writer, payload: Cones, namespace: str) -> None:
    writer.header(payload.stamp_ns, payload.frame_id)
    writer.string(namespace)
    writer.align(4)


def _front(pos: int, payload: Cones, namespace: str) -> tuple[bytes, bytes]:
    """Return what stands before and behind a marker's three numbers.

    Every marker but the first begins at the same remainder of 8: the pose in it is aligned.
    """
    writer = Writer()
    writer.pos = HEAD + (pos - HEAD) % 8
    writer.parts.clear()
    _begin(writer, payload, namespace)
    front = b"".join(writer.parts)
    return front, bytes((HEAD - writer.pos - _IDS.size) % 8)
