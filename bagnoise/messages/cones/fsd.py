"""fsd_common_msgs/ConeDetections (AMZ's skeleton): positions with a letter for the color."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.messages.cones.classes import StringCodes
from bagnoise.messages.cones.common import (
    Holds,
    matching_variant,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import HEAD, Reader, Writer
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "fsd_common_msgs/msg/ConeDetections"
HOLDS = Holds(classes=tuple(cone for cone in ConeClass if cone != ConeClass.BIG_ORANGE))
WORDS = StringCodes(
    {
        ConeClass.BLUE: "b",
        ConeClass.YELLOW: "y",
        ConeClass.SMALL_ORANGE: "o",
        ConeClass.BIG_ORANGE: "o",
        ConeClass.UNKNOWN: "",
    }
)
_POINT = struct.Struct("<3d")
_LETTER = np.dtype([("xyz", "<f8", 3), ("size", "<u4"), ("letter", "u1", 2), ("gap", "u1", 2)])
_GAP = 2
_LETTER_SIZE = 2  # a letter and its terminator
_SMALLEST = 28  # bytes of a cone whose string is empty and lacks its terminator


class FsdCodec:
    """'b', 'y', 'o' (both orange cones); an unknown color is an empty string."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        xyz, words = _read_cones(reader)
        origin = reader.finish(words)
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=xyz,
            color=np.array([WORDS.class_of(word) for word in words], np.int8),
            index=row_index(len(xyz)),
            source_count=len(xyz),
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message; a color that nobody changed keeps its spelling."""
        origin = origin_of(payload, TYPE)
        came: list[str] = [] if origin is None else origin.rows
        pairs = zip(payload.color.tolist(), payload.index.tolist(), strict=True)
        words = [
            WORDS.word(cone, came[row] if 0 <= row < len(came) else None) for cone, row in pairs
        ]
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.count(len(words))
        if writer.little and not writer.gaps and all(len(w.encode()) == 1 for w in words):
            _write_letters(writer, payload, words)
            return writer.finish()
        for (x, y, z), word in zip(payload.xyz.tolist(), words, strict=True):
            writer.numbers(_POINT, 8, x, y, z)
            writer.string(word)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)


def _read_cones(reader: Reader) -> tuple[NDArray[np.float64], list[str]]:
    count = reader.count()
    if count * _SMALLEST > reader.size - reader.pos:
        reader.fail(f"{count} cones go beyond the end")
    letters = _read_letters(reader, count)
    if letters is not None:
        return letters["xyz"], [chr(letter) for letter in letters["letter"][:, 0].tolist()]
    xyz = np.empty((count, 3))
    words: list[str] = []
    for row in range(count):
        xyz[row] = reader.numbers(_POINT, 8)
        words.append(reader.string())
    return xyz, words


def _read_letters(reader: Reader, count: int) -> NDArray[Any] | None:
    """Read the cones at once if every color is one letter and no filler is unusual."""
    start = reader.pos + (HEAD - reader.pos) % 8
    if not count or not reader.little or any(reader.data[reader.pos : start]):
        return None
    size = count * _LETTER.itemsize - _GAP
    if size > reader.size - start:
        return None
    rows = np.zeros(count, _LETTER)
    rows.view(np.uint8)[:size] = np.frombuffer(reader.data, np.uint8, size, start)
    letter = rows["letter"]
    plain = (rows["size"] == _LETTER_SIZE) & (letter[:, 1] == 0) & (letter[:, 0] < 128)  # noqa: PLR2004 - ASCII
    if not plain.all() or rows["gap"].any():
        return None
    reader.pos = start + size
    return rows


def _write_letters(writer: Writer, payload: Cones, words: list[str]) -> None:
    rows = np.zeros(len(words), _LETTER)
    rows["xyz"] = payload.xyz
    rows["size"] = _LETTER_SIZE
    rows["letter"][:, 0] = np.frombuffer("".join(words).encode(), np.uint8)
    writer.array(rows, 8, _GAP)


def make(schema: Schema, options: Mapping[str, Any]) -> FsdCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return FsdCodec()
