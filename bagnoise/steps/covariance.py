"""The covariance that a message claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.messages.payload import changed
from bagnoise.steps.base import ConeStep, Moment

if TYPE_CHECKING:
    from bagnoise.messages.payload import Cones


class Covariance(ConeStep):
    """Write the covariance that the noise steps before this one add up to.

    Variance in m^2, in the axes of the message's frame: each noise step's own, at the measured
    position, rotated there from range and bearing by the Jacobian. An honest sensor's claim, made
    over- or under-confident by a factor.
    """

    name: ClassVar[str] = "covariance"
    factor: float = Field(
        1.0, ge=0, le=1e6, description="times the true variance; < 1 is overconfident"
    )
    floor_m: float = Field(
        0.0, ge=0, le=1e3, description="a further deviation in every direction, in metres"
    )
    keep_source: bool = Field(True, description="add to the covariance that the source carries")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:  # noqa: ARG002
        """Sum up the noise models at the measured positions, false positives too."""
        total = np.zeros((len(cones), 3, 3))
        if self.keep_source and cones.covariance is not None:
            total += cones.covariance
        for model in cones.noise_models:
            total += model.covariance(cones.xyz)
        total *= self.factor
        if self.floor_m:
            total += self.floor_m**2 * np.eye(3)
        return changed(cones, covariance=total)
