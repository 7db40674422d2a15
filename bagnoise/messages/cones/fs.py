"""fs_msgs/Track (FSDS): located cones without a header, once a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.classes import ColorCodes
from bagnoise.messages.cones.common import (
    Holds,
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

    from bagnoise.bags.model import Schema

TYPE = "fs_msgs/msg/Track"
HOLDS = Holds(header=False)
CODES = ColorCodes(
    {
        ConeClass.BLUE: 0,
        ConeClass.YELLOW: 1,
        ConeClass.BIG_ORANGE: 2,
        ConeClass.SMALL_ORANGE: 3,
        ConeClass.UNKNOWN: 4,
    }
)
_CONE = np.dtype([("location", "<f8", 3), ("color", "u1"), ("gap", "V7")])
_GAP = 7


class FsTrackCodec:
    """A row a cone, in the order of the message."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message: stamp 0 and no frame."""
        reader = Reader(data, TYPE)
        rows = reader.sequence(_CONE, 8, _GAP)
        origin = reader.finish(rows)
        return Cones(
            stamp_ns=0,
            frame_id="",
            xyz=rows["location"],
            color=CODES.classes(rows["color"]),
            index=row_index(len(rows)),
            source_count=len(rows),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message, rows in their order."""
        origin = origin_of(payload, TYPE)
        rows = origin_rows(payload, None if origin is None else origin.rows, _CONE)
        rows["location"] = payload.xyz
        rows["color"] = CODES.codes(payload.color, None if origin is None else rows["color"])
        writer = Writer(origin)
        writer.sequence(rows, 8, _GAP)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)


def make(schema: Schema, options: Mapping[str, Any]) -> FsTrackCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return FsTrackCodec()
