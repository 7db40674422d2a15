"""fssim_common/Track: the true track in arrays of points, beside the time keeping devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.classes import class_runs
from bagnoise.messages.cones.common import (
    Holds,
    matching_variant,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import Reader, Writer
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "fssim_common/msg/Track"
_KNOWN = (ConeClass.BLUE, ConeClass.YELLOW, ConeClass.SMALL_ORANGE, ConeClass.BIG_ORANGE)
HOLDS = Holds(classes=_KNOWN, leaves_out=True)
_F8 = np.dtype("<f8")
_DEVICES = 2
_CLASS_CODES = np.array(_KNOWN, np.int8)


class FssimTrackCodec:
    """Left cones are blue, right ones yellow; cones of unknown color have no array."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; the time keeping devices are carried along."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        runs = [_read_points(reader) for _ in _KNOWN]
        devices = [_read_points(reader) for _ in range(_DEVICES)]
        origin = reader.finish(devices)
        xyz = np.concatenate(runs)
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=xyz,
            color=_CLASS_CODES.repeat([len(run) for run in runs]),
            index=row_index(len(xyz)),
            source_count=len(xyz),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message, each cone in the array of its class; unknown ones are left out."""
        origin = origin_of(payload, TYPE)
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        order, sizes = class_runs(payload.color)
        xyz = payload.xyz if order is None else payload.xyz[order]
        start = 0
        for size in sizes[: len(_KNOWN)]:
            _write_points(writer, xyz[start : start + size])
            start += size
        nothing = np.empty((0, 3))
        for points in (nothing,) * _DEVICES if origin is None else origin.rows:
            _write_points(writer, points)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)


def _read_points(reader: Reader) -> NDArray[np.float64]:
    return reader.array(_F8, 3 * reader.count(), 8).reshape(-1, 3)


def _write_points(writer: Writer, points: NDArray[np.float64]) -> None:
    writer.count(len(points))
    writer.array(points.reshape(-1), 8)


def make(schema: Schema, options: Mapping[str, Any]) -> FssimTrackCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return FssimTrackCodec()
