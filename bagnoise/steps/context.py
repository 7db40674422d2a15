"""What steps may ask of the rest of the bag: transforms, the car's pose, cameras.

A step declares its `Needs`; a first pass over those topics collects them; the step then asks its
moment's `Context` at the measurement time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from bagnoise.errors import ContextError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Needs:
    """Topics that a step reads beside its source.

    Attributes:
        tf: ``/tf`` and ``/tf_static``.
        pose_topics: topics of the car's pose (nav_msgs/Odometry, eufs_msgs/CarState, …).
        camera_topics: sensor_msgs/CameraInfo topics.
    """

    tf: bool = False
    pose_topics: tuple[str, ...] = ()
    camera_topics: tuple[str, ...] = ()

    def __or__(self, other: Needs) -> Needs:
        """Return both together."""
        return Needs(
            self.tf or other.tf,
            tuple(dict.fromkeys((*self.pose_topics, *other.pose_topics))),
            tuple(dict.fromkeys((*self.camera_topics, *other.camera_topics))),
        )


NOTHING = Needs()


class Context(Protocol):
    """Answers at a measurement time; every question may raise ContextError saying what lacks."""

    def transform(self, target_frame: str, source_frame: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return target_from_source, (4, 4), interpolated at a time."""

    def pose(self, topic: str, stamp_ns: int) -> NDArray[np.float64]:
        """Return the pose of a topic's child frame in its frame, (4, 4), interpolated."""

    def pose_frames(self, topic: str) -> tuple[str, str]:
        """Return (frame, child frame) of a pose topic."""

    def pose_times(self, topic: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (log_ns, stamp_ns) of every pose of a topic, (k,) each, by stamp."""

    def camera(self, topic: str, stamp_ns: int) -> Any:
        """Return the latest CameraInfo of a topic at a time, decoded."""


class NoContext:
    """The context of a step that needs nothing: every question is an error."""

    def transform(self, target_frame: str, source_frame: str, stamp_ns: int) -> NDArray[np.float64]:
        """Know no transform."""
        msg = f"no transform from {source_frame!r} to {target_frame!r} at {stamp_ns} ns"
        raise ContextError(msg)

    def pose(self, topic: str, stamp_ns: int) -> NDArray[np.float64]:
        """Know no pose."""
        msg = f"no pose on {topic!r} at {stamp_ns} ns"
        raise ContextError(msg)

    def pose_frames(self, topic: str) -> tuple[str, str]:
        """Know no pose."""
        msg = f"no pose on {topic!r}"
        raise ContextError(msg)

    def pose_times(self, topic: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Know no pose."""
        msg = f"no pose on {topic!r}"
        raise ContextError(msg)

    def camera(self, topic: str, stamp_ns: int) -> Any:
        """Know no camera."""
        msg = f"no CameraInfo on {topic!r} at {stamp_ns} ns"
        raise ContextError(msg)
