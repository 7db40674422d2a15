"""driverless_msgs/ConeDetectionStamped (QUTMS): cones, and the same cones with covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bagnoise.errors import UsageError
from bagnoise.messages.cones.classes import ColorCodes, ids_of
from bagnoise.messages.cones.common import (
    Holds,
    flat_2x2,
    full_3x3,
    lost_ids,
    matching_variant,
    no_options,
    origin_of,
    origin_rows,
    row_index,
    with_origin,
)
from bagnoise.messages.cones.wire import Reader, Writer
from bagnoise.messages.msg_text import full_type_name
from bagnoise.messages.payload import ConeClass, Cones
from bagnoise.messages.schema_text import message_texts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

TYPE = "driverless_msgs/msg/ConeDetectionStamped"
OLD = "before-2022-11"
VARIANTS = (None, "2022-11", OLD)
NUMBERINGS = ("auto", "current", OLD)
ARRAYS = ("both", "cones", "cones_with_cov")
_ID_BITS = 8
_SAME = {ConeClass.BLUE: 0, ConeClass.BIG_ORANGE: 2, ConeClass.SMALL_ORANGE: 3}
CODES = {
    "current": ColorCodes({**_SAME, ConeClass.UNKNOWN: 1, ConeClass.YELLOW: 4}),
    OLD: ColorCodes({**_SAME, ConeClass.YELLOW: 1, ConeClass.UNKNOWN: 4}),
}
Arrays = Literal["both", "cones", "cones_with_cov", "split"]


class Layout(NamedTuple):
    """Structs of one generation of the messages; ``filler`` is what the last cone lacks."""

    cone: np.dtype[Any]
    filler: int
    with_cov: np.dtype[Any]


def _layout(*, has_index: bool) -> Layout:
    front: list[Any] = [("location", "<f8", 3), ("color", "u1")]
    front += [("sim_cone_index", "i1"), ("gap", "V6")] if has_index else [("gap", "V7")]
    cone = np.dtype(front)
    return Layout(cone, 6 if has_index else 7, np.dtype([*front, ("cov", "<f8", 4)]))


class _Rows(NamedTuple):
    """Both arrays as they came, and what they are to each other."""

    cones: NDArray[Any]
    with_cov: NDArray[Any]
    arrays: Arrays


@dataclass(frozen=True)
class DriverlessCodec:
    """Rows are the cones with covariance; of two arrays that differ, the bare cones come first."""

    codes: ColorCodes
    layout: Layout
    arrays: Arrays

    def decode(self, data: bytes | memoryview) -> Cones:
        """Read a message; ids are ``sim_cone_index`` where the definition has it."""
        reader = Reader(data, TYPE)
        stamp_ns, frame_id = reader.header()
        cones = reader.sequence(self.layout.cone, 8, self.layout.filler)
        with_cov = reader.sequence(self.layout.with_cov, 8)
        arrays = _relation(cones, with_cov)
        origin = reader.finish(_Rows(cones, with_cov, arrays), (self.codes, self.layout))
        rows = with_cov if arrays in {"both", "cones_with_cov"} else _together(cones, with_cov)
        return Cones(
            stamp_ns=stamp_ns,
            frame_id=frame_id,
            xyz=rows["location"],
            color=self.codes.classes(rows["color"]),
            index=row_index(len(rows)),
            source_count=len(rows),
            covariance=None if arrays == "cones" else full_3x3(rows["cov"]),
            ids=rows["sim_cone_index"].astype(np.int64) if self._has_index else None,
            message_extra=with_origin(origin),
        )

    def encode(self, payload: Cones) -> bytes:
        """Write the arrays that the message came with, or those of the option ``arrays``."""
        origin = origin_of(payload, TYPE, (self.codes, self.layout))
        came = _Rows(np.empty(0), np.empty(0), self.arrays) if origin is None else origin.rows
        nothing = payload.take(np.empty(0, np.intp))
        bare = payload if came.arrays in {"both", "cones"} else nothing
        full = payload if came.arrays in {"both", "cones_with_cov"} else nothing
        first = 0
        if came.arrays == "split":
            first = len(came.cones)
            is_bare = (payload.index >= 0) & (payload.index < first)
            bare, full = payload.take(is_bare), payload.take(~is_bare)
        writer = Writer(origin)
        writer.header(payload.stamp_ns, payload.frame_id)
        cones = self._rows(bare, came.cones, self.layout.cone, 0)
        writer.sequence(cones, 8, self.layout.filler)
        writer.sequence(self._rows(full, came.with_cov, self.layout.with_cov, first), 8)
        return writer.finish()

    def losses(self, payload: Cones) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold."""
        covariance = "" if self.arrays == "cones" else "xy"
        lost = Holds(covariance=covariance, ids=self._has_index).losses(payload)
        return lost + (lost_ids(payload, _ID_BITS) if self._has_index else ())

    @property
    def _has_index(self) -> bool:
        return "sim_cone_index" in (self.layout.cone.names or ())

    def _rows(
        self, payload: Cones, came: NDArray[Any], dtype: np.dtype[Any], first: int
    ) -> NDArray[Any]:
        rows = origin_rows(payload, came, dtype, first)
        rows["location"] = payload.xyz
        rows["color"] = self.codes.codes(payload.color, rows["color"] if len(came) else None)
        if self._has_index:
            rows["sim_cone_index"] = ids_of(payload, _ID_BITS)
        if "cov" in (dtype.names or ()):
            rows["cov"] = flat_2x2(payload)
        return rows


def _together(cones: NDArray[Any], with_cov: NDArray[Any]) -> NDArray[Any]:
    rows = np.zeros(len(cones) + len(with_cov), with_cov.dtype)
    for name in cones.dtype.names or ():
        rows[name][: len(cones)] = cones[name]
    rows[len(cones) :] = with_cov
    return rows


def _relation(cones: NDArray[Any], with_cov: NDArray[Any]) -> Arrays:
    if not len(with_cov):
        return "cones" if len(cones) else "both"
    if not len(cones):
        return "cones_with_cov"
    if len(cones) != len(with_cov):
        return "split"
    same = all(cones[name].tobytes() == with_cov[name].tobytes() for name in _values(cones))
    return "both" if same else "split"


def _values(cones: NDArray[Any]) -> list[str]:
    return [name for name in cones.dtype.names or () if name != "gap"]


def make(schema: Schema, options: Mapping[str, Any]) -> DriverlessCodec:
    """Make the codec.

    Options: ``numbering`` is ``auto`` (by the constants of the definition, else the current one),
    ``current`` or ``before-2022-11``; ``arrays`` says which arrays a new message fills.
    """
    no_options(schema, options, ("numbering", "arrays"))
    numbering = _choice(options, "numbering", NUMBERINGS)
    arrays: Any = _choice(options, "arrays", ARRAYS)
    variant = matching_variant(schema, VARIANTS)
    if numbering == "auto":
        numbering = _numbering(schema)
    return DriverlessCodec(CODES[numbering], _layout(has_index=variant is None), arrays)


def _choice(options: Mapping[str, Any], name: str, known: tuple[str, ...]) -> str:
    value = options.get(name, known[0])
    if value not in known:
        msg = f"{name} of {TYPE} is {value!r}; it can be {', '.join(known)}"
        raise UsageError(msg)
    return str(value)


def _numbering(schema: Schema) -> str:
    """Tell the numbering by the constants that the definition gives."""
    text = message_texts(schema).get(full_type_name("driverless_msgs/Cone"))
    return OLD if text is not None and text.constants.get("YELLOW") == "1" else "current"
