"""Steps on what lies within a region."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.polar import seen_by_sensor
from bagnoise.steps.view import View

if TYPE_CHECKING:
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

    def check(self) -> list[str]:
        """Compare the limits."""
        return self.view_problems()

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Mask by position, false positives too."""
        seen = self.sees(seen_by_sensor(cones))
        if self.min_x_m is not None:
            with np.errstate(invalid="ignore"):
                seen &= cones.xyz[:, 0] >= self.min_x_m
        if seen.all():
            return cones
        moment.tally["cones out of view"] += int((~seen).sum())
        return cones.take(seen)
