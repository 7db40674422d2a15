"""eufs_msgs: ConeArrayWithCovariance and ConeArray, cones in five arrays by color."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.classes import CLASSES, class_runs
from bagnoise.messages.cones.common import (
    Holds,
    flat_2x2,
    full_3x3,
    matching_variant,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import Reader, Writer
from bagnoise.messages.payload import Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

WITH_COVARIANCE = "eufs_msgs/msg/ConeArrayWithCovariance"
PLAIN = "eufs_msgs/msg/ConeArray"
HOLDS = {WITH_COVARIANCE: Holds(covariance="xy"), PLAIN: Holds()}
_F8 = np.dtype("<f8")
_DOUBLES = {WITH_COVARIANCE: 7, PLAIN: 3}  # x y z, and xx xy yx yy
_CLASS_CODES = np.array(CLASSES, np.int8)


@dataclass(frozen=True)
class EufsCodec:
    """Both types: rows of doubles, in the order blue, yellow, orange, big orange, unknown."""

    type_name: str

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; rows and `Cones.index` follow the order of the arrays."""
        reader = Reader(data, self.type_name)
        stamp_ns, frame_id = reader.header()
        width = _DOUBLES[self.type_name]
        runs: list[NDArray[np.float64]] = []
        sizes: list[int] = []
        for _ in CLASSES:
            count = reader.count()
            sizes.append(count)
            if count:
                runs.append(reader.array(_F8, count * width, 8))
        origin = reader.finish()
        flat = np.concatenate(runs) if runs else np.empty(0)
        rows = flat.reshape(-1, width)
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=rows[:, :3],
            color=_CLASS_CODES.repeat(sizes),
            index=row_index(len(rows)),
            source_count=len(rows),
            covariance=full_3x3(rows[:, 3:]) if width > 3 else None,  # noqa: PLR2004
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message, each cone in the array of its color, rows of one color in order."""
        writer = Writer(origin_of(payload, self.type_name))
        writer.header(payload.stamp_ns, payload.frame_id)
        width = _DOUBLES[self.type_name]
        rows = np.zeros((len(payload), width), _F8)
        rows[:, :3] = payload.xyz
        if width > 3:  # noqa: PLR2004
            rows[:, 3:] = flat_2x2(payload)
        order, sizes = class_runs(payload.color)
        if order is not None:
            rows = rows[order]
        start = 0
        for size in sizes:
            writer.count(size)
            writer.array(rows[start : start + size].reshape(-1), 8)
            start += size
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS[self.type_name].losses(payload)


def make(schema: Schema, options: Mapping[str, Any]) -> EufsCodec:
    """Make the codec of either type."""
    no_options(schema, options)
    matching_variant(schema)
    return EufsCodec(schema.name)
