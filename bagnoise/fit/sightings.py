"""Every true cone of every message, and what the recording shows of it.

Association is that of `bagnoise.compare`: nearest pairs first, one to one, within a gate. A true
cone is *clear* if no other stands within two gates of it: then its gate touches no other cone's,
and what lies in it is its own detection, a false positive, or a neighbour's far error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.compare.matching import nearest
from bagnoise.fit.scene import spacing_m
from bagnoise.geometry import apply, inverse
from bagnoise.steps.polar import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones

NONE = -1
NOBODY = np.iinfo(np.int64).min  # map cells are negative numbers, too


@dataclass(frozen=True)
class Shot:
    """One message of the recording and the truth it shows, both in the message's frame.

    Attributes:
        number: of the message among those that are no repeats.
        time_s: of the measurement, since the first one's.
        frame_from_sensor: (4, 4).
    """

    number: int
    time_s: float
    true: Cones
    seen: Cones
    frame_from_sensor: NDArray[np.float64]


@dataclass(frozen=True)
class Sightings:
    """A row for each true cone within reach of each message, n rows; and the other detections.

    Attributes:
        shot, time_s: (n,) of the message.
        who: (n,) identity of the physical cone, NOBODY where it is not known.
        xyz, frame_xyz: (n, 3) the true cone, relative to the sensor and in the message's frame.
        color: (n,) true class.
        clear: (n,) whether no other true cone stands within two gates.
        count: (n,) detections within the gate.
        seen_xyz, seen_frame_xyz: (n, 3) the matched detection, NaN without one.
        seen_color: (n,) its class, NONE without one.
        order: share of neighbouring detections that stand in the truth's order.
        other_shot, other_xyz, other_color: (m,), (m, 3), (m,) unmatched detections, relative to
            the sensor; ``other_far``: (m,) whether no true cone is within the gate.
        true_xy: for each message all true cones, (k, 2), relative to the sensor.
        gate_m: radius of the association.
        has_z: the recording carries heights.
    """

    shot: NDArray[np.intp]
    time_s: NDArray[np.float64]
    who: NDArray[np.int64]
    xyz: NDArray[np.float64]
    frame_xyz: NDArray[np.float64]
    color: NDArray[np.int8]
    clear: NDArray[np.bool_]
    count: NDArray[np.intp]
    seen_xyz: NDArray[np.float64]
    seen_frame_xyz: NDArray[np.float64]
    seen_color: NDArray[np.int64]
    order: float
    other_shot: NDArray[np.intp]
    other_xyz: NDArray[np.float64]
    other_color: NDArray[np.int8]
    other_far: NDArray[np.bool_]
    true_xy: list[NDArray[np.float64]]
    gate_m: float
    has_z: bool

    @property
    def range_m(self) -> NDArray[np.float64]:
        """Return the true range from the sensor, (n,)."""
        return ranges(self.xyz)

    @property
    def matched(self) -> NDArray[np.bool_]:
        """Return which true cones have a detection, (n,)."""
        return self.count > 0

    def errors_m(self) -> NDArray[np.float64]:
        """Return measured minus true, (n, 3): along the ray, across it to the left, and upwards.

        Upwards is normal to the ray in its vertical plane; 0 where no heights are carried.
        """
        error = self.seen_xyz - self.xyz
        planar = np.hypot(self.xyz[:, 0], self.xyz[:, 1])
        flat = np.maximum(planar, 1e-9)
        cos_b, sin_b = self.xyz[:, 0] / flat, self.xyz[:, 1] / flat
        level = error[:, 0] * cos_b + error[:, 1] * sin_b
        across = error[:, 1] * cos_b - error[:, 0] * sin_b
        if not self.has_z:
            return np.column_stack([level, across, np.zeros(len(level))])
        far = np.maximum(self.range_m, 1e-9)
        cos_e, sin_e = planar / far, self.xyz[:, 2] / far
        along, up = level * cos_e + error[:, 2] * sin_e, error[:, 2] * cos_e - level * sin_e
        return np.column_stack([along, across, up])


def sightings(shots: Sequence[Shot], gate_m: float) -> Sightings:
    """Associate every message with its truth."""
    has_z = any(bool(shot.seen.xyz[:, 2].any()) for shot in shots)
    reach_m = _reach_m(shots)
    book = _Book(gate_m, reach_m, has_z=has_z)
    for shot in shots:
        book.add(shot)
    return book.sightings()


def _reach_m(shots: Sequence[Shot]) -> float:
    farthest = [
        float(ranges(apply(inverse(s.frame_from_sensor), s.seen.xyz)).max())
        for s in shots
        if len(s.seen)
    ]
    return 1.3 * max(farthest, default=0.0) + 5.0


class _Book:
    """Gathers what single messages say."""

    def __init__(self, gate_m: float, reach_m: float, *, has_z: bool) -> None:
        self.gate_m, self.reach_m, self.has_z = gate_m, reach_m, has_z
        self.columns: list[tuple[NDArray[Any], ...]] = []
        self.others: list[tuple[NDArray[Any], ...]] = []
        self.true_xy: list[NDArray[np.float64]] = []
        self.in_order = self.neighbours = 0

    def add(self, shot: Shot) -> None:
        true, seen = shot.true, shot.seen
        place = nearest(true, seen, self.gate_m).place
        self._note_order(place)
        to_sensor = inverse(shot.frame_from_sensor)
        xyz, seen_frame = apply(to_sensor, true.xyz), seen.xyz
        if not self.has_z:  # a height that is not carried is the true one
            seen_frame = seen.xyz.copy()
            seen_frame[place >= 0, 2] = true.xyz[place[place >= 0], 2]
        seen_xyz = apply(to_sensor, seen_frame)
        self.true_xy.append(xyz[:, :2])
        who_saw = np.full(len(true), NONE, np.intp)
        who_saw[place[place >= 0]] = np.flatnonzero(place >= 0)
        apart = _apart_m(seen, true)
        extra = np.zeros(len(true), np.intp)
        lone = place < 0
        if lone.any() and len(true):
            extra = (apart[lone] <= self.gate_m).sum(axis=0)
        near = np.flatnonzero(ranges(xyz) <= self.reach_m)
        self._take(shot, near, xyz, who_saw, extra, seen_xyz, seen_frame)
        far = np.asarray((apart[lone] > self.gate_m).all(axis=1), np.bool_)
        number = np.full(int(lone.sum()), shot.number, np.intp)
        self.others.append((number, seen_xyz[lone], seen.color[lone], far))

    def _take(
        self,
        shot: Shot,
        near: NDArray[np.intp],
        xyz: NDArray[np.float64],
        who_saw: NDArray[np.intp],
        extra: NDArray[np.intp],
        seen_xyz: NDArray[np.float64],
        seen_frame: NDArray[np.float64],
    ) -> None:
        true, seen = shot.true, shot.seen
        found, rows = who_saw >= 0, who_saw[who_saw >= 0]
        measured, measured_frame = (np.full((len(true), 3), np.nan) for _ in range(2))
        measured[found], measured_frame[found] = seen_xyz[rows], seen_frame[rows]
        color = np.full(len(true), NONE, np.int64)
        color[found] = seen.color[rows]
        ids = true.ids if true.truth is None or true.truth.ids is None else true.truth.ids
        ids = np.full(len(true), NOBODY, np.int64) if ids is None else ids
        columns = (
            np.full(len(true), shot.number, np.intp),
            np.full(len(true), shot.time_s),
            ids,
            xyz,
            true.xyz,
            true.color,
            self._clear(true, near),
            found.astype(np.intp) + extra,
            measured,
            measured_frame,
            color,
        )
        self.columns.append(tuple(column[near] for column in columns))

    def _clear(self, true: Cones, near: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Say which cones stand clear of others, (n,); only those that are near count."""
        clear = np.zeros(len(true), bool)
        clear[near] = spacing_m(true.take(near)) > 2 * self.gate_m
        return clear

    def _note_order(self, place: NDArray[np.intp]) -> None:
        rows = place[place >= 0]
        self.in_order += int((np.diff(rows) > 0).sum())
        self.neighbours += max(0, len(rows) - 1)

    def sightings(self) -> Sightings:
        rows = [np.concatenate(parts) for parts in zip(*self.columns, strict=True)]
        other = [np.concatenate(parts) for parts in zip(*self.others, strict=True)]
        order = self.in_order / self.neighbours if self.neighbours else 1.0
        return Sightings(*rows, order, *other, self.true_xy, self.gate_m, self.has_z)  # type: ignore[arg-type, call-arg]


def _apart_m(seen: Cones, true: Cones) -> NDArray[np.float64]:
    """Return distances in x and y, (detections, true cones)."""
    difference = seen.xyz[:, None, :2] - true.xyz[None, :, :2]
    apart: NDArray[np.float64] = np.hypot(difference[..., 0], difference[..., 1])
    return apart
