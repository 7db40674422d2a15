"""vision_msgs/Detection3DArray (galactic and newer): a hypothesis a class, and a box."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagnoise.messages.cones.classes import CLASSES, StringCodes, likeliest, probabilities_of
from bagnoise.messages.cones.common import (
    Holds,
    matching_variant,
    no_options,
    origin_of,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.looks import LOOKS
from bagnoise.messages.cones.wire import Reader, Writer
from bagnoise.messages.payload import ConeClass, Cones

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "vision_msgs/msg/Detection3DArray"
HOLDS = Holds(covariance="xyz", probabilities=True, ids=True)
WORDS = StringCodes(
    {  # the labels of FSOCO, the teams' shared data set
        ConeClass.BLUE: "blue_cone",
        ConeClass.YELLOW: "yellow_cone",
        ConeClass.SMALL_ORANGE: "orange_cone",
        ConeClass.BIG_ORANGE: "large_orange_cone",
        ConeClass.UNKNOWN: "unknown_cone",
    },
    {cone.name: cone for cone in ConeClass}
    | {"orange": ConeClass.SMALL_ORANGE, "large_orange": ConeClass.BIG_ORANGE},
)
_SCORE_POSE = struct.Struct("<d7d36d")
_BOX = struct.Struct("<7d3d")
_COVARIANCE_AT = [0, 1, 2, 6, 7, 8, 12, 13, 14]  # the positions' part of a row-major 6x6
_SMALLEST = 100  # bytes of a detection without hypothesis


class Hypothesis(NamedTuple):
    """A class and where the object is: score, position, orientation, covariance."""

    class_id: str
    numbers: tuple[float, ...]


class Detection(NamedTuple):
    """One detection as it came."""

    stamp_ns: int
    frame_id: str
    results: tuple[Hypothesis, ...]
    box: tuple[float, ...]
    id: str

    @property
    def xyz(self) -> tuple[float, ...]:
        """Position of the best hypothesis, of the box where there is none."""
        best = self.best
        return self.box[:3] if best is None else best.numbers[1:4]

    @property
    def best(self) -> Hypothesis | None:
        """The first hypothesis of the highest score."""
        if not self.results:
            return None
        return max(self.results, key=lambda result: result.numbers[0])


class Detection3DCodec:
    """Ids are numbers in ``id``; another text stays, but is no id."""

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; the scores are class probabilities."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        stamp = reader.stamp
        count = reader.count()
        if count * _SMALLEST > reader.size - reader.pos:
            reader.fail(f"{count} detections go beyond the end")
        detections = [_read_detection(reader) for _ in range(count)]
        reader.stamp = stamp
        columns = _columns(detections)
        origin = reader.finish(_Rows(detections, columns, stamp_ns, frame_id))
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=columns.xyz,
            color=likeliest(columns.probabilities),
            index=row_index(count),
            source_count=count,
            covariance=columns.covariance,
            probabilities=columns.probabilities,
            ids=columns.ids,
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write a message; a detection that nobody changed stays as it came."""
        origin = origin_of(payload, TYPE)
        came: _Rows | None = None if origin is None else origin.rows
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        writer.count(len(payload))
        for detection in _detections(payload, came):
            _write_detection(writer, detection)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        return HOLDS.losses(payload)


class _Columns(NamedTuple):
    xyz: NDArray[np.float64]
    covariance: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    ids: NDArray[np.int64] | None


class _Rows(NamedTuple):
    """The detections as they came, with the header of their message."""

    detections: list[Detection]
    columns: _Columns
    stamp_ns: int
    frame_id: str


def _read_detection(reader: Reader) -> Detection:
    reader.stamp = None
    stamp_ns, frame_id = reader.header()
    if reader.stamp is not None:
        reader.fail("a stamp with a second or more of nanoseconds")
    count = reader.count()
    if count * _SCORE_POSE.size > reader.size - reader.pos:
        reader.fail(f"{count} hypotheses go beyond the end")
    results = tuple(
        Hypothesis(reader.string(), reader.numbers(_SCORE_POSE, 8)) for _ in range(count)
    )
    box = reader.numbers(_BOX, 8)
    return Detection(stamp_ns, frame_id, results, box, reader.string())


def _write_detection(writer: Writer, detection: Detection) -> None:
    writer.header(detection.stamp_ns, detection.frame_id)
    writer.count(len(detection.results))
    for class_id, numbers in detection.results:
        writer.string(class_id)
        writer.numbers(_SCORE_POSE, 8, *numbers)
    writer.numbers(_BOX, 8, *detection.box)
    writer.string(detection.id)


def _columns(detections: list[Detection]) -> _Columns:
    count = len(detections)
    xyz, covariance = np.zeros((count, 3)), np.zeros((count, 3, 3))
    probabilities = np.zeros((count, len(CLASSES)))
    for row, detection in enumerate(detections):
        xyz[row] = detection.xyz
        best = detection.best
        if best is not None:
            covariance[row] = np.array(best.numbers[8:]).reshape(6, 6)[:3, :3]
        for class_id, numbers in detection.results:
            probabilities[row, WORDS.class_of(class_id)] += numbers[0]
    ids = None
    if any(_is_id(detection.id) for detection in detections):
        values = [int(d.id) if _is_id(d.id) else -1 for d in detections]
        ids = np.array(values, np.int64)
    return _Columns(xyz, covariance, probabilities, ids)


def _is_id(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19  # noqa: PLR2004 - of int64


def _detections(payload: Cones, came: _Rows | None) -> list[Detection]:
    """Make the detections to write; those whose every column is as it came are kept."""
    made = _Columns(
        payload.xyz,
        np.zeros((len(payload), 3, 3)) if payload.covariance is None else payload.covariance,
        probabilities_of(payload),
        payload.ids,
    )
    kept = _kept(payload, made, came)
    return [
        came.detections[index] if came is not None and same else _new(payload, made, row)
        for row, (index, same) in enumerate(zip(payload.index.tolist(), kept, strict=True))
    ]


def _kept(payload: Cones, made: _Columns, came: _Rows | None) -> list[bool]:
    count = len(payload)
    if came is None or (came.stamp_ns, came.frame_id) != (payload.stamp_ns, payload.frame_id):
        return [False] * count
    if not came.detections:
        return [False] * count
    known = (payload.index >= 0) & (payload.index < len(came.detections))
    at = np.where(known, payload.index, 0)
    for new, old in zip(made[:3], came.columns[:3], strict=True):
        same = (new == old[at]) | (np.isnan(new) & np.isnan(old[at]))
        known &= same.reshape(count, -1).all(axis=1)
    if made.ids is not None and came.columns.ids is not None:
        known &= made.ids == came.columns.ids[at]
    return known.tolist()  # type: ignore[no-any-return]


def _new(payload: Cones, made: _Columns, row: int) -> Detection:
    look = LOOKS[ConeClass(int(payload.color[row]))]
    position = made.xyz[row].tolist()
    orientation = (0.0, 0.0, 0.0, 1.0)
    matrix = np.zeros(36)
    matrix[_COVARIANCE_AT] = made.covariance[row].reshape(-1)
    pose = (*position, *orientation, *matrix.tolist())
    scores = made.probabilities[row]
    order = np.argsort(-scores, kind="stable").tolist()
    results = tuple(
        Hypothesis(WORDS.word(cone), (float(scores[cone]), *pose))
        for cone in order
        if scores[cone] > 0.0 or cone == order[0]
    )
    x, y, z = position
    box = (x, y, z + look.height_m / 2, *orientation, look.width_m, look.width_m, look.height_m)
    name = "" if made.ids is None else str(int(made.ids[row]))
    return Detection(payload.stamp_ns, payload.frame_id, results, box, name)


def make(schema: Schema, options: Mapping[str, Any]) -> Detection3DCodec:
    """Make the codec."""
    no_options(schema, options)
    matching_variant(schema)
    return Detection3DCodec()
