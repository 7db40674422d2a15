"""Steps on what falls through the beams: rain and snow."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from bagnoise.lidar.particles import raindrops, snowflakes
from bagnoise.steps.base import CloudStep, Moment
from bagnoise.steps.receiver import Beam

if TYPE_CHECKING:
    from bagnoise.messages.cloud import Cloud


class Rain(CloudStep, Beam):
    """Weaken returns as rain does, lose them, or put them on a drop whose echo is stronger."""

    name: ClassVar[str] = "rain"
    rate_mm_h: float = Field(0.0, ge=0, le=500, description="rain rate, in millimetres an hour")
    drop_reflectivity: float = Field(
        0.02, ge=0, le=1, description="of a drop's cross-section (Fresnel, water at 905 nm: 0.02)"
    )

    def check(self) -> list[str]:
        """Check what goes together."""
        return self.beam_problems(self.rate_mm_h)

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw twice for the particles and once for the range, for every row."""
        if not len(cloud) or self.rate_mm_h == 0:
            return cloud
        drops = raindrops(self.rate_mm_h, self.drop_reflectivity, self.smallest_mm)
        return self.on_particles(cloud, moment, self.name, drops)


class Snow(CloudStep, Beam):
    """Weaken returns as snow does, lose them, or put them on a flake whose echo is stronger."""

    name: ClassVar[str] = "snow"
    rate_mm_h: float = Field(
        0.0, ge=0, le=100, description="snowfall as water, in millimetres an hour"
    )
    terminal_velocity_m_s: float | None = Field(
        None, gt=0, le=20, description="fall speed; null: that of the distribution, about 1 m/s"
    )
    flake_density: float = Field(
        0.1, gt=0, le=1, description="of a flake against water: how far it exceeds its melted drop"
    )
    flake_reflectivity: float = Field(
        0.22,
        ge=0,
        le=1,
        description="of a flake's cross-section (2 pi over a lidar ratio of 29 sr)",
    )

    def check(self) -> list[str]:
        """Check what goes together."""
        return self.beam_problems(self.rate_mm_h)

    def on_cloud(self, cloud: Cloud, moment: Moment) -> Cloud:
        """Draw twice for the particles and once for the range, for every row."""
        if not len(cloud) or self.rate_mm_h == 0:
            return cloud
        flakes = snowflakes(
            self.rate_mm_h,
            self.terminal_velocity_m_s,
            self.flake_density,
            self.flake_reflectivity,
            self.smallest_mm,
        )
        return self.on_particles(cloud, moment, self.name, flakes)
