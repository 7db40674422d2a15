"""Where a sensor sits, and which part of space it sees."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field

from bagnoise.geometry import matrix_from_rpy_deg, transform
from bagnoise.steps.context import NOTHING, Context, Needs
from bagnoise.steps.curves import Options
from bagnoise.steps.limits import Amount, Coordinate
from bagnoise.steps.polar import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

Triple = Annotated[tuple[Coordinate, Coordinate, Coordinate], Field(strict=False)]
NO_TRIPLE: Triple = (0.0, 0.0, 0.0)


class Mount(Options):
    """Where a sensor sits: a frame of the bag's transforms, or a pose in the cones' frame."""

    frame: str | None = Field(None, description="sensor frame in /tf and /tf_static")
    xyz_m: Triple = Field(NO_TRIPLE, description="position in the message's frame, in metres")
    rpy_deg: Triple = Field(
        NO_TRIPLE, description="roll, pitch, yaw in degrees; a positive pitch looks down"
    )

    def mount_needs(self) -> Needs:
        """Name what it reads beside the source."""
        return NOTHING if self.frame is None else Needs(tf=True)

    def mount_problems(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        if self.frame is not None and (any(self.xyz_m) or any(self.rpy_deg)):
            return ["give frame, or xyz_m and rpy_deg, not both"]
        return []

    def mounted(self, frame_id: str, stamp_ns: int, context: Context) -> NDArray[np.float64]:
        """Return frame_from_sensor, (4, 4)."""
        if self.frame is not None:
            return context.transform(frame_id, self.frame, stamp_ns)
        return transform(matrix_from_rpy_deg(self.rpy_deg), self.xyz_m)


class View(Options):
    """What a sensor sees: ranges and angles around its x axis, borders included."""

    min_range_m: Amount | None = Field(None, ge=0, description="nearest range, in metres")
    max_range_m: Amount | None = Field(None, ge=0, description="farthest range, in metres")
    horizontal_deg: float = Field(
        360.0, gt=0, le=360, description="whole horizontal angle, in degrees"
    )
    vertical_deg: float = Field(180.0, gt=0, le=180, description="whole vertical angle, in degrees")

    def sees(self, relative: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say which positions (n, 3), relative to the sensor, it sees; NaN is not seen."""
        x, y, z = relative.T
        with np.errstate(invalid="ignore"):
            distance = ranges(relative)
            seen = distance >= (self.min_range_m or 0.0)
            if self.max_range_m is not None:
                seen &= distance <= self.max_range_m
            if self.horizontal_deg < 360:  # noqa: PLR2004
                seen &= np.abs(np.arctan2(y, x)) <= math.radians(self.horizontal_deg / 2)
            if self.vertical_deg < 180:  # noqa: PLR2004
                elevation = np.arctan2(z, np.hypot(x, y))
                seen &= np.abs(elevation) <= math.radians(self.vertical_deg / 2)
        return seen

    def view_problems(self) -> list[str]:
        """Say what is wrong with the options taken together."""
        if self.max_range_m is not None and (self.min_range_m or 0.0) > self.max_range_m:
            return [f"min_range_m {self.min_range_m} is beyond max_range_m {self.max_range_m}"]
        return []


class MountedView(Mount, View):
    """What another sensor sees, from where it sits."""
