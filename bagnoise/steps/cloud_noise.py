"""Steps on what single returns of a lidar measure: range, direction, intensity, resolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from bagnoise.lidar.models import find_model
from bagnoise.lidar.noise import (
    beam_biases,
    bias_of_rows,
    noisy_intensity,
    quantized,
    quantized_ranges,
    range_noise,
)
from bagnoise.messages.cloud import INTENSITY_NAMES
from bagnoise.messages.cloud_lengths import with_measured
from bagnoise.messages.cloud_misses import hits
from bagnoise.messages.cloud_rings import rings
from bagnoise.rng import keyed
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.draws import row_draws
from bagnoise.steps.lidar_origin import LidarOrigin
from bagnoise.steps.limits import Amount  # noqa: TC001 - pydantic reads it at run time

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bagnoise.messages.cloud import Cloud
    from bagnoise.steps.context import Needs

_STREAM_KEY = 3  # (seed, stream, step label): what stays the same over all messages


class RangeNoise(CloudStep, LidarOrigin):
    """Move returns along their beams by N(bias, (std + std_per_m * range)^2); misses stay misses.

    The bias of a beam is drawn once for the stream; the direction may be off, too.
    """

    name: ClassVar[str] = "range_noise"
    std_m: float = Field(0.0, ge=0, le=1e4, description="deviation at range 0, in metres")
    std_per_m: float = Field(0.0, ge=0, le=10, description="growth of the deviation with range")
    bias_m: float = Field(0.0, ge=-1e4, le=1e4, description="added to every range, in metres")
    beam_bias_std_m: float = Field(
        0.0, ge=0, le=1e4, description="deviation of the constant error of each beam, in metres"
    )
    angle_std_deg: float = Field(
        0.0, ge=0, le=45, description="deviation of the beam's direction about each of two axes"
    )

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check the origin."""
        return self.origin_problems()

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw for every row, misses too."""
        if not len(cloud):
            return cloud
        origin = self.origin(cloud, moment)
        bias: float | NDArray[np.float64] = self.bias_m
        if self.beam_bias_std_m > 0:
            bias = bias + self._beam_bias(cloud, origin, moment)
        moved = range_noise(
            cloud.xyz(),
            origin,
            self.std_m,
            row_draws(cloud, moment),
            std_per_m=self.std_per_m,
            bias_m=bias,
            angle_std_deg=self.angle_std_deg,
        )
        if not moved.changed.any():
            return cloud
        return with_measured(cloud, moved.xyz, moved.changed, origin)

    def _beam_bias(
        self, cloud: Cloud, origin: NDArray[np.float64], moment: Moment
    ) -> NDArray[np.float64]:
        ring = rings(cloud, origin)
        generator = keyed(*moment.key[:_STREAM_KEY], "beam bias")
        biases = beam_biases(int(ring.max(initial=-1)) + 1, self.beam_bias_std_m, generator)
        return bias_of_rows(biases, ring)


class IntensityNoise(CloudStep):
    """Add N(0, (std + std_relative * I)^2) to the intensities of returns, within field limits."""

    name: ClassVar[str] = "intensity_noise"
    std: Amount = Field(0.0, ge=0, description="deviation, in the unit of the field")
    std_relative: float = Field(
        0.0, ge=0, le=1e3, description="deviation as a share of the intensity"
    )
    most: Amount | None = Field(None, gt=0, description="greatest intensity, e.g. 255")
    field: str | None = Field(None, description="point field; null: intensity, i, reflectivity …")

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw for every row; misses keep their bits."""
        if not len(cloud) or (self.std == 0 and self.std_relative == 0):
            return cloud
        names = INTENSITY_NAMES if self.field is None else (self.field,)
        name = cloud.need(*names, why="intensity_noise")
        noisy = noisy_intensity(
            cloud.column(name),
            self.std,
            row_draws(cloud, moment),
            std_relative=self.std_relative,
            most=self.most,
        )
        return cloud.with_columns({name: noisy}, where=hits(cloud))


class Quantize(CloudStep, LidarOrigin):
    """Round ranges to the resolution of a lidar, and intensities to steps."""

    name: ClassVar[str] = "quantize"
    range_m: Amount | None = Field(None, gt=0, description="step of the ranges, in metres")
    model: str | None = Field(None, description="take the step of this lidar, e.g. VLP-16")
    intensity: Amount | None = Field(None, gt=0, description="step of the intensities")

    def needs(self) -> Needs:
        """Read the transforms where the lidar is in another frame."""
        return self.origin_needs()

    def check(self) -> list[str]:
        """Check that there is a step."""
        found = self.origin_problems()
        if self.range_m is not None and self.model is not None:
            found.append("give range_m or model, not both")
        if self.model is not None and find_model(self.model).resolution_m is None:
            found.append(f"the range resolution of {self.model} is not known; give range_m")
        return found

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Round what returned; misses keep their bits."""
        step_m = find_model(self.model).resolution_m if self.model else self.range_m
        if step_m is not None and len(cloud):
            origin = self.origin(cloud, moment)
            moved = quantized_ranges(cloud.xyz(), origin, step_m)
            cloud = with_measured(cloud, moved.xyz, moved.changed, origin)
        if self.intensity is not None and len(cloud):
            name = cloud.need(*INTENSITY_NAMES, why="quantize")
            steps = quantized(cloud.column(name), self.intensity)
            cloud = cloud.with_columns({name: steps}, where=hits(cloud))
        return cloud
