"""What lets a step know a cone again in the next message: its id, or its place in the map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from bagnoise.errors import ContextError
from bagnoise.geometry import apply
from bagnoise.messages.payload import truth_of
from bagnoise.steps.base import ConeStep
from bagnoise.steps.context import NOTHING, Context, Needs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones, Truth
    from bagnoise.steps.base import Moment

CELL_M = 0.25  # cones stand farther apart, poses are better than that
_ORIGIN_M = 0.0917  # surveyed cones stand on round coordinates, cell borders must not
_HALF_WORD = 2**31


class InWorld(ConeStep):
    """A step that may have to know where the cones' frame is in the map."""

    pose_topic: str | None = Field(
        None, description="topic of the car's pose (Odometry, CarState, PoseStamped …)"
    )
    map_frame: str | None = Field(
        None, description="frame that stands still, in /tf, instead of pose_topic"
    )

    def needs(self) -> Needs:
        """Read the pose topic or the transforms."""
        if self.pose_topic is not None:
            return Needs(tf=True, pose_topics=(self.pose_topic,))
        return NOTHING if self.map_frame is None else Needs(tf=True)

    @property
    def knows_pose(self) -> bool:
        """Whether it was told where to find the car's pose."""
        return self.pose_topic is not None or self.map_frame is not None

    def map_from(self, frame_id: str, stamp_ns: int, context: Context) -> NDArray[np.float64]:
        """Return map_from_frame, (4, 4), at a measurement time."""
        if self.pose_topic is not None:
            return map_from_frame(self.pose_topic, frame_id, stamp_ns, context)
        assert self.map_frame is not None
        return context.transform(self.map_frame, frame_id, stamp_ns)

    def identities(self, cones: Cones, moment: Moment) -> NDArray[np.int64]:
        """Return who each source cone is, (m,): its id, else its cell in the map.

        Raises:
            ContextError: the cones have no ids and there is no pose.
        """
        truth = truth_of(cones)
        if truth.ids is not None and (truth.ids >= 0).all():
            return truth.ids
        if not self.knows_pose:
            msg = (
                f"step {self.name!r} must know each cone again over time, but these cones carry no "
                "ids; give it pose_topic (e.g. /ground_truth/odom) or map_frame (e.g. map)"
            )
            raise ContextError(msg)
        stamp_ns = truth.stamp_ns or moment.log_ns
        return cells(truth, self.map_from(truth.frame_id, stamp_ns, moment.context))


def map_from_frame(
    pose_topic: str, frame_id: str, stamp_ns: int, context: Context
) -> NDArray[np.float64]:
    """Return fixed_from_frame, (4, 4), where a pose topic tells of the car in a fixed frame."""
    fixed, car = context.pose_frames(pose_topic)
    if frame_id and frame_id == fixed:
        return np.eye(4)
    pose = context.pose(pose_topic, stamp_ns)
    if not frame_id or not car or frame_id == car:
        return pose
    mounted: NDArray[np.float64] = pose @ context.transform(car, frame_id, stamp_ns)
    return mounted


def cells(truth: Truth, map_from: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the map cell of each source cone as one number, (m,); z does not count."""
    planar = apply(map_from, truth.xyz)[:, :2]
    with np.errstate(over="ignore"):  # what is beyond every cell is in the last one
        grid = np.floor(np.nan_to_num(planar) / CELL_M + _ORIGIN_M / CELL_M)
    column, row = np.clip(grid, -_HALF_WORD, _HALF_WORD - 1).astype(np.int64).T
    packed: NDArray[np.int64] = (column << 32) ^ (row & 0xFFFFFFFF)
    return packed


def measured_ns(cones: Cones, moment: Moment) -> int:
    """Return when the cones were measured: the header stamp, the log time where it is unset."""
    return cones.stamp_ns or moment.log_ns
