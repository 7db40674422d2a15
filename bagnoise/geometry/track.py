"""Poses over time, and the pose between two of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from bagnoise.errors import MessageError
from bagnoise.geometry.transforms import matrix_from_quaternion

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_NEARLY_PARALLEL: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Track:
    """Poses over time, n rows sorted by time.

    Attributes:
        t_ns: (n,) int64, strictly increasing.
        xyz: (n, 3) of the body's origin in the world, metres.
        xyzw: (n, 4) rotation world_from_body.
    """

    t_ns: NDArray[np.int64]
    xyz: NDArray[np.float64]
    xyzw: NDArray[np.float64]

    @classmethod
    def of(cls, t_ns: ArrayLike, xyz: ArrayLike, xyzw: ArrayLike) -> Track:
        """Sort samples by time; of equal times the last given one counts.

        Raises:
            MessageError: no sample, or a quaternion that is no rotation.
        """
        times = np.asarray(t_ns, np.int64)
        if not len(times):
            msg = "a track of no poses says nothing about where anything is"
            raise MessageError(msg)
        order = np.argsort(times, kind="stable")
        times = times[order]
        last = np.concatenate([times[1:] != times[:-1], [True]])
        order = order[last]
        quaternions = np.asarray(xyzw, np.float64)[order]
        matrix_from_quaternion(quaternions)
        quaternions = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
        return cls(times[last], np.asarray(xyz, np.float64)[order], quaternions)

    def at(self, t_ns: ArrayLike) -> NDArray[np.float64]:
        """Return world_from_body, (..., 4, 4), at int times, (...); held outside it.

        Position linearly, rotation along the shortest turn at constant speed (slerp). Differences
        of times are taken as integers, for a double of nanoseconds since 1970 is 256 ns coarse.
        """
        asked = np.asarray(t_ns, np.int64)
        times = np.clip(asked, self.t_ns[0], self.t_ns[-1]).ravel()
        after = np.clip(np.searchsorted(self.t_ns, times, side="right"), 1, len(self.t_ns) - 1)
        if len(self.t_ns) == 1:
            after = np.zeros(len(times), np.intp)
        before = np.maximum(after - 1, 0)
        span = np.maximum(self.t_ns[after] - self.t_ns[before], 1)
        share = ((times - self.t_ns[before]) / span)[:, None]
        out = np.zeros((len(times), 4, 4))
        out[:, :3, 3] = self.xyz[before] * (1 - share) + self.xyz[after] * share
        out[:, :3, :3] = matrix_from_quaternion(_slerp(self.xyzw[before], self.xyzw[after], share))
        out[:, 3, 3] = 1
        return out.reshape(*asked.shape, 4, 4)

    def gap_ns(self, t_ns: int) -> int:
        """Return how far a time is outside the track, 0 inside."""
        return max(int(self.t_ns[0]) - t_ns, t_ns - int(self.t_ns[-1]), 0)


def _slerp(
    start: NDArray[np.float64], end: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    cosine = (start * end).sum(axis=1, keepdims=True)
    end = np.where(cosine < 0, -end, end)  # q and -q are one rotation: take the shorter way
    angle = np.arctan2(np.linalg.norm(end - start, axis=1), np.linalg.norm(end + start, axis=1))
    half = 2 * angle[:, None]
    sine = np.sin(half)
    safe = np.where(sine > _NEARLY_PARALLEL, sine, 1)
    near = sine <= _NEARLY_PARALLEL
    one = np.where(near, 1 - share, np.sin((1 - share) * half) / safe)
    two = np.where(near, share, np.sin(share * half) / safe)
    mixed: NDArray[np.float64] = one * start + two * end
    return mixed
