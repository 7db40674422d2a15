"""Step on a lidar that is not where, or when, its calibration says."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.lidar.misalign import drift, misaligned
from bagnoise.messages.cloud_time import restamped
from bagnoise.rng import keyed
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.clock import nanoseconds
from bagnoise.steps.view import NO_TRIPLE, Mount, Triple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.context import Needs

_STREAM_KEY = 3  # (seed, stream, step label)


class Misalign(CloudStep, Mount):
    """Report a cloud through a wrong mount: constantly off, drifting slowly, or at a wrong time.

    The errors are in the lidar's own axes. Without a mount the cloud is in the lidar's frame.
    """

    name: ClassVar[str] = "misalign"
    error_xyz_m: Triple = Field(NO_TRIPLE, description="constant error of position, in metres")
    error_rpy_deg: Triple = Field(
        NO_TRIPLE, description="constant error of roll, pitch, yaw, degrees"
    )
    drift_xyz_m: Triple = Field(NO_TRIPLE, description="deviation of its drift, in metres")
    drift_rpy_deg: Triple = Field(NO_TRIPLE, description="deviation of its drift, in degrees")
    drift_s: float = Field(
        60.0, gt=0, le=1e6, description="time over which drifts change, in seconds"
    )
    clock_s: float = Field(
        0.0, ge=-1e6, le=1e6, description="added to header stamp and absolute point times, in s"
    )

    drift_clock_s: float = Field(
        0.0, ge=0, le=1e6, description="deviation of the drift of the clock, in seconds"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is a frame."""
        return self.mount_needs()

    def check(self) -> list[str]:
        """Check the mount."""
        return self.mount_problems()

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Move, then restamp."""
        stamp_ns = cloud.stamp_ns or moment.log_ns
        error = np.array([*self.error_xyz_m, *self.error_rpy_deg])
        spread = np.array([*self.drift_xyz_m, *self.drift_rpy_deg])
        if spread.any():
            error = error + spread * self._drift(stamp_ns, moment, "drift", len(spread))
        if error.any() and len(cloud):
            mount = self.mounted(cloud.frame_id, stamp_ns, moment.context)
            moved = misaligned(cloud.xyz(), mount, error[:3], error[3:])
            cloud = cloud.with_xyz(moved.xyz, moved.changed)
        ahead_ns = nanoseconds(self.clock_s)
        if self.drift_clock_s:
            wander = float(self._drift(stamp_ns, moment, "clock", 1)[0])
            ahead_ns += nanoseconds(self.drift_clock_s * wander)
        if ahead_ns and cloud.stamp_ns:
            cloud = restamped(cloud, max(0, cloud.stamp_ns + ahead_ns))
        return cloud

    def _drift(
        self, stamp_ns: int, moment: Moment, what: str, components: int
    ) -> NDArray[np.float64]:
        def knot(number: int) -> NDArray[np.float64]:
            return keyed(*moment.key[:_STREAM_KEY], what, number).standard_normal(components)

        return drift(stamp_ns, nanoseconds(self.drift_s), knot)
