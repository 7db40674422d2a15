"""Where the lidar of a cloud is: the origin of its beams, in the frame of the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.curves import Options
from bagnoise.steps.view import NO_TRIPLE, Triple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.base import Moment


class LidarOrigin(Options):
    """Options of steps that act along the beams; without any, the frame's origin is the lidar."""

    sensor_frame: str | None = Field(
        None, description="frame of the lidar in /tf, where the cloud is in another one"
    )
    sensor_xyz_m: Triple = Field(
        NO_TRIPLE, description="position of the lidar in the cloud's frame, in metres"
    )

    def origin_needs(self) -> Needs:
        """Name what it reads beside the source."""
        return NOTHING if self.sensor_frame is None else Needs(tf=True)

    def origin_problems(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        if self.sensor_frame is not None and any(self.sensor_xyz_m):
            return ["give sensor_frame or sensor_xyz_m, not both"]
        return []

    def origin(self, cloud: Cloud, moment: Moment) -> NDArray[np.float64]:
        """Return the lidar's position, (3,), in the cloud's frame at its stamp."""
        if self.sensor_frame is None:
            return np.array(self.sensor_xyz_m)
        stamp_ns = cloud.stamp_ns or moment.log_ns
        frame_from_sensor = moment.context.transform(cloud.frame_id, self.sensor_frame, stamp_ns)
        return frame_from_sensor[:3, 3]
