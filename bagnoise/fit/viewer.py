"""The truth as one topic of a recording should have seen it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bagnoise.fit.age import BLOCKS
from bagnoise.fit.scene import ConesScene, TrackScene, those_somewhere
from bagnoise.fit.sightings import Shot
from bagnoise.fit.timing import cones_timing, track_timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bagnoise.compare.samples import Track
    from bagnoise.fit.mounts import Mounts
    from bagnoise.fit.times import Timing
    from bagnoise.messages.payload import Cones

SCORED = 80  # messages that a delay is searched with
SCORED_M = 2.0  # a detection farther from every true cone counts as this far
SECOND_NS = 1_000_000_000


class Viewer:
    """Finds the moment of each message, and the true cones of that moment in its frame."""

    def __init__(self, scene: ConesScene | TrackScene, mounts: Mounts, real: Track) -> None:
        """Take the truth, the sensors' mounts, and the topic."""
        self.scene, self.mounts, self.real = scene, mounts, real

    def timing(self) -> Timing:
        """Find which moment each message shows, the rate and the delays."""
        if isinstance(self.scene, TrackScene):
            return track_timing(self.scene, self.real, self._score)
        return cones_timing(self.scene.track, self.real, self._score)

    def shots(self, timing: Timing) -> Iterator[Shot]:
        """Yield every message that is no repeat and shows a known moment."""
        number, start_ns = 0, None
        for n, shown in enumerate(timing.shown):
            if shown is None or timing.repeat[n]:
                continue
            true = self._true(shown, n)
            if true is None:
                continue
            when = true.stamp_ns or self.real.log_ns[n]
            start_ns = when if start_ns is None else start_ns
            placed, mount = self.mounts.placed(true, self.real.payloads[n].frame_id, when)
            time_s = (when - start_ns) / SECOND_NS
            yield Shot(number, time_s, placed, those_somewhere(self.real.payloads[n]), mount)
            number += 1

    def sensor_options(self) -> dict[str, Any] | None:
        """Return the options of the step `sensor`, None where it needs none."""
        return self.mounts.options_of(self.real.payloads[0].frame_id)

    def _true(self, shown: int, n: int) -> Cones | None:
        with np.errstate(invalid="ignore", over="ignore"):
            # poses and cones may hold any number: what is nowhere then is left out
            if isinstance(self.scene, TrackScene):
                true = self.scene.at(shown, self.real.log_ns[n])
            else:
                true = self.scene.at(shown)
        return None if true is None else those_somewhere(true)

    def _score(self, shown: Sequence[int | None], block: int | None) -> float:
        """Return how far detections are from the truth if messages show these moments.

        The root of the mean square distance to the nearest true cone, far ones cut, in m; of all
        messages (None), or of one block of time.
        """
        found = []
        length = len(shown) // BLOCKS
        first, last = (0, len(shown)) if block is None else (block * length, (block + 1) * length)
        for n in range(first, last, max(1, (last - first) // SCORED)):
            moment, seen = shown[n], those_somewhere(self.real.payloads[n])
            true = None if moment is None else self._true(moment, n)
            if true is None or not len(true) or not len(seen):
                continue
            placed, _ = self.mounts.placed(true, seen.frame_id, true.stamp_ns)
            difference = seen.xyz[:, None, :2] - placed.xyz[None, :, :2]
            apart = np.hypot(difference[..., 0], difference[..., 1]).min(axis=1)
            found.append(np.minimum(apart, SCORED_M))
        if not found:
            return np.inf
        return float(np.sqrt((np.concatenate(found) ** 2).mean()))
