"""Noise on positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.messages.payload import changed
from bagnoise.steps.base import ConeStep, Moment
from bagnoise.steps.curves import Curve, Deviation, constant
from bagnoise.steps.draws import of_rows
from bagnoise.steps.polar import ranges, relative_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones


class Noise(ConeStep):
    """Add independent normal errors N(0, std^2) to the x and y of every cone.

    The axes are those of the message's frame; a standard deviation that depends on range is taken
    at the range from the sensor before this step.
    """

    name: ClassVar[str] = "noise"
    std_m: float = Field(
        0.0, ge=0, le=1e6, description="standard deviation along x and along y, in metres"
    )
    std_z_m: float = Field(0.0, ge=0, le=1e6, description="standard deviation along z, in metres")
    std_x_m: Deviation | None = Field(
        None, description="along x instead of std_m; may depend on range"
    )
    std_y_m: Deviation | None = Field(
        None, description="along y instead of std_m; may depend on range"
    )
    bias_x_m: float = Field(0.0, ge=-1e6, le=1e6, description="constant error along x, in metres")
    bias_y_m: float = Field(0.0, ge=-1e6, le=1e6, description="constant error along y, in metres")
    bias_z_m: float = Field(0.0, ge=-1e6, le=1e6, description="constant error along z, in metres")
    in_covariance: bool = Field(True, description="the step covariance counts this noise")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Draw for every source row, so that a filter before or after moves no cone's noise."""
        curves = (
            constant(self.std_m) if self.std_x_m is None else self.std_x_m,
            constant(self.std_m) if self.std_y_m is None else self.std_y_m,
            constant(self.std_z_m),
        )
        bias_m = (self.bias_x_m, self.bias_y_m, self.bias_z_m)
        if all(curve.is_zero for curve in curves) and not any(bias_m):
            return cones
        model = AxisNoise(cones.sensor, curves)
        error = normal_errors(cones.source_count, moment.generator())
        move = of_rows(error, cones.index) * model.std_m(cones.xyz)
        if any(bias_m):
            move += np.where(cones.index[:, None] >= 0, bias_m, 0)
        models = (*cones.noise_models, model) if self.in_covariance else cones.noise_models
        return changed(cones, xyz=cones.xyz + move, noise_models=models)


@dataclass(frozen=True, eq=False)
class AxisNoise:
    """Independent noise along the axes of the frame, each with its own curve by range."""

    sensor: NDArray[np.float64] | None
    curves: tuple[Curve, Curve, Curve]

    def std_m(self, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return standard deviations, (n, 3) or (3,) where they do not depend on range."""
        if all(curve.constant is not None for curve in self.curves):
            return np.array([curve.constant for curve in self.curves], float)
        distance = ranges(relative_to(self.sensor, xyz))
        stds = np.empty((len(xyz), 3))
        for axis, curve in enumerate(self.curves):
            stds[:, axis] = curve.constant if curve.constant is not None else curve.at(distance)
        return stds

    def covariance(self, xyz: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, 3, 3) at measured positions (n, 3)."""
        total = np.zeros((len(xyz), 3, 3))
        total[:, (0, 1, 2), (0, 1, 2)] = self.std_m(xyz) ** 2
        return total


def normal_errors(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw standard normal errors, (count, 3): x and y first, so that z changes none of them."""
    errors = np.empty((count, 3))
    errors[:, :2] = generator.standard_normal((count, 2))
    errors[:, 2] = generator.standard_normal(count)
    return errors
