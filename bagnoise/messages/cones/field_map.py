"""Any message type by a map of its fields: paths of positions and color, a table of codes.

A map (the option ``fields``) names where things are; paths have dots. Cones are the elements of a
list of structs, several such lists by class, or columns::

    fields: {cones: cones.cone_array, x: position.x, y: position.y, color: color}
    fields: {cones: {blue: blue_cones, yellow: yellow_cones}, x: x, y: y}
    fields: {range: rho, bearing: theta, color: colors}

Beside ``color``, the option ``classes`` tells the code (number or text) of each class.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.messages.cones.common import (
    Holds,
    known_definition,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.field_map_options import FieldMap, read_map
from bagnoise.messages.cones.field_paths import get, put
from bagnoise.messages.cones.wire import HEAD, NS_PER_S, Origin
from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.messages.typestore import blank_message, decode, encode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema


class _Source(NamedTuple):
    """The decoded message, its bytes, and what was read from it."""

    data: bytes
    message: Any
    elements: list[Any]  # the structs of the rows; empty for columns
    cones: Cones


@dataclass(frozen=True)
class FieldMapCodec:
    """Reads and writes what the map names; all else of a message is carried along."""

    schema: Schema
    map: FieldMap

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message."""
        data = bytes(data)  # a view may be gone when the payload is used
        message = decode(self.schema, data)
        elements, lists = self._elements(message)
        read = self._columns(message) if self.map.is_columns else self._rows(elements)
        sizes = {name: len(column) for name, column in read.items()}
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{size} {name}" for name, size in sizes.items())
            msg = f"a message of {self.schema.name} has {told}; there must be as many of each"
            raise MessageError(msg)
        xyz = self._positions(read)
        header = None if self.map.header is None else get(message, self.map.header)
        cones = Cones(
            stamp_ns=0 if header is None else header.stamp.sec * NS_PER_S + header.stamp.nanosec,
            frame_id="" if header is None else header.frame_id,
            xyz=xyz,
            color=self._color(read.get("color"), lists, len(xyz)),
            index=row_index(len(xyz)),
            source_count=len(xyz),
            ids=_as_ids(read.get("id")),
        )
        rows = _Source(data, message, elements, cones)
        origin = Origin(self.schema.name, data[:HEAD], rows=rows, layout=self)
        return replace(cones, message_extra=with_origin(origin))

    def encode(self, payload: Cones) -> bytes:
        """Write a message: the one it came as with rows changed, else a blank one filled."""
        origin = origin_of(payload, self.schema.name, self)
        source: _Source | None = None if origin is None else origin.rows
        if source is not None and _is_untouched(payload, source.cones):
            return source.data
        message = blank_message(self.schema) if source is None else copy.deepcopy(source.message)
        if self.map.header is not None:
            stamp = divmod(payload.stamp_ns, NS_PER_S)
            header = get(message, self.map.header)
            header.stamp.sec, header.stamp.nanosec = stamp
            header.frame_id = payload.frame_id
        if self.map.is_columns:
            self._fill_columns(message, payload, source)
        else:
            self._fill_lists(message, payload, source)
        return encode(self.schema, message)

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the map has no field for."""
        fields = self.map
        return Holds(
            header=fields.header is not None,
            z=fields.z is not None,
            ids=fields.id is not None,
            classes=fields.classes or (ConeClass.UNKNOWN,),
            leaves_out=fields.lists_by_class,
        ).losses(payload)

    def _elements(self, message: Any) -> tuple[list[Any], list[tuple[ConeClass, int]]]:
        elements: list[Any] = []
        sizes: list[tuple[ConeClass, int]] = []
        for cone, path in self.map.lists:
            found = get(message, path)
            elements += found
            sizes.append((cone, len(found)))
        return elements, sizes

    def _rows(self, elements: list[Any]) -> dict[str, Any]:
        return {
            name: [get(element, path) for element in elements]
            for name, path in self.map.paths.items()
        }

    def _columns(self, message: Any) -> dict[str, Any]:
        return {name: get(message, path) for name, path in self.map.paths.items()}

    def _positions(self, read: dict[str, Any]) -> NDArray[np.float64]:
        first = np.asarray(read[self.map.axes[0]], np.float64)
        second = np.asarray(read[self.map.axes[1]], np.float64)
        xyz = np.zeros((len(first), 3))
        if self.map.is_polar:
            with np.errstate(invalid="ignore"):  # a bearing of NaN or infinity is no position
                xyz[:, 0], xyz[:, 1] = first * np.cos(second), first * np.sin(second)
        else:
            xyz[:, 0], xyz[:, 1] = first, second
        if "z" in read:
            xyz[:, 2] = read["z"]
        return xyz

    def _color(
        self, codes: Any, lists: list[tuple[ConeClass, int]], count: int
    ) -> NDArray[np.int8]:
        if codes is not None:
            return np.array([self.map.class_of(code) for code in codes], np.int8)
        if not self.map.lists_by_class:
            return np.full(count, ConeClass.UNKNOWN, np.int8)
        classes = np.array([cone for cone, _ in lists], np.int8)
        return classes.repeat([size for _, size in lists])

    def _fill_lists(self, message: Any, payload: Cones, source: _Source | None) -> None:
        by_path: dict[str, list[Any]] = {path: [] for _, path in self.map.lists}
        paths = dict(self.map.lists)
        only = self.map.lists[0][1]
        values = self._values(payload)
        kept = _kept(payload, source)
        for row, index in enumerate(payload.index.tolist()):
            path = only
            if self.map.lists_by_class:
                path = paths.get(ConeClass(int(payload.color[row])), "")
            if not path:
                continue  # no list for this class: `losses` says so
            if source is not None and 0 <= index < len(source.elements):
                element = copy.deepcopy(source.elements[index])
            else:
                element = blank_message(self.schema, self.map.element)
            for name, inner in self.map.paths.items():
                if name in values and not kept.of(name)[row]:
                    put(element, inner, values[name][row])
            by_path[path].append(element)
        for path, elements in by_path.items():
            put(message, path, elements)

    def _fill_columns(self, message: Any, payload: Cones, source: _Source | None) -> None:
        if source is not None:
            self._carry_columns(message, payload, len(source.cones))
        values = self._values(payload)
        kept = _kept(payload, source)
        for name, path in self.map.paths.items():
            if name not in values:
                continue
            was = get(message, path)
            choose = zip(kept.of(name).tolist(), range(len(payload)), values[name], strict=True)
            column = [was[row] if keep else value for keep, row, value in choose]
            is_array = isinstance(was, np.ndarray)
            put(message, path, np.array(column, was.dtype) if is_array else column)

    def _carry_columns(self, message: Any, payload: Cones, count: int) -> None:
        """Take the rows of every column beside the mapped ones along; new rows get zero."""
        for path in self.map.columns:
            column = get(message, path)
            if len(column) != count:
                continue
            index = payload.index.tolist()
            if isinstance(column, np.ndarray):
                rows = [column[i] if 0 <= i < count else 0 for i in index]
                put(message, path, np.array(rows, column.dtype))
            else:
                put(message, path, [column[i] if 0 <= i < count else "" for i in index])

    def _values(self, payload: Cones) -> dict[str, list[Any]]:
        first, second = payload.xyz[:, 0], payload.xyz[:, 1]
        if self.map.is_polar:
            with np.errstate(over="ignore"):  # a position beyond any range is infinitely far
                first, second = np.hypot(first, second), np.arctan2(second, first)
        values: dict[str, list[Any]] = {
            self.map.axes[0]: first.tolist(),
            self.map.axes[1]: second.tolist(),
            "z": payload.xyz[:, 2].tolist(),
            "color": [self.map.code_of(cone) for cone in payload.color.tolist()],
        }
        if payload.ids is not None:
            values["id"] = payload.ids.tolist()
        return values


class _Kept(NamedTuple):
    """Which rows stay as they came, in position and in color."""

    position: NDArray[np.bool_]
    color: NDArray[np.bool_]

    def of(self, name: str) -> NDArray[np.bool_]:
        """Return the rows whose value of this name stays."""
        if name == "id":
            return np.zeros(len(self.color), np.bool_)
        return self.color if name == "color" else self.position


def _kept(payload: Cones, source: _Source | None) -> _Kept:
    count = 0 if source is None else len(source.cones)
    known = (payload.index >= 0) & (payload.index < count)
    if source is None or not count:
        return _Kept(known, known)
    at = np.where(known, payload.index, 0)
    old = source.cones.xyz[at]
    same = (payload.xyz == old) | (np.isnan(payload.xyz) & np.isnan(old))
    return _Kept(known & same.all(axis=1), known & (payload.color == source.cones.color[at]))


def _same(new: NDArray[np.float64], old: NDArray[np.float64]) -> bool:
    return bool(((new == old) | (np.isnan(new) & np.isnan(old))).all())


def _as_ids(values: Any) -> NDArray[np.int64] | None:
    return None if values is None else np.asarray(values, np.int64)


def _is_untouched(payload: Cones, came: Cones) -> bool:
    """Say whether every column that a map can write is as it came."""
    same = (
        (payload.stamp_ns, payload.frame_id) == (came.stamp_ns, came.frame_id)
        and len(payload) == len(came)
        and bool((payload.index == came.index).all())
        and bool((payload.color == came.color).all())
        and _same(payload.xyz, came.xyz)
    )
    if payload.ids is None or came.ids is None:
        return same
    return same and bool((payload.ids == came.ids).all())


def make(schema: Schema, options: Mapping[str, Any]) -> FieldMapCodec:
    """Make the codec of a map, which is checked against the definition.

    Raises:
        UsageError: the map does not fit the type.
    """
    no_options(schema, options, ("fields", "classes"))
    definition = known_definition(schema, None)
    return FieldMapCodec(definition, read_map(definition, options))
