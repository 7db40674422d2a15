"""A moving pose as arrays: 72 bytes a sample, interpolated at whole nanoseconds."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from bagnoise import rigid
from bagnoise.errors import ContextError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.poses import Pose

HOLD_NS = 100_000_000  # so long before the first and after the last sample the nearest one holds
_WIDTH = 7
_NO_ROTATION = 1e-6  # a quaternion shorter than this has no direction


class PoseTrack:
    """Poses of one thing over time; add all of them, then ask."""

    def __init__(self, what: str) -> None:
        """``what`` names it in errors."""
        self.what = what
        self._log = array("q")
        self._stamp = array("q")
        self._numbers = array("d")
        self._sorted: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]] | None = None

    def add(self, log_ns: int, pose: Pose) -> None:
        """Take a sample; an unset stamp counts as its log time."""
        self._log.append(log_ns)
        self._stamp.append(pose.stamp_ns or log_ns)
        self._numbers.extend(pose.numbers)
        self._sorted = None

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
            ContextError: there is none at that time, or it is no rotation.
        """
        _, stamps, numbers = self._arrays()
        if not len(stamps) or not stamps[0] - HOLD_NS <= stamp_ns <= stamps[-1] + HOLD_NS:
            raise ContextError(self._missing(stamp_ns, stamps))
        right = min(max(int(np.searchsorted(stamps, stamp_ns)), 1), len(stamps) - 1)
        if len(stamps) == 1 or stamp_ns >= stamps[-1]:
            return self._matrix(numbers[-1], stamp_ns)
        if stamp_ns <= stamps[right - 1]:
            return self._matrix(numbers[right - 1], stamp_ns)
        one, other = numbers[right - 1], numbers[right]
        since_ns = stamp_ns - int(stamps[right - 1])
        share = since_ns / int(stamps[right] - stamps[right - 1])
        turned = rigid.slerp(self._unit(one, stamp_ns), self._unit(other, stamp_ns), share)
        return rigid.from_quaternion(turned, one[:3] + share * (other[:3] - one[:3]))

    def _matrix(self, row: NDArray[np.float64], stamp_ns: int) -> NDArray[np.float64]:
        return rigid.from_quaternion(self._unit(row, stamp_ns), row[:3])

    def _unit(self, row: NDArray[np.float64], stamp_ns: int) -> NDArray[np.float64]:
        length = float(np.linalg.norm(row[3:]))
        if not np.isfinite(row).all() or length < _NO_ROTATION:
            msg = f"{self.what} near {stamp_ns} ns is no pose: {row.tolist()}"
            raise ContextError(msg)
        unit: NDArray[np.float64] = row[3:] / length
        return unit

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
