"""visualization_msgs/MarkerArray: cones that RViz and Foxglove show as colored cylinders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import is_
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.cones.classes import CLASSES
from bagnoise.messages.cones.common import (
    Holds,
    known_definition,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.looks import ADD, CYLINDER, DELETE_ALL, LOOKS
from bagnoise.messages.cones.marker_bytes import MARKER, cylinders, rest_of_marker
from bagnoise.messages.cones.wire import NS_PER_S, Origin
from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.messages.schema_text import structure
from bagnoise.messages.typestore import blank_message, decode, encode, message_class

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "visualization_msgs/msg/MarkerArray"
HOLDS = Holds()
_NOT_ONE_OBJECT = frozenset((4, 5, 6, 7, 8, 9, 11))  # lines, lists, text, triangles
_BY_NAMESPACE = {look.namespace: cone for cone, look in LOOKS.items()}
_RGB = np.array([LOOKS[cone].rgb for cone in CLASSES])
_BIG_FROM_M = 0.415  # between the heights of the two orange cones


@dataclass(frozen=True)
class MarkersCodec:
    """One cylinder a cone, standing on the cone's position; ``schema`` is any distribution's."""

    schema: Schema

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read every marker that is one object; texts, lines and lists are carried along."""
        data = bytes(data)  # a view may be gone when the payload is used
        markers = decode(self.schema, data).markers
        at = [row for row, marker in enumerate(markers) if _is_cone(marker)]
        cones = [markers[row] for row in at]
        first = (cones or markers or [None])[0]
        color = np.array([_class_of(marker) for marker in cones], np.int8)
        xyz = _positions(cones, color)
        origin = Origin(TYPE, data[:4], rows=_Source(data, markers, at, xyz, color), layout=self)
        return Cones(
            stamp_ns=0 if first is None else _stamp_ns(first),
            frame_id="" if first is None else first.header.frame_id,
            xyz=xyz,
            color=color,
            index=row_index(len(cones)),
            source_count=len(cones),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write the cones, behind a marker that deletes all those of the message before."""
        origin = origin_of(payload, TYPE, self)
        if origin is None:
            rest = rest_of_marker(self.schema)
            if rest is not None:
                return cylinders(payload, rest)
            markers = [self._marker(payload, None, 0)]
            markers += [self._marker(payload, row, row) for row in range(len(payload))]
        else:
            source: _Source = origin.rows
            markers = self._edited(payload, source)
            if len(markers) == len(source.markers) and all(map(is_, markers, source.markers)):
                return source.data
        return encode(self.schema, message_class(self.schema)(markers=markers))

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)

    def _edited(self, payload: Cones, source: _Source) -> list[Any]:
        """Put the payload's rows among the markers that are no cones, as they came."""
        next_id = 1 + max((marker.id for marker in source.markers), default=-1)
        cones = set(source.at)
        others = [row for row in range(len(source.markers)) if row not in cones]
        markers: list[Any] = []
        for row, index in enumerate(payload.index.tolist()):
            if not 0 <= index < len(source.at):
                markers.append(self._marker(payload, row, next_id))
                next_id += 1
                continue
            at = source.at[index]
            while others and others[0] < at:
                markers.append(source.markers[others.pop(0)])
            markers.append(self._moved(payload, row, source, index))
        markers += [source.markers[other] for other in others]
        return [self._restamped(payload, marker, source) for marker in markers]

    def _moved(self, payload: Cones, row: int, source: _Source, index: int) -> Any:
        marker = source.markers[source.at[index]]
        recolored = payload.color[row] != source.color[index]
        xyz = payload.xyz[row]
        if recolored:
            return self._marker(payload, row, marker.id)
        same = (xyz == source.xyz[index]) | (np.isnan(xyz) & np.isnan(source.xyz[index]))
        if same.all():
            return marker
        was, pose = marker.pose.position, marker.pose
        lift = _lift_m(marker)
        values = [float(xyz[0]), float(xyz[1]), float(xyz[2]) + lift]
        kept = [
            old if same[axis] else values[axis] for axis, old in enumerate((was.x, was.y, was.z))
        ]
        return replace(marker, pose=replace(pose, position=type(was)(*kept)))

    def _restamped(self, payload: Cones, marker: Any, source: _Source) -> Any:
        if not source.markers:
            return marker
        first = source.markers[source.at[0] if source.at else 0]
        if (payload.stamp_ns, payload.frame_id) == (_stamp_ns(first), first.header.frame_id):
            return marker
        return replace(marker, header=self._header(payload))

    def _header(self, payload: Cones) -> Any:
        sec, nanosec = divmod(payload.stamp_ns, NS_PER_S)
        stamp = self._new("builtin_interfaces/msg/Time", sec=sec, nanosec=nanosec)
        return self._new("std_msgs/msg/Header", stamp=stamp, frame_id=payload.frame_id)

    def _marker(self, payload: Cones, row: int | None, marker_id: int) -> Any:
        """Make the cylinder of a row, or the marker that deletes all (None)."""
        blank = blank_message(self.schema, MARKER)
        header = self._header(payload)
        if row is None:
            return replace(blank, header=header, action=DELETE_ALL)
        look = LOOKS[ConeClass(int(payload.color[row]))]
        x, y, z = payload.xyz[row].tolist()
        position = self._new("geometry_msgs/msg/Point", x=x, y=y, z=z + look.height_m / 2)
        upright = self._new("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
        red, green, blue = look.rgb
        return replace(
            blank,
            header=header,
            ns=look.namespace,
            id=marker_id,
            type=CYLINDER,
            pose=replace(blank.pose, position=position, orientation=upright),
            scale=self._new(
                "geometry_msgs/msg/Vector3", x=look.width_m, y=look.width_m, z=look.height_m
            ),
            color=self._new("std_msgs/msg/ColorRGBA", r=red, g=green, b=blue, a=1.0),
        )

    def _new(self, type_name: str, **values: Any) -> Any:
        return message_class(self.schema, type_name)(**values)


class _Source(NamedTuple):
    """The markers of the decoded message and which of them are the rows."""

    data: bytes
    markers: list[Any]
    at: list[int]
    xyz: NDArray[np.float64]
    color: NDArray[np.int8]


def _is_cone(marker: Any) -> bool:
    return bool(marker.action == ADD and marker.type not in _NOT_ONE_OBJECT)


def _class_of(marker: Any) -> ConeClass:
    known = _BY_NAMESPACE.get(marker.ns)
    if known is not None:
        return known
    rgb = np.array([marker.color.r, marker.color.g, marker.color.b])
    nearest = CLASSES[int(np.argmin(((_RGB - rgb) ** 2).sum(axis=1)))]
    if nearest in {ConeClass.SMALL_ORANGE, ConeClass.BIG_ORANGE}:
        big = marker.scale.z > _BIG_FROM_M
        return ConeClass.BIG_ORANGE if big else ConeClass.SMALL_ORANGE
    return nearest


def _lift_m(marker: Any) -> float:
    """Return how far the marker's centre is above the cone's position: ours stand on it."""
    ours = marker.ns in _BY_NAMESPACE and marker.type == CYLINDER
    return float(marker.scale.z) / 2 if ours else 0.0


def _positions(cones: list[Any], color: NDArray[np.int8]) -> NDArray[np.float64]:
    if not len(color):
        return np.zeros((0, 3))
    points = [(m.pose.position.x, m.pose.position.y, m.pose.position.z - _lift_m(m)) for m in cones]
    return np.array(points, np.float64)


def _stamp_ns(marker: Any) -> int:
    stamp = marker.header.stamp
    return int(stamp.sec) * NS_PER_S + int(stamp.nanosec)


def make(schema: Schema, options: Mapping[str, Any]) -> MarkersCodec:
    """Make the codec; the fields that are used must be there, others may differ by distribution."""
    no_options(schema, options)
    definition = known_definition(schema, None)
    markers = {name: kind for name, kind, *_ in structure(definition)}.get("markers", ())
    fields = {entry[0] for entry in markers if not isinstance(markers, str)}
    missing = {"header", "ns", "id", "type", "action", "pose", "scale", "color"} - fields
    if missing:
        msg = f"the bag's definition of {TYPE} has no {', '.join(sorted(missing))} in its markers"
        raise MessageError(msg)
    return MarkersCodec(definition)
