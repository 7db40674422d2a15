"""Where the true cones were at a moment: from a topic of cones, or a track and the car's pose."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from bagnoise.errors import ContextError
from bagnoise.messages.payload import somewhere, with_truth
from bagnoise.steps.clock import header_clock
from bagnoise.steps.from_track import FromTrack, seen_from_car
from bagnoise.steps.world import cells, map_from_frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.compare.samples import Track
    from bagnoise.messages.payload import Cones
    from bagnoise.steps.clock import Clock
    from bagnoise.steps.context import Context


class Scene(Protocol):
    """The truth; numbers count its messages, where it has any that matter."""

    topic: str
    is_track: bool

    def spacing_m(self) -> NDArray[np.float64]:
        """Return the distance of each cone to its nearest neighbour, (n,)."""


@dataclass
class TrackScene:
    """A track in the map, and the pose of the car.

    Attributes:
        step: how the recipe will say it.
        clock: between log time and the stamps of the pose topic.
        jitter_ns: deviation of that topic's own delay, by which this clock is unsure.
    """

    topic: str
    track: Track
    step: FromTrack
    context: Context
    clock: Clock
    jitter_ns: int
    is_track: bool = True

    def at(self, stamp_ns: int, log_ns: int) -> Cones | None:
        """Return the cones as the car sees them at a stamp, None where the pose is not known."""
        number = max(0, bisect_right(self.track.log_ns, log_ns) - 1)
        try:
            return seen_from_car(self.step, self.track.payloads[number], stamp_ns, self.context)
        except ContextError:
            return None

    def spacing_m(self) -> NDArray[np.float64]:
        """Return the distance of each cone of the track to its nearest neighbour, (n,)."""
        return spacing_m(those_somewhere(self.track.payloads[-1]))


def track_scene(topic: str, track: Track, pose_topic: str, context: Context) -> TrackScene:
    """Make the scene of a track."""
    logs, stamps = context.pose_times(pose_topic)
    order = np.argsort(logs, kind="stable")
    clock = header_clock(list(zip(logs[order].tolist(), stamps[order].tolist(), strict=True)))
    jitter_ns = round(float(np.std(logs - stamps)))
    return TrackScene(topic, track, FromTrack(pose_topic=pose_topic), context, clock, jitter_ns)


@dataclass
class ConesScene:
    """A topic of true cones around the car, many messages.

    Attributes:
        pose_topic: to know a cone again over time; None: not known.
    """

    topic: str
    track: Track
    context: Context
    pose_topic: str | None
    is_track: bool = False
    _named: dict[int, Cones] = field(default_factory=dict)

    def at(self, number: int) -> Cones:
        """Return the cones of a message, with ids of the physical cones where they can be had."""
        if number not in self._named:
            self._named[number] = self._with_ids(number)
        return self._named[number]

    def _with_ids(self, number: int) -> Cones:
        cones: Cones = with_truth(self.track.payloads[number])
        if cones.ids is None and self.pose_topic is not None and cones.truth is not None:
            stamp_ns = cones.stamp_ns or self.track.log_ns[number]
            try:
                mapped = map_from_frame(self.pose_topic, cones.frame_id, stamp_ns, self.context)
            except ContextError:
                return cones
            return replace(cones, ids=cells(cones.truth, mapped), truth=None)
        return cones

    def spacing_m(self) -> NDArray[np.float64]:
        """Return the distance of each cone to its nearest neighbour, over a tenth of a second."""
        every = self.track.payloads[:: max(1, len(self.track) // 50)]
        some = [those_somewhere(cones) for cones in every]
        found = [spacing_m(cones) for cones in some if len(cones) > 1]
        return np.concatenate(found) if found else np.zeros(0)


def those_somewhere(cones: Cones) -> Cones:
    """Leave out cones that are nowhere."""
    there = somewhere(cones.xyz)
    return cones if there.all() else cones.take(np.flatnonzero(there))


def spacing_m(cones: Cones) -> NDArray[np.float64]:
    """Return the distance in x and y of each cone to its nearest neighbour, (n,); inf if alone."""
    xy = cones.xyz[:, :2]
    apart = np.hypot(*(xy[:, None] - xy[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    nearest: NDArray[np.float64] = apart.min(axis=1) if len(xy) else np.zeros(0)
    return nearest
