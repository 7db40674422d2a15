"""The decoded arrays that steps work on, and what a codec of a message type does."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from bagnoise.bags.model import Schema

FALSE_POSITIVE = -1
FARTHEST_M = 1e9  # no cone is farther; squares of what is beyond overflow


class ConeClass(IntEnum):
    """What kind of cone; the numbers are bagnoise's own, each message type has its codes."""

    BLUE = 0
    YELLOW = 1
    SMALL_ORANGE = 2
    BIG_ORANGE = 3
    UNKNOWN = 4


def somewhere(xyz: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which positions, (n, 3), are any, (n,): finite, and not farther than any cone can be."""
    return np.asarray((np.abs(xyz) <= FARTHEST_M).all(axis=1))


class NoiseModel(Protocol):
    """What a noise step has added, as the covariance that an honest sensor would claim for it."""

    def covariance(self, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, 3, 3) in m^2 at measured positions (n, 3), both in the cones' frame."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The source cones of a message, m rows, as they were before any step; `Cones.index` = row.

    Attributes:
        stamp_ns, frame_id, xyz, color: as those of `Cones`.
        ids: (m,) int64 identity of the physical cones, or None.
    """

    stamp_ns: int
    frame_id: str
    xyz: NDArray[np.float64]
    color: NDArray[np.int8]
    ids: NDArray[np.int64] | None = None


@dataclass(frozen=True, eq=False)
class Cones:
    """Cones of one message, n rows; arrays are never changed in place.

    Attributes:
        stamp_ns: measurement time (header stamp), 0 where unset.
        frame_id: coordinate frame of ``xyz``.
        xyz: (n, 3) float64, metres.
        color: (n,) int8, `ConeClass`.
        index: (n,) int32, row of the source message; `FALSE_POSITIVE` where there is none.
        source_count: rows that the source message had, for drawing before masking.
        covariance: (n, 3, 3) float64, m^2, or None where the type carries none.
        probabilities: (n, 5) float64, by `ConeClass`, or None.
        ids: (n,) int64 identity of the physical cone, or None.
        extra: (n, ...) further columns of the message type, carried along with their rows.
        message_extra: further values of the message as a whole (e.g. ``eval_time``).
        truth: the source cones, or None where nothing has kept them.
        sensor: (4, 4) frame_from_sensor: where range and bearing are measured from; None: the
            frame's own origin.
        noise_models: what the noise steps so far have added.
    """

    stamp_ns: int
    frame_id: str
    xyz: NDArray[np.float64]
    color: NDArray[np.int8]
    index: NDArray[np.int32]
    source_count: int
    covariance: NDArray[np.float64] | None = None
    probabilities: NDArray[np.float64] | None = None
    ids: NDArray[np.int64] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    message_extra: Mapping[str, Any] = field(default_factory=dict)
    truth: Truth | None = None
    sensor: NDArray[np.float64] | None = None
    noise_models: tuple[NoiseModel, ...] = ()

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.xyz)

    def take(self, rows: NDArray[Any]) -> Cones:
        """Return the rows that a boolean mask or an index array picks, every column with them."""
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)  # seven columns are to be picked
        return changed(
            self,
            xyz=self.xyz.take(rows, axis=0),
            color=self.color.take(rows),
            index=self.index.take(rows),
            covariance=None if self.covariance is None else self.covariance.take(rows, axis=0),
            probabilities=None
            if self.probabilities is None
            else self.probabilities.take(rows, axis=0),
            ids=None if self.ids is None else self.ids.take(rows),
            extra={name: column.take(rows, axis=0) for name, column in self.extra.items()},
        )


def changed(cones: Cones, **columns: Any) -> Cones:
    """Return cones with other columns: `dataclasses.replace`, five times as fast."""
    made = object.__new__(Cones)
    made.__dict__.update(cones.__dict__)
    made.__dict__.update(columns)
    return made


def truth_of(cones: Cones) -> Truth:
    """Return the source cones; where none are kept, those that are still there (others NaN)."""
    if cones.truth is not None:
        return cones.truth
    xyz = np.full((cones.source_count, 3), np.nan)
    color = np.full(cones.source_count, ConeClass.UNKNOWN, np.int8)
    ids = None if cones.ids is None else np.full(cones.source_count, -1, np.int64)
    real = cones.index >= 0
    rows = cones.index[real]
    xyz[rows], color[rows] = cones.xyz[real], cones.color[real]
    if ids is not None and cones.ids is not None:
        ids[rows] = cones.ids[real]
    return Truth(cones.stamp_ns, cones.frame_id, xyz, color, ids)


def with_truth(cones: Cones) -> Cones:
    """Return freshly decoded cones that remember themselves as the truth."""
    truth = Truth(cones.stamp_ns, cones.frame_id, cones.xyz, cones.color, cones.ids)
    return changed(cones, truth=truth)


def source_rows(count: int) -> NDArray[np.int32]:
    """Return the `Cones.index` of a freshly decoded message, (count,)."""
    return np.arange(count, dtype=np.int32)


PayloadT = TypeVar("PayloadT")


class Codec(Protocol[PayloadT]):
    """Bytes on the wire <-> payload, for one schema."""

    def decode(self, data: bytes | memoryview) -> PayloadT:
        """Read a message.

        Raises:
            MessageError: the bytes do not fit the schema.
        """

    def encode(self, payload: PayloadT) -> bytes:
        """Write a message; an untouched payload of the same type gives the same bytes."""

    def losses(self, payload: PayloadT) -> tuple[str, ...]:
        """Name what of this payload the type cannot hold, e.g. ``covariance`` or ``id``."""


class CodecFactory(Protocol[PayloadT]):
    """Makes the codec of a schema; one a message type, in the registry."""

    def __call__(self, schema: Schema, options: Mapping[str, Any]) -> Codec[PayloadT]:
        """Make it, or raise MessageError where the definition is not the known one."""
