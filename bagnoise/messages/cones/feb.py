"""feb_msgs/ConesCartesian: columns x, y, color; one layout has the processing time behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.errors import MessageError
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

TYPE = "feb_msgs/msg/ConesCartesian"
EVAL_TIME = "eval_time"
VARIANTS = (None, EVAL_TIME)
HOLDS = {
    None: Holds(z=False),
    EVAL_TIME: Holds(z=False, message_extra=(EVAL_TIME,)),
}
CODES = ColorCodes(
    {
        ConeClass.BLUE: 2,
        ConeClass.YELLOW: 1,
        ConeClass.SMALL_ORANGE: 0,
        ConeClass.BIG_ORANGE: 3,
        ConeClass.UNKNOWN: -1,
    }
)
_F8 = np.dtype("<f8")
_I1 = np.dtype("i1")


@dataclass(frozen=True)
class FebCodec:
    """One layout of ConesCartesian: ``variant`` is None or ``eval_time``."""

    variant: str | None

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; z is 0."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        x = reader.sequence(_F8, 8)
        y = reader.sequence(_F8, 8)
        codes = reader.sequence(_I1, 1)
        values: dict[str, Any] = {}
        if self.variant:
            values[EVAL_TIME] = float(reader.array(_F8, 1, 8)[0])
        color = CODES.classes(codes)
        foreign = bool((CODES.codes(color) != codes).any())
        origin = reader.finish(codes if foreign else None, self.variant)
        if not len(x) == len(y) == len(codes):
            msg = (
                f"a message of {TYPE} has {len(x)} x, {len(y)} y and {len(codes)} color;"
                " there must be as many of each"
            )
            raise MessageError(msg)
        xyz = np.zeros((len(x), 3))
        xyz[:, 0], xyz[:, 1] = x, y
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=xyz,
            color=color,
            index=row_index(len(x)),
            source_count=len(x),
            message_extra=with_origin(origin, **values),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message; ``eval_time`` is the payload's, 0 where it has none."""
        origin = origin_of(payload, TYPE, self.variant)
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.sequence(payload.xyz[:, 0], 8)
        writer.sequence(payload.xyz[:, 1], 8)
        codes = CODES.codes(payload.color)
        if origin is not None and origin.rows is not None:
            codes = CODES.codes(payload.color, origin_rows(payload, origin.rows, _I1))
        writer.sequence(codes.astype(_I1), 1)
        if self.variant:
            writer.array(np.array([payload.message_extra.get(EVAL_TIME, 0.0)], _F8), 8)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS[self.variant].losses(payload)


def make(schema: Schema, options: Mapping[str, Any]) -> FebCodec:
    """Make the codec of the layout that the definition has."""
    no_options(schema, options)
    return FebCodec(matching_variant(schema, VARIANTS))
