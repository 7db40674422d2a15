"""Step on a lidar that moves, or whose pose is wrong, within a scan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.errors import MessageError
from bagnoise.lidar.crop import azimuths_rad
from bagnoise.lidar.motion import jittered, pose_errors, posed, sectors, swept
from bagnoise.lidar.noise import Moved
from bagnoise.messages.cloud_lengths import with_measured
from bagnoise.messages.cloud_time import TIME_NAMES, offsets_ns, time_kind
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.draws import row_draws
from bagnoise.steps.view import NO_TRIPLE, Triple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud

_NS_PER_S = 1e9


class MotionBlur(CloudStep):
    """Distort a scan: by motion while it is taken, by wrong poses of its parts, by jitter.

    Motion is that of the cloud's frame, in its own axes, and takes the points' times; each point
    then is where the lidar saw it at its own time. Poses are drawn anew in each cloud.
    """

    name: ClassVar[str] = "motion_blur"
    velocity_m_s: Triple = Field(NO_TRIPLE, description="of the lidar, in metres a second")
    yaw_rate_deg_s: float = Field(
        0.0, ge=-3600, le=3600, description="of the lidar about its z, in degrees a second"
    )
    parts: int = Field(
        1, ge=1, le=10_000, description="sectors of the turn, each with a pose of its own"
    )
    shift_std_m: float = Field(
        0.0, ge=0, le=1e4, description="deviation of each pose along each axis, in metres"
    )
    turn_std_deg: float = Field(
        0.0, ge=0, le=180, description="deviation of each pose's roll, pitch and yaw, in degrees"
    )
    jitter_std_m: Triple = Field(
        NO_TRIPLE, description="deviation of each point in x, y and z, in metres"
    )

    def check(self) -> list[str]:
        """Check what goes together."""
        found = []
        if min(self.jitter_std_m) < 0:
            found.append(f"jitter_std_m is {list(self.jitter_std_m)}; none may be below 0")
        if self.parts > 1 and not (self.shift_std_m or self.turn_std_deg):
            found.append("parts needs shift_std_m or turn_std_deg: without, all poses are right")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Move by motion, then by pose, then by jitter; misses keep their bits."""
        if not len(cloud):
            return cloud
        before = moved = Moved(cloud.xyz(), np.zeros(len(cloud), np.bool_))
        if any(self.velocity_m_s) or self.yaw_rate_deg_s:
            moved = swept(moved.xyz, _times_s(cloud), self.velocity_m_s, self.yaw_rate_deg_s)
        changed = moved.changed
        if self.shift_std_m or self.turn_std_deg:
            generator = moment.generator("poses")
            poses = pose_errors(self.parts, self.shift_std_m, self.turn_std_deg, generator)
            moved = posed(moved.xyz, self._part(before.xyz), *poses)
            changed = changed | moved.changed
        if any(self.jitter_std_m):
            moved = jittered(moved.xyz, self.jitter_std_m, row_draws(cloud, moment, "jitter"))
            changed = changed | moved.changed
        return with_measured(cloud, moved.xyz, changed, np.zeros(3)) if changed.any() else cloud

    def _part(self, xyz: NDArray[Any]) -> NDArray[np.intp]:
        if self.parts == 1:
            return np.zeros(len(xyz), np.intp)
        return sectors(azimuths_rad(xyz), self.parts)


def _times_s(cloud: Cloud) -> NDArray[np.float64]:
    """Return when each point was taken after the stamp, (n,) s.

    Raises:
        MessageError: the points have no times.
    """
    kind = time_kind(cloud)
    if kind is None:
        msg = (
            "motion_blur with velocity_m_s or yaw_rate_deg_s needs the time of each point, a field"
            f" {' or '.join(TIME_NAMES)}; this cloud's fields are: {', '.join(cloud.names)}"
        )
        raise MessageError(msg)
    return offsets_ns(cloud, kind) / _NS_PER_S
