"""Noise on positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from bagnoise.steps.base import ConeStep, Moment

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bagnoise.messages.payload import Cones


class Noise(ConeStep):
    """Add independent normal errors N(0, std^2) to the x and y of every cone."""

    name: ClassVar[str] = "noise"
    std_m: float = Field(
        0.0, ge=0, le=1e6, description="standard deviation along x and along y, in metres"
    )
    std_z_m: float = Field(0.0, ge=0, le=1e6, description="standard deviation along z, in metres")

    def on_cones(self, cones: Cones, moment: Moment) -> Cones:
        """Draw for every source row, so that a filter before or after moves no cone's noise."""
        if self.std_m == 0 and self.std_z_m == 0:
            return cones
        std_m = np.array([self.std_m, self.std_m, self.std_z_m])
        error_m = normal_errors(cones.source_count, moment.generator()) * std_m
        xyz = cones.xyz.copy()
        real = cones.index >= 0
        xyz[real] += error_m[cones.index[real]]
        return replace(cones, xyz=xyz)


def normal_errors(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw standard normal errors, (count, 3): x and y first, so that z changes none of them."""
    planar = generator.standard_normal((count, 2))
    return np.concatenate([planar, generator.standard_normal((count, 1))], axis=1)
