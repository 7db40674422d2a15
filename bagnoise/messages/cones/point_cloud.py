"""sensor_msgs/PointCloud: bare points, as the ConeNoiseSimulator's ``/cones_noise_viz``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.messages.cones.common import (
    Holds,
    as_float32,
    matching_variant,
    no_options,
    origin_of,
    origin_rows,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import Origin, Reader, Writer
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "sensor_msgs/msg/PointCloud"
HOLDS = Holds(z=False, classes=(ConeClass.UNKNOWN,))
_FLOAT = np.dtype("<f4")


class _Channel(NamedTuple):
    name: str
    values: NDArray[np.float32]


class _Rows(NamedTuple):
    """The points as they came, (n, 3), and what the message had a point beside."""

    points: NDArray[np.float32]
    channels: list[_Channel]


class PointCloudCodec:
    """Points of float32; a cone is written with z = 0, channels are those of the source."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read the points; channels are carried along."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        points = reader.array(_FLOAT, 3 * reader.count(), 4).reshape(-1, 3)
        channels = [
            _Channel(reader.string(), reader.sequence(_FLOAT, 4)) for _ in range(reader.count())
        ]
        origin = reader.finish(_Rows(points, channels))
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=_as_float64(points),
            color=np.full(len(points), ConeClass.UNKNOWN, np.int8),
            index=row_index(len(points)),
            source_count=len(points),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write x, y and 0 of each cone; the z of points that came from this type stays."""
        origin = origin_of(payload, TYPE)
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.count(len(payload))
        writer.array(_points(payload, origin).reshape(-1), 4)
        _write_channels(writer, payload, origin)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        lost = HOLDS.losses(payload)
        return lost if origin_of(payload, TYPE) is None else tuple(n for n in lost if n != "z")


def _write_channels(writer: Writer, payload: Cones, origin: Origin | None) -> None:
    came: list[_Channel] = [] if origin is None else origin.rows.channels
    writer.count(len(came))
    for name, values in came:
        writer.string(name)
        a_point_each = origin is not None and len(values) == len(origin.rows.points)
        writer.sequence(origin_rows(payload, values, _FLOAT) if a_point_each else values, 4)


def _as_float64(points: NDArray[np.float32]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # a signalling NaN is no news
        return points.astype(np.float64)


def _points(payload: Cones, origin: Origin | None) -> NDArray[np.float32]:
    if origin is None:
        points = as_float32(payload.xyz, np.zeros((len(payload), 3), _FLOAT))
        points[:, 2] = 0.0
        return points
    return as_float32(payload.xyz, origin_rows(payload, origin.rows.points, _FLOAT))


def make(schema: Schema, options: Mapping[str, Any]) -> PointCloudCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return PointCloudCodec()
