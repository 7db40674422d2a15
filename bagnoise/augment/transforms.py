"""The tree of coordinate frames that /tf and /tf_static describe."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from bagnoise.augment.pose_track import PoseTrack
from bagnoise.errors import ContextError
from bagnoise.geometry import inverse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.poses import Pose

_MAX_DEPTH = 100
_MAX_LISTED = 20
_CACHE_SIZE = 64


class TransformTree:
    """Frames and how they move against each other."""

    def __init__(self) -> None:
        self._edges: dict[str, dict[str, PoseTrack]] = {}  # child -> parent -> parent_from_child
        self._static: set[tuple[str, str]] = set()
        self._cache: dict[tuple[str, str, int], NDArray[np.float64]] = {}

    def add(self, log_ns: int, pose: Pose, *, is_static: bool) -> None:
        """Take one transform; a static one holds at all times, the last one counts."""
        parent, child = pose.frame.lstrip("/"), pose.child.lstrip("/")
        parents = self._edges.setdefault(child, {})
        if parent not in parents or is_static:
            parents[parent] = PoseTrack(f"transform {parent!r} <- {child!r}")
        if is_static:
            self._static.add((parent, child))
        parents[parent].add(log_ns, pose)

    def transform(self, target: str, source: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return target_from_source, (4, 4), at a time.

        Raises:
            ContextError: the frames are not connected, or not at that time.
        """
        target, source = target.lstrip("/"), source.lstrip("/")
        if target == source:
            return np.eye(4)
        key = (target, source, stamp_ns)
        if key not in self._cache:
            if len(self._cache) >= _CACHE_SIZE:
                self._cache.clear()
            self._cache[key] = self._composed(target, source, stamp_ns)
        return self._cache[key]

    def _composed(self, target: str, source: str, stamp_ns: int) -> NDArray[np.float64]:
        up_source, up_target = self._ancestors(source), self._ancestors(target)
        common = next((frame for frame in up_source if frame in up_target), None)
        if common is None:
            raise ContextError(self._unconnected(target, source, stamp_ns))
        common_from_source = self._climb(up_source, common, stamp_ns)
        common_from_target = self._climb(up_target, common, stamp_ns)
        return inverse(common_from_target) @ common_from_source

    def _climb(self, chain: list[str], top: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return top_from_chain[0]."""
        matrix = np.eye(4)
        for child, parent in pairwise(chain):
            if child == top:
                break
            track = self._edges[child][parent]
            is_static = (parent, child) in self._static
            matrix = track.at(int(track.times[1][-1]) if is_static else stamp_ns) @ matrix
        return matrix

    def _ancestors(self, frame: str) -> list[str]:
        """List a frame and what it hangs on, up to the root."""
        chain = [frame]
        while len(chain) < _MAX_DEPTH and chain[-1] in self._edges:
            parents = self._edges[chain[-1]]
            if len(parents) > 1:
                named = " and ".join(map(repr, sorted(parents)))
                msg = f"frame {chain[-1]!r} has several parents in /tf: {named}"
                raise ContextError(msg)
            (parent,) = parents
            if parent in chain:
                msg = f"the frames {', '.join(map(repr, chain))} form a circle in /tf"
                raise ContextError(msg)
            chain.append(parent)
        return chain

    def _unconnected(self, target: str, source: str, stamp_ns: int) -> str:
        frames = sorted({*self._edges, *(p for parents in self._edges.values() for p in parents)})
        listed = ", ".join(frames[:_MAX_LISTED]) + (" …" if len(frames) > _MAX_LISTED else "")
        lacking = [repr(frame) for frame in (target, source) if frame not in frames]
        why = f"no frame {' and no frame '.join(lacking)}" if lacking else "they are not connected"
        there = f"the frames are {listed}" if frames else "the bag has no transforms"
        return f"no transform from {source!r} to {target!r} at {stamp_ns} ns: {why}; {there}"
