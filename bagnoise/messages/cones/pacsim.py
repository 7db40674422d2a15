"""pacsim/PerceptionDetections: landmarks with a header, pose, class probabilities, maybe an id."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.messages.cones.classes import ids_of, likeliest, probabilities_of
from bagnoise.messages.cones.common import (
    Holds,
    lost_ids,
    matching_variant,
    no_options,
    origin_of,
    origin_rows,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import HEAD, Reader, Writer
from bagnoise.messages.payload import Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "pacsim/msg/PerceptionDetections"
NO_ID = "no_id"
VARIANTS = (None, NO_ID)
DETECTION = "detection_probability"
_ID_BITS = 32
_COLUMNS = [2, 3, 4, 5, 0]  # CLASS_* of our blue, yellow, small orange, big orange, unknown
_FIELDS: list[Any] = [
    ("xyz", "<f8", 3),
    ("orientation", "<f8", 4),
    ("covariance", "<f8", (6, 6)),
    ("classes", "<f8", 7),
    (DETECTION, "<f8"),
]
_BODY = {None: np.dtype([*_FIELDS, ("id", "<i4")]), NO_ID: np.dtype(_FIELDS)}


class _Rows(NamedTuple):
    """What the landmarks were: a header each (as bytes; one, if all are the same), and the rest."""

    heads: list[bytes]
    body: NDArray[Any]
    stamp_ns: int
    frame_id: str


@dataclass(frozen=True)
class PacsimCodec:
    """``variant`` is None, or ``no_id`` for the messages before October 2024."""

    variant: str | None

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; invisible cones and time keeping gates are of unknown class."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        heads, body = _read_landmarks(reader, _BODY[self.variant])
        origin = reader.finish(_Rows(heads, body, stamp_ns, frame_id), self.variant)
        probabilities = body["classes"][:, _COLUMNS]
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=body["xyz"],
            color=likeliest(probabilities),
            index=row_index(len(body)),
            source_count=len(body),
            covariance=body["covariance"][:, :3, :3],
            probabilities=probabilities,
            ids=body["id"].astype(np.int64) if self.variant is None else None,
            extra={DETECTION: body[DETECTION]},
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message; a landmark keeps its own header unless stamp or frame were changed."""
        origin = origin_of(payload, TYPE, self.variant)
        came: _Rows | None = None if origin is None else origin.rows
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.count(len(payload))
        body = self._body(payload, came)
        heads = _heads(payload, came, writer)
        _write_landmarks(writer, heads, body)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        has_id = self.variant is None
        holds = Holds(covariance="xyz", probabilities=True, ids=has_id, extra=(DETECTION,))
        return holds.losses(payload) + (lost_ids(payload, _ID_BITS) if has_id else ())

    def _body(self, payload: Cones, came: _Rows | None) -> NDArray[Any]:
        dtype = _BODY[self.variant]
        body = origin_rows(payload, None if came is None else came.body, dtype)
        new = payload.index < 0 if came is not None else slice(None)
        body["orientation"][new, 3] = 1.0
        body["xyz"] = payload.xyz
        body["covariance"][:, :3, :3] = 0.0 if payload.covariance is None else payload.covariance
        classes = body["classes"]
        classes[:, _COLUMNS] = probabilities_of(payload)
        body[DETECTION] = payload.extra.get(DETECTION, 1.0)
        if self.variant is None:
            body["id"] = ids_of(payload, _ID_BITS)
        return body


def _heads(payload: Cones, came: _Rows | None, writer: Writer) -> list[bytes]:
    """Return a header each, or a single one for all: the message's unless the rows' own count."""
    own = Writer()
    own.little = writer.little
    own.parts.clear()
    own.header(payload.stamp_ns, payload.frame_id)
    head = b"".join(own.parts)
    if came is None or (came.stamp_ns, came.frame_id) != (payload.stamp_ns, payload.frame_id):
        return [head]
    if came.heads == [head] or not came.heads:
        return [head]
    heads = came.heads * (len(came.body) if len(came.heads) == 1 else 1)
    return [heads[row] if 0 <= row < len(heads) else head for row in payload.index.tolist()]


def _read_landmarks(reader: Reader, body: np.dtype[Any]) -> tuple[list[bytes], NDArray[Any]]:
    count = reader.count()
    if count * body.itemsize > reader.size - reader.pos:
        reader.fail(f"{count} landmarks go beyond the end")
    if not count:
        return [], np.empty(0, body)
    head = _read_head(reader)
    first = reader.array(body, 1, 8)
    if count == 1:
        return [head], first
    rest = _read_alike(reader, body, head, count - 1)
    if rest is not None:
        whole = np.empty(count, body)
        whole[:1], whole[1:] = first, rest
        return [head], whole
    heads, parts = [head], [first]
    for _ in range(count - 1):
        heads.append(_read_head(reader))
        parts.append(reader.array(body, 1, 8))
    return heads, np.concatenate(parts)


def _read_head(reader: Reader) -> bytes:
    reader.align(4)
    start, stamp = reader.pos, reader.stamp
    reader.header()
    reader.stamp = stamp  # the bytes tell this one
    return reader.data[start : reader.pos]


def _alike(body: np.dtype[Any], head_size: int, pos: int) -> np.dtype[Any]:
    """Return the struct of landmarks with headers of one size, from a position on.

    All but the first begin at the same remainder of 8, for the doubles in them are aligned.
    """
    return _landmark(body, head_size, (HEAD - pos - head_size) % 8)


@lru_cache(maxsize=64)
def _landmark(body: np.dtype[Any], head_size: int, gap: int) -> np.dtype[Any]:
    return np.dtype([("head", "u1", (head_size,)), ("gap", "u1", (gap,)), ("body", body)])


def _read_alike(
    reader: Reader, body: np.dtype[Any], head: bytes, count: int
) -> NDArray[Any] | None:
    """Read landmarks at once if their headers are all the same and no filler is unusual."""
    if reader.pos % 4 or not reader.little:
        return None
    dtype = _alike(body, len(head), reader.pos)
    if count * dtype.itemsize > reader.size - reader.pos:
        return None
    rows = np.frombuffer(reader.data, dtype, count, reader.pos)
    if (rows["head"] != np.frombuffer(head, np.uint8)).any() or rows["gap"].any():
        return None
    reader.pos += count * dtype.itemsize
    return rows["body"]


def _write_landmarks(writer: Writer, heads: list[bytes], body: NDArray[Any]) -> None:
    if not len(body):
        return
    writer.align(4)
    if not writer.little:
        body = body.astype(body.dtype.newbyteorder(">"))
    raw = body.tobytes()
    size = body.dtype.itemsize
    if writer.gaps or len(heads) > 1:
        for row, head in enumerate(heads * (len(body) if len(heads) == 1 else 1)):
            writer.align(4)
            writer.put(head)
            writer.align(8)
            writer.put(raw[row * size : (row + 1) * size])
        return
    writer.put(heads[0])
    writer.align(8)
    writer.put(raw[:size])
    rows = np.zeros(len(body) - 1, _alike(body.dtype, len(heads[0]), writer.pos))
    rows["head"] = np.frombuffer(heads[0], np.uint8)
    rows["body"] = body[1:]
    writer.put(rows.tobytes())


def make(schema: Schema, options: Mapping[str, Any]) -> PacsimCodec:
    """Make the codec of the layout that the definition has."""
    no_options(schema, options)
    return PacsimCodec(matching_variant(schema, VARIANTS))
