"""Noise in range and bearing."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.curves import ZERO, AngleDeviation, Bias, Deviation
from bagnoise.steps.draws import of_rows
from bagnoise.steps.polar import PolarErrors, PolarNoise, ranges, seen_by_sensor, with_errors

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones

ERRORS = 4  # range, bearing, elevation, across: always drawn, so that none moves another


class PolarNoiseStep(ConeStep):
    """Add independent normal errors along and across the ray from the sensor to each cone.

    Standard deviations are evaluated at the range before this step. The errors of range, bearing,
    elevation and across are independent of each other.
    """

    name: ClassVar[str] = "polar_noise"
    range_std_m: Deviation = Field(ZERO, description="standard deviation of the range, in metres")
    bearing_std_rad: AngleDeviation = Field(ZERO, description="of the bearing, in radians")
    elevation_std_rad: AngleDeviation = Field(ZERO, description="of the elevation, in radians")
    across_std_m: Deviation = Field(
        ZERO, description="sideways to the ray, horizontally, in metres"
    )
    across_ratio: float = Field(
        0.0, ge=0, le=1e3, description="a further sideways error, as a multiple of range_std_m"
    )
    range_bias_m: Bias = Field(ZERO, description="constant error of the range, in metres")
    bearing_bias_rad: float = Field(
        0.0, ge=-7, le=7, description="constant error of the bearing, in radians"
    )
    across_bias_m: Bias = Field(
        ZERO, description="constant error sideways to the ray, to its left, in metres"
    )
    in_covariance: bool = Field(True, description="the step covariance counts this noise")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Draw four errors for every source row, so that no filter moves another cone's noise."""
        if self._does_nothing:
            return cones
        draws = moment.generator().standard_normal((cones.source_count, ERRORS))
        along, bearing, elevation, across = of_rows(draws, cones.index).T
        real = (cones.index >= 0).astype(float)
        distance = ranges(seen_by_sensor(cones))
        bias = real * self.range_bias_m.at(distance)
        if (distance + bias < 0).any():  # what is random may do so for cones at the sensor itself
            moment.warn(
                "polar_noise: range_bias_m takes the ranges of some cones below 0; they appear on "
                "the other side of the sensor"
            )
        range_std = self.range_std_m.at(distance)
        ratio = self.across_ratio * range_std
        across_std = (self.across_std_m.at(distance) ** 2 + ratio**2) ** 0.5
        errors = PolarErrors(
            along * range_std + bias,
            bearing * self.bearing_std_rad.at(distance) + real * self.bearing_bias_rad,
            elevation * self.elevation_std_rad.at(distance),
            across * across_std + real * self.across_bias_m.at(distance),
        )
        model = PolarNoise(
            cones.sensor,
            self.range_std_m,
            self.bearing_std_rad,
            self.elevation_std_rad,
            self.across_std_m,
            self.across_ratio,
        )
        return with_errors(cones, errors, model if self.in_covariance else None)

    @property
    def _does_nothing(self) -> bool:
        curves = (
            self.range_std_m,
            self.bearing_std_rad,
            self.elevation_std_rad,
            self.across_std_m,
            self.range_bias_m,
            self.across_bias_m,
        )
        return all(curve.is_zero for curve in curves) and self.bearing_bias_rad == 0
