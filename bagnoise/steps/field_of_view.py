"""Steps on what lies within a region."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.geometry import apply, camera_from_info
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.context import NOTHING, Needs
from bagnoise.steps.polar import seen_by_sensor
from bagnoise.steps.view import View
from bagnoise.steps.world import measured_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones


class Crop(ConeStep):
    """Keep what lies strictly within bounds, in the frame of the message."""

    name: ClassVar[str] = "crop"
    min_x_m: float | None = Field(None, description="x greater than this")
    max_x_m: float | None = Field(None, description="x less than this")
    min_y_m: float | None = Field(None, description="y greater than this")
    max_y_m: float | None = Field(None, description="y less than this")
    min_z_m: float | None = Field(None, description="z greater than this")
    max_z_m: float | None = Field(None, description="z less than this")
    min_range_m: float | None = Field(None, ge=0, description="range in x, y, z greater than this")
    max_range_m: float | None = Field(None, ge=0, description="range in x, y, z less than this")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by position; a position that is not a number is outside."""
        inside = np.ones(len(cones), bool)
        with np.errstate(invalid="ignore"):
            values = (*cones.xyz.T, np.linalg.norm(cones.xyz, axis=1))
        for value, (low, high) in zip(values, self._bounds(), strict=True):
            if low is not None:
                inside &= value > low
            if high is not None:
                inside &= value < high
        if inside.all():
            return cones
        moment.tally["cones cropped"] += int((~inside).sum())
        return cones.take(inside)

    def _bounds(self) -> tuple[tuple[float | None, float | None], ...]:
        return (
            (self.min_x_m, self.max_x_m),
            (self.min_y_m, self.max_y_m),
            (self.min_z_m, self.max_z_m),
            (self.min_range_m, self.max_range_m),
        )


class FieldOfView(ConeStep, View):
    """Keep what the sensor can see: ranges, horizontal and vertical angle, borders included.

    Measured from the `sensor` step's mount, or else from the origin of the message's frame.
    """

    name: ClassVar[str] = "field_of_view"
    min_x_m: float | None = Field(
        None, description="cut what is behind this x of the message's frame, in metres"
    )

    camera_topic: str | None = Field(
        None, description="a CameraInfo: keep what is in its image, too (its frame from /tf)"
    )
    rectified: bool = Field(
        True, description="with camera_topic: the image is rectified (P counts), not raw (K, D)"
    )

    def needs(self) -> Needs:
        """Read the camera where there is one."""
        if self.camera_topic is None:
            return NOTHING
        return Needs(tf=True, camera_topics=(self.camera_topic,))

    def check(self) -> list[str]:
        """Compare the limits."""
        return self.view_problems()

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by position, false positives too."""
        seen = self.sees(seen_by_sensor(cones))
        if self.camera_topic is not None:
            seen &= self._in_image(self.camera_topic, cones, moment)
        if self.min_x_m is not None:
            with np.errstate(invalid="ignore"):
                seen &= cones.xyz[:, 0] >= self.min_x_m
        if seen.all():
            return cones
        moment.tally["cones out of view"] += int((~seen).sum())
        return cones.take(seen)

    def _in_image(self, topic: str, cones: Cones, moment: Moment) -> NDArray[np.bool_]:
        stamp_ns = measured_ns(cones, moment)
        info = moment.context.camera(topic, stamp_ns)
        camera = camera_from_info(info, rectified=self.rectified)
        optical_from_frame = moment.context.transform(
            info.header.frame_id, cones.frame_id, stamp_ns
        )
        return camera.sees(apply(optical_from_frame, cones.xyz))
