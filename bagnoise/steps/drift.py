"""Errors that vary slowly."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from pydantic import Field

from bagnoise.steps.correlated import correlated_normals
from bagnoise.steps.curves import constant
from bagnoise.steps.draws import of_rows
from bagnoise.steps.polar import PolarErrors, PolarNoise, with_errors
from bagnoise.steps.world import InWorld, measured_ns

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones
    from bagnoise.steps.base import Moment

_COMPONENTS = 4  # range, bearing, elevation, across
_WHOLE_SENSOR = np.zeros(1, np.int64)


class Drift(InWorld):
    """Add errors that change slowly, for the whole sensor or for each cone on its own.

    Each error is N(0, std^2) at every instant; dt apart, two have the correlation
    exp(-(dt / correlation_s)^2). A correlation time far beyond the recording makes a constant bias.
    """

    name: ClassVar[str] = "drift"
    per: Literal["sensor", "cone"] = Field(
        "sensor", description="sensor: all cones err alike; cone: each cone on its own"
    )
    correlation_s: float = Field(
        5.0, gt=0, le=1e9, description="time after which the correlation is 1/e, in seconds"
    )
    range_std_m: float = Field(0.0, ge=0, le=1e6, description="deviation of the range, in metres")
    bearing_std_rad: float = Field(0.0, ge=0, le=7, description="of the bearing, in radians")
    elevation_std_rad: float = Field(0.0, ge=0, le=7, description="of the elevation, in radians")
    across_std_m: float = Field(0.0, ge=0, le=1e6, description="sideways to the ray, in metres")
    in_covariance: bool = Field(
        False, description="the step covariance counts it; real filters seldom know of drift"
    )

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Move every source cone by its processes at the measurement time."""
        stds = (
            self.range_std_m,
            self.bearing_std_rad,
            self.elevation_std_rad,
            self.across_std_m,
        )
        if not any(stds):
            return cones
        per_cone = self.per == "cone"
        who = self.identities(cones, moment) if per_cone else _WHOLE_SENSOR
        slow = correlated_normals(
            (*moment.key[:3], self.per),
            who,
            measured_ns(cones, moment),
            self.correlation_s,
            _COMPONENTS,
        )
        if not per_cone:
            slow = np.broadcast_to(slow, (cones.source_count, _COMPONENTS))
        errors = PolarErrors(*(of_rows(slow, cones.index) * np.array(stds)).T)
        range_, bearing, elevation, across = map(constant, stds)
        model = PolarNoise(cones.sensor, range_, bearing, elevation, across)
        return with_errors(cones, errors, model if self.in_covariance else None)
