"""A moving pose as arrays: 72 bytes a sample, interpolated at whole nanoseconds."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.errors import ContextError, MessageError
from bagnoise.geometry import Track

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.poses import Pose

HOLD_NS = 100_000_000  # so long before the first and after the last sample the nearest one holds
_WIDTH = 7


class PoseTrack:
    """Poses of one thing over time; add all of them, then ask."""

    def __init__(self, what: str) -> None:
        """``what`` names it in errors."""
        self.what = what
        self._log = array("q")
        self._stamp = array("q")
        self._numbers = array("d")
        self._sorted: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None
        self._track: Track | None = None

    def add(self, log_ns: int, pose: Pose) -> None:
        """Take a sample; an unset stamp counts as its log time."""
        self._log.append(log_ns)
        self._stamp.append(pose.stamp_ns or log_ns)
        self._numbers.extend(pose.numbers)
        self._sorted = self._track = None

    def __len__(self) -> int:
        return len(self._stamp)

    @property
    def times(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(log_ns, stamp_ns) of each sample, (k,), by stamp."""
        log, stamp, _ = self._arrays()
        return log, stamp

    def at(self, stamp_ns: int) -> NDArray[np.float64]:
        """Return the pose at a time, (4, 4): positions linear, rotations by slerp.

        Raises:
            ContextError: there is none at that time, or one of them is no rotation.
        """
        _, stamps, _ = self._arrays()
        if not len(stamps) or not stamps[0] - HOLD_NS <= stamp_ns <= stamps[-1] + HOLD_NS:
            raise ContextError(self._missing(stamp_ns, stamps))
        return self._interpolated().at(stamp_ns)

    def _interpolated(self) -> Track:
        if self._track is None:
            _, stamps, numbers = self._arrays()
            try:
                self._track = Track.of(stamps, numbers[:, :3], numbers[:, 3:])
            except MessageError as error:
                msg = f"{self.what}: {error}"
                raise ContextError(msg) from None
        return self._track

    def _missing(self, stamp_ns: int, stamps: NDArray[np.int64]) -> str:
        if not len(stamps):
            return f"{self.what} has no sample at all"
        return (
            f"{self.what} is not known at {stamp_ns} ns: its {len(stamps)} samples reach from "
            f"{stamps[0]} to {stamps[-1]} ns"
        )

    def _arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Sort by stamp; of equal stamps the last one counts."""
        if self._sorted is None:
            stamps = np.frombuffer(self._stamp, np.int64) if self._stamp else np.zeros(0, np.int64)
            log = np.frombuffer(self._log, np.int64) if self._log else np.zeros(0, np.int64)
            numbers = np.frombuffer(self._numbers) if self._numbers else np.zeros(0)
            order = np.argsort(stamps, kind="stable")
            last = np.ones(len(order), bool)
            last[:-1] = np.diff(stamps[order]) > 0
            rows = order[last]
            self._sorted = log[rows], stamps[rows], numbers.reshape(-1, _WIDTH)[rows]
        return self._sorted
